import type { EndingTexts, OrderTexts, RestTexts } from '../order-texts.ts'

/** How the rest of a part payment is paid. */
const restOf: RestTexts = {
  address: ({ amount }) => `Please send the remaining ${amount} to the same address before the time runs out.`,
  provider: ({ channel }) =>
    `Please pay the rest at ${channel} before the time runs out. Its page says how much, in the coin that you chose there.`,
  whole: ({ channel }) =>
    `${channel} sends back a payment that is too small, and emails you about it. Do not send the rest: to pay, send the whole price there in one payment.`,
}

/** What came for an order that is not paid. */
const cameTo: EndingTexts = {
  expired: ({ amount }) => `We received ${amount}, but not all of it in time.`,
  cancelled: ({ amount }) => `We received ${amount} for this order, which was cancelled.`,
  other: ({ amount }) => `We received ${amount}.`,
}

export const en: OrderTexts = {
  situations: {
    choose: {
      title: 'Choose how to pay',
      text: () => 'Nothing is charged until you confirm it in your app or wallet.',
      next: ({ channel }) => `Pay with ${channel}`,
    },
    unavailable: {
      title: 'This shop cannot take payments right now',
      text: () => 'You have not been charged.',
      next: () => 'Please tell the shop, or open this page again in a few minutes.',
    },
    preparing: {
      title: 'Preparing your payment',
      text: () => 'This takes a few seconds. The page continues by itself.',
      next: () => 'Pay another way',
    },
    providerDown: {
      title: 'The payment provider does not answer',
      text: () => 'You have not been charged. We keep trying, and this page continues by itself.',
      next: () => 'Pay another way',
    },
    waiting: {
      title: 'Waiting for your payment',
      text: () => 'It shows here seconds after you have sent it.',
      next: () => 'Scan the code, or copy the amount and the address.',
    },
    partly: {
      title: 'Part of your payment has arrived',
      text: ({ amount, rest }) =>
        rest === 'address' ? `${amount} are still missing.` : `What is still missing is worth ${amount}.`,
      next: (facts) => restOf[facts.rest](facts),
    },
    onItsWay: {
      title: 'Money is on its way',
      text: ({ channel, due }) => `${channel} sees a payment coming, but not yet the whole ${due}.`,
      next: (facts) =>
        facts.rest === 'whole'
          ? restOf.whole(facts)
          : 'If you have sent it all, there is nothing more to do. If not, please send the rest there.',
    },
    accountGone: {
      title: 'Please do not pay the rest here',
      text: ({ channel, merchant }) =>
        `Money has reached ${channel} or is on its way there, but ${merchant} no longer takes payments through it.`,
      next: ({ merchant, code }) => `Before you pay any more, contact ${merchant} and quote order ${code}.`,
    },
    wrongToken: {
      title: 'Another token has arrived',
      text: ({ token, merchant }) =>
        `You sent ${token}, but only USDC pays this order. ${merchant} sees it and can send it back.`,
      next: ({ due, network, channel }) =>
        network ? `To pay, send ${due} on ${network}. Do not send any other token.` : `To pay, continue at ${channel}.`,
    },
    seen: {
      title: 'Payment received, confirming',
      text: ({ confirms }) =>
        confirms === ''
          ? 'The network confirms it by itself.'
          : `${confirms} has seen it and is still confirming it. This page continues by itself.`,
      next: ({ confirms }) =>
        confirms === ''
          ? 'There is nothing more to do. You can close this page.'
          : 'Please do not pay again. You can close this page.',
    },
    hold: {
      title: 'Payment received, one last check',
      text: () =>
        'Every payment goes through a security check. It usually takes a minute; nothing is lost if it takes longer.',
      next: () => 'Please do not pay again. You can close this page.',
    },
    paid: {
      title: 'Paid',
      text: ({ merchant }) => `${merchant} has received your payment.`,
      next: () => 'Back to the shop',
    },
    overpaid: {
      title: 'Paid, and more than needed',
      text: ({ merchant, amount }) =>
        `${merchant} has received your payment. You sent ${amount} too much; the shop sees it and can send it back.`,
      next: ({ merchant, code }) => `To get it back, contact ${merchant} and quote order ${code}.`,
    },
    expired: {
      title: 'The time to pay has run out',
      text: ({ shown, channel }) => {
        if (shown === 'address') return 'Do not send anything to the old address.'
        return shown === 'provider' ? `Do not pay at ${channel} any more.` : 'You have not been charged.'
      },
      next: () => 'Get a new price',
    },
    late: {
      title: 'Money has arrived, but the order is not paid',
      text: (facts) => `${cameTo[facts.ending](facts)} It is not lost: ${facts.merchant} accepts it or sends it back.`,
      next: ({ merchant, code }) => `Please do not pay again. Contact ${merchant} and quote order ${code}.`,
    },
    onItsWayEnded: {
      title: 'Money is on its way',
      text: ({ amount, confirms, merchant }) =>
        `${confirms} has told us of a payment of ${amount}. It is not lost: once it is confirmed, it is added to this order or ${merchant} sends it back.`,
      next: ({ merchant, code }) =>
        `Please do not pay again. If you have questions, contact ${merchant} and quote order ${code}.`,
    },
    wrongTokenEnded: {
      title: 'Another token has arrived, and the order is not paid',
      text: ({ token, merchant }) =>
        `You sent ${token}, but only USDC pays this order. ${merchant} sees it and can send it back.`,
      next: ({ merchant, code }) => `To get it back, contact ${merchant} and quote order ${code}.`,
    },
    sentBack: {
      title: 'Your money has been sent back',
      text: ({ merchant, amount }) => `${merchant} has sent you ${amount}. This order is not paid.`,
      next: ({ shown }) =>
        shown === 'address'
          ? 'Do not send anything to the old address. To pay after all, start again in the shop.'
          : 'To pay after all, start again in the shop.',
    },
    cancelled: {
      title: 'This order was cancelled',
      text: ({ shown }) => {
        if (shown === 'address') return 'Please do not pay for it any more. Do not send anything to the old address.'
        return shown === 'provider' ? 'Please do not pay for it any more.' : 'You have not been charged.'
      },
      next: () => 'You do not need to do anything.',
    },
    error: {
      title: 'The payment did not go through',
      text: ({ merchant, code }) =>
        `The payment provider declined it. If money left your account, contact ${merchant} and quote order ${code}.`,
      next: () => 'Choose another way to pay',
    },
    refundApproval: {
      title: 'Your refund is being approved',
      text: ({ merchant, amount }) =>
        `${merchant} wants to send you ${amount}. A second person has to approve it first.`,
      next: () => 'You do not need to do anything.',
    },
    refundAddress: {
      title: 'Where should your refund go?',
      text: ({ merchant, amount }) => `${merchant} wants to send you ${amount} and needs your wallet address.`,
      next: () => 'Enter my address',
    },
    refundCheck: {
      title: 'We have your address',
      text: ({ merchant, amount }) => `${merchant} checks it and then sends you ${amount}.`,
      next: () => 'Change my address',
    },
    refundMailed: {
      title: 'Your refund needs your address',
      text: ({ merchant, amount }) =>
        `${merchant} wants to send you ${amount}. For your safety, the link to enter your wallet address went to your email only.`,
      next: () => 'Open the link in that email.',
    },
    refundByHand: {
      title: 'Your refund is being prepared',
      text: ({ merchant, amount }) =>
        `You get ${amount} back for your payment to ${merchant}. A person sends it by hand, so it can take a few days.`,
      next: () => 'You do not need to do anything.',
    },
    refunding: {
      title: 'Your refund is on its way',
      text: ({ merchant, amount }) => `${merchant} is sending you ${amount}. This can take a while.`,
      next: ({ mailer }) =>
        mailer === ''
          ? 'You do not need to do anything.'
          : `Paid from a wallet, not in the ${mailer} app? Then ${mailer} emails you and asks for your address. The refund waits for your answer.`,
    },
    refundedPart: {
      title: 'Partly refunded',
      text: ({ amount, due }) => `${amount} of ${due} have been sent back to you.`,
      next: () => 'The rest of the order stays paid.',
    },
    refunded: {
      title: 'Refunded',
      text: ({ amount }) => `The whole amount, ${amount}, has been sent back to you.`,
      next: () => 'You do not need to do anything.',
    },
    review: {
      title: 'This payment is under review',
      text: () => 'The security check of the wallet that paid needs a person to decide.',
      next: ({ merchant, code }) =>
        `Please do not pay again. If you have questions, contact ${merchant} and quote order ${code}.`,
    },
  },
  receipt: {
    title: 'Receipt',
    from: (merchant) => `Receipt from ${merchant}`,
    vatNumber: 'VAT number of the shop',
    number: 'Order',
    reference: 'Reference',
    price: 'Price',
    paid: 'Paid',
    rate: 'Rate',
    channel: 'Paid with',
    sentBack: 'Sent back',
    sentBackBeside: 'Sent back, not part of this payment',
    sentTo: 'Sent to',
    show: 'Receipt',
    onExplorer: 'Look up the transaction',
    print: 'Print',
    signed: 'Signed copy (JSON)',
    verify: 'Anyone can check the signature of this receipt with the public keys of this service:',
    terms: 'Terms',
    unknown: 'This receipt does not exist. Check that you copied the whole link.',
  },
  ways: {
    groups: { exchange: 'With an exchange app', wallet: 'With a wallet', onramp: 'With a Coinbase account' },
    notes: {
      exchange: 'from your balance there, within seconds',
      wallet: 'USDC plus the network fee, about a minute',
      onramp: 'you buy USDC there, plus its fee; a few minutes',
    },
    lastUsed: 'last used',
    otherWays: 'Other ways to pay',
    showCode: 'Show the code',
    openApp: (app) => `Open the ${app} app`,
    openPage: (provider) => `Continue at ${provider}`,
    newPrice: 'Get a new price',
    newPriceWith: (channel) => `New price, pay with ${channel}`,
    newPriceHint: 'Same order, today’s rate.',
  },
  help: {
    title: 'Help',
    ask: (merchant, code) => `Questions about this order? Contact ${merchant} and quote ${code}.`,
    phone: 'Phone',
    email: 'Email',
    subject: (code) => `Order ${code}`,
    reference: 'Transaction hash, or the number of your payment at the provider',
    referenceHint: 'Your wallet, exchange or payment app shows it with the payment.',
    referenceSend: 'Look for my payment',
    otherNetwork: (network, merchant, code) =>
      `Sent on another network than ${network}? Do not pay again. The address usually belongs to the shop’s service there too, so the money can be brought back: contact ${merchant}, quote order ${code} and the transaction hash.`,
    otherToken: (merchant, code) =>
      `ETH and most other tokens never show up here by themselves, even if they reached this address. Do not send more: contact ${merchant}, quote order ${code} and the transaction hash.`,
  },
  askBack: {
    offer: (merchant) => `You can ask for it back here. ${merchant} is told at once and decides.`,
    button: 'Ask for my money back',
    asked: (merchant) =>
      `You asked for this money back, and ${merchant} has been told. Keep the link to this page: it says what was decided, and where you name your wallet address if it is needed.`,
  },
  link: {
    preview: (merchant, amount) => `Pay ${amount} to ${merchant}`,
    previewText: 'Open the link to choose how to pay.',
    poster: 'Poster to print',
    posterText: 'Scan the code with your phone to pay.',
    print: 'Print',
    payTo: (merchant) => `Pay ${merchant}`,
    payNow: (amount) => `Pay ${amount}`,
    goOn: 'Continue',
    amountLabel: (currency) => `Amount in ${currency}`,
    between: (least, most) => `From ${least} to ${most}`,
    nothingYet: 'Next you choose how to pay. Nothing is charged before that.',
    last: {
      unfinished: (amount) => `Your payment of ${amount} is not finished`,
      resumeHint: 'Continue it, so that you do not pay twice.',
      resume: 'Continue this payment',
      another: 'Start another payment',
      see: (amount) => `See your last payment here: ${amount}`,
    },
    closedTitle: 'This link is closed',
    closed: (merchant) => `${merchant} no longer takes payments here. Ask the shop for a new link or code.`,
    notSetUp: (merchant) => `This link is not set up correctly. Please tell ${merchant}.`,
    faults: {
      wrong: (example) => `Enter an amount such as ${example}.`,
      low: (least) => `The smallest amount here is ${least}.`,
      high: (most) => `The largest amount here is ${most}.`,
    },
  },
  verify: {
    title: 'Check a receipt',
    lead: 'This page works on its own, also saved on your computer and without a connection. What you enter does not leave it.',
    receipt: 'Signed receipt',
    receiptHint: 'Open the file, or paste what “Signed copy (JSON)” on the receipt shows.',
    file: 'Open a file',
    keys: 'Public keys of the service',
    keysHint: 'Paste what the service shows at /.well-known/jwks.json, or get the keys from there.',
    fetchKeys: 'Get the keys from %',
    check: 'Check',
    good: 'This receipt is genuine',
    goodText:
      'Signed by %. Make sure that you trust this service: anyone can run another one and sign receipts of their own.',
    bad: 'This receipt is not genuine',
    badText: 'Signature and content do not match: something was changed, or another key signed it.',
    unreadable: 'This is not a signed receipt. Paste the whole text, from the first brace to the last.',
    noKeys: 'Paste the public keys first, or get them from the service.',
    keyMissing: 'None of these keys signed this receipt. Get the keys from the service that issued it.',
    noFetch: '% does not answer. Open the address in another window and paste the keys.',
    altered: 'The readable copy beside the signature says something else. Only what stands below is signed.',
    unsupported:
      'This browser cannot check such signatures. Use a newer one, or the command: comptoir verify-receipt FILE',
    save: 'Save this page',
    link: 'Check a signed receipt on your own computer',
  },
}
