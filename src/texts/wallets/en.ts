import type { WalletTexts } from '../wallet-texts.ts'

export const en: WalletTexts = {
  pay: 'Pay with {wallet}',
  unnamed: 'the wallet in this browser',
  connecting: 'Open {wallet} and allow this page to see your address.',
  switching: 'Allow {wallet} to switch to {network}.',
  confirming: 'Confirm {amount} USDC in {wallet}.',
  signing: 'Sign for {amount} USDC in {wallet}. You pay no network fee.',
  sending: 'Sent. Waiting for {network} to include it in a block.',
  sent: 'Your payment is on {network}. This page confirms it in a moment; do not pay again.',
  slow: '{network} has not included your payment yet. Do not pay again unless your wallet says that it failed.',
  uncounted:
    'Your transaction is on {network}, but your payment has not reached this order. Do not pay again unless your wallet says that it failed.',
  unread:
    'You sent {sum} USDC on {network} to {to}, but the operator of this shop no longer reads {network}, so this page cannot confirm your payment. Do not pay again. Contact {shop} and quote order {order} and your transaction.',
  retry: 'It failed in my wallet: pay again',
  underway:
    'What you signed is still under way to {network} and can be charged until {time}. Do not pay again before then.',
  lapsed: '{network} did not carry out what you signed in time, and no longer can. You can pay again.',
  again: 'Pay again',
  stop: 'Stop waiting',
  transaction: 'Transaction',
  rejected: 'You declined in {wallet}. Nothing was sent.',
  locked: '{wallet} is locked, or a request is already open there. Unlock it and answer the request, then try again.',
  wrongNetwork: '{wallet} is on another network. Switch it to {network}, then try again. Nothing was sent.',
  unknownNetwork: '{wallet} does not know {network}. Add this network there, then try again. Nothing was sent.',
  tooLittle:
    'This account holds {have} USDC on {network}, but {amount} are needed. Choose another account in {wallet}, or pay another way.',
  noFee:
    'This account has no {coin} on {network} for the network fee. Add a little {coin}, or pay another way. Nothing was sent.',
  reverted: 'The network rejected the payment: no USDC left your account. Try again, or pay another way.',
  refused: 'The payment was not accepted: no USDC left your account. Try again, or pay another way.',
  changed: 'The order changed in the meantime, so nothing was sent. Check the amount, then try again.',
  failed:
    '{wallet} does not respond as expected. Nothing was sent. Try again, or send the amount to the address below.',
  unsure: 'Check in {wallet} whether the payment was sent before you try again.',
  apps: 'Open this page in your wallet app',
}
