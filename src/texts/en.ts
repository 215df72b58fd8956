import { en as button } from './buttons/en.ts'
import { en as mails } from './mails/en.ts'
import { en as order } from './orders/en.ts'
import type { Texts } from './texts.ts'
import { en as till } from './till/en.ts'
import { en as wallet } from './wallets/en.ts'

export const en: Texts = {
  locale: 'en-GB',
  name: 'English',
  pay: {
    channels: {
      crypto: 'USDC from your wallet',
      'whitepay-non-custody': 'Any wallet, through Whitepay',
      coinbase: 'USDC from your Coinbase account',
    },
    sandbox: 'Sandbox: this is test money.',
    language: 'Language',
    payTo: 'Payment to',
    approximately: 'about',
    rate: (one, other) => `${one} = ${other}`,
    rateHeld: 'This rate is guaranteed until the time runs out.',
    rateChosen: 'the rate is fixed when you choose how to pay',
    heldUntil: (date) => `the amount shown holds for this way to pay until ${date}`,
    timeLeft: 'Time left',
    validUntil: (date) => `valid until ${date}`,
    onNetwork: (network) => `on ${network}`,
    qrWallet: 'QR code for wallet apps: address, network and amount',
    qrAddress: 'QR code with the address only',
    qrApp: 'QR code for the payment app',
    qrChoice: 'What the QR code holds',
    walletLink: 'For wallet apps',
    addressOnly: 'Address only',
    addressOnlyHint: 'For exchanges and other apps: enter the amount yourself.',
    scan: 'Scan with your wallet app',
    scanWith: (app) => `Scan with the ${app} app, or continue below.`,
    amount: 'Amount',
    address: 'Address',
    network: 'Network',
    copy: 'Copy',
    copied: 'Copied',
    byHand: 'Copying is blocked here. The text is selected: copy it by hand, and compare it after pasting.',
    copyAmount: 'amount',
    copyAddress: 'address',
    onlyOn: (network) => `Send only USDC, and only on ${network}. Anything else may be lost.`,
    openWallet: 'Open in wallet app',
    arrived: 'Received',
    missing: 'Still to pay',
    coming: 'On its way',
    confirmations: (done, needed) => `${done} of ${needed} confirmations`,
    confirmationsOpen: (done) => (done === 1 ? '1 confirmation' : `${done} confirmations`),
    received: 'Received',
    paidAt: 'Date',
    order: 'Order',
    goods: 'For',
    transaction: 'Transaction',
    backToShop: 'Back to the shop',
    returnIn: (seconds) => `Back to the shop in ${seconds} s.`,
    returnSay: (seconds) => `You return to the shop in ${seconds} seconds, unless you choose “Stay on this page”.`,
    stay: 'Stay on this page',
    notPaid: 'I have not paid yet',
    notPaidOnline: 'Start again in the shop to get a new price.',
    notPaidHere: 'Ask at the till for a new code.',
    havePaid: 'I have already paid',
    stillLooking:
      'We are still looking for a payment that was sent in time. Please do not pay again: this page continues by itself.',
    havePaidHelp: (merchant, code) =>
      'Do not pay again. Your payment is not lost: once it is confirmed, it is added to this order or ' +
      `${merchant} sends it back. Keep your transaction number and this order number: ${code}.`,
    another: 'Pay another way',
    cancel: 'Cancel this order',
    cancelWarning: 'Cancel only if you have not sent anything.',
    cancelNow: 'Yes, cancel',
    takeBack: (merchant, code) =>
      `Rather have your money back? Contact ${merchant} and quote order ${code}; they can send back what has arrived.`,
    beside: (amount, merchant) =>
      `${amount} came through an earlier attempt or too late, so they do not count here. ${merchant} sees them and can send them back.`,
    besideComing: (amount, merchant) =>
      `${amount} are on their way through an earlier attempt. Do not pay them a second time: they do not count here, but once they arrive, ${merchant} sees them and can send them back.`,
    sentBefore: (place, merchant, code) =>
      `Do not send anything to ${place} any more. If you already have, do not pay again: contact ${merchant} and quote order ${code}.`,
    uncredited: (amount, channel, merchant) =>
      `${amount} reached ${channel} in another way than asked for, such as on another network, so they do not count here. ${merchant} sees them and decides about them.`,
    help: 'I have paid, but nothing happens',
    helpText: (merchant, code) =>
      'A transfer usually shows up here within a minute of leaving your wallet. Check in your wallet that you sent ' +
      'USDC, on the network named here and to this address. If you did and nothing changes, ' +
      `contact ${merchant} and quote order ${code}.`,
    lost: 'No connection. This page keeps trying; your payment is not affected.',
    testWallet: 'Pay from the test wallet',
    testProvider: 'Act as the payer at the test provider',
    testDecline: 'Decline',
    testFull: 'Full amount',
    testHalf: 'Half',
    testMore: 'Too much',
    problems: {
      CHANNEL_UNAVAILABLE: 'The payment provider did not answer. You have not been charged; try again in a moment.',
      CHANNEL_NOT_AVAILABLE: 'This way to pay is no longer available. Please choose another one.',
      LINK_UNAVAILABLE: 'The provider’s page could not be opened just now. Please try again in a moment.',
      ORDER_STATE_CONFLICT: 'That is no longer possible. This page shows where your order stands now.',
      PURCHASE_SOLD: `${button.paidTitle}. ${button.paid}`,
      PAYER_IDENTITY_REQUIRED: 'For this amount the shop needs to know who is paying.',
      SPENDING_LIMIT_EXCEEDED:
        'With this order you would spend more in 30 days than the shop may accept. Please contact the shop.',
      TRANSACTION_INVALID: 'A transaction hash is 0x and 64 characters. Please copy it whole.',
      TRANSACTION_UNKNOWN:
        'No network of this shop knows this transaction yet. Check the hash, or try again in a minute.',
      TRANSACTION_WAITING: 'The transaction is on its way. It shows here once the network confirms it.',
      TRANSACTION_ELSEWHERE: 'This transaction does not pay this order. Check the address, the token and the network.',
      TRANSACTION_TOKEN:
        'This transaction moved another token, not USDC. The shop can see it and send it back; please contact the shop.',
      PAYMENT_NOT_RECEIVED:
        'The provider has not reported a payment for this order yet. Check in its app that it went through, or try again in a minute.',
      CROSS_SITE_REQUEST: 'For your safety this step has to start on this page. Please try again.',
    },
    problem: 'That did not work. Please try again in a moment.',
    unknownTitle: 'We cannot find this order',
    unknown:
      'Check that you copied the whole link, or scan the shop’s code again. ' +
      'If you came from a shop, go back and start the payment again.',
    failedTitle: 'Something went wrong on our side',
    failed: 'Your payment is not affected. Reload this page in a moment.',
  },
  order,
  identity: {
    title: 'Who is paying?',
    why: (merchant) => `For this amount ${merchant} needs to know who is paying. Your details are stored encrypted.`,
    email: 'Email',
    emailHint: 'Only for messages about this payment.',
    firstName: 'First name',
    lastName: 'Last name',
    orCompany: 'Or, if a company is paying:',
    companyName: 'Company name',
    next: 'Continue',
    faults: {
      emailMissing: 'Enter your email address.',
      emailWrong: 'This email address is incomplete. It should look like name@example.com.',
      firstName: 'Enter your first name, or a company name below.',
      lastName: 'Enter your last name, or a company name below.',
    },
  },
  refund: {
    title: 'Your refund',
    from: (merchant) => `Refund from ${merchant}`,
    ask: (network) => `Which wallet address on ${network} should we send it to?`,
    notTheSender: 'We do not send it back to the address it came from: that address may belong to an exchange.',
    proposed: (merchant) =>
      `${merchant} suggests the address below. Confirm it only if it is your own; otherwise enter yours.`,
    passedOn: (merchant) =>
      `Thank you. ${merchant} checks this address, then the money is sent. You can still change it.`,
    label: 'Wallet address',
    hint: '0x and 40 characters. Copy it from your wallet rather than typing it.',
    next: 'Check the address',
    checkTitle: 'Is this your address?',
    check: (network) =>
      `Compare every character with your wallet. Money sent to a wrong address on ${network} cannot be recovered.`,
    confirm: 'Yes, send it there',
    change: 'Change it',
    invalid: 'This is not a valid address. Copy it again from your wallet: 0x and 40 characters.',
    notYours: 'This address belongs to the token or to the shop, not to you. Copy the address of your own wallet.',
    done: 'Thank you. Your money is on its way to this address.',
    sentTo: 'Sent to',
    transaction: 'Transaction',
    dropped: (merchant) => `This refund was not made. Please ask ${merchant}.`,
    unknownTitle: 'This link does not work',
    unknown: 'Open the link in the email again, or ask the shop for a new one.',
  },
  kyc: {
    title: 'Identity check',
    from: (merchant) => `Identity check for ${merchant}`,
    order: 'Order',
    states: {
      pending: 'Your identity needs to be checked',
      closer: 'A further check is needed',
      approved: 'Your identity is confirmed',
      refused: 'We could not confirm your identity',
    },
    why: (merchant) => `The law requires ${merchant} to know who pays this amount.`,
    closerWhy: (merchant) => `For larger purchases ${merchant} has to run a further check on who pays.`,
    notCharged: 'You have not been charged.',
    byHand: (merchant) =>
      `${merchant} checks it and asks you by email for what is needed, usually a copy of an identity document.`,
    prepare: 'Have an identity document and a camera ready. It takes a few minutes.',
    again: 'Please try again',
    comeBack:
      'The result appears here by itself. You can close this page and come back through the link in your email.',
    loading: 'Loading the check …',
    failed: 'The check could not be loaded. Nothing is lost; try again in a moment.',
    retry: 'Try again',
    noScript:
      'The check needs JavaScript and a camera. Turn JavaScript on, or open the link in the email in another browser.',
    approved: 'Thank you. You can continue now.',
    toPayment: 'Continue to the payment',
    startAgain: (merchant) =>
      `The time to pay for this order has run out. Start again at ${merchant}; with the same email you are not checked twice.`,
    paid: 'A payment for this order has arrived or is on its way. Its page shows how it stands.',
    toPaid: 'See the payment',
    cannotPay: 'This order cannot be paid.',
    mistaken: (merchant, shortCode) =>
      `If you think this is a mistake, contact ${merchant} and quote order ${shortCode}.`,
    mailedTitle: 'We have sent you an email',
    mailed: 'Open the link in it to go on with the check, on any device.',
    notMailed: (merchant, shortCode) =>
      `If no email comes, ${merchant} can give you the link: quote order ${shortCode}.`,
    unknownTitle: 'This link does not work',
    unknown: 'Open the link in the email again, or ask the shop for a new one.',
  },
  account: {
    verifyTitle: 'Confirm your email address',
    verifyText: ({ email, role, company }) =>
      company === null
        ? `An account with the role “${role}” was registered with ${email}.`
        : `An account at ${company} with the role “${role}” was registered with ${email}.`,
    verifyOnlyYou: 'Press the button only if you expect this account.',
    verifyNotYou: 'You do not expect it? Close this page. Without your confirmation the account can do nothing.',
    verifyButton: 'Confirm',
    verified: 'Your address is confirmed.',
    verifiedStays: 'You are still logged in in this browser.',
    verifiedEnded: 'Log in to go on. For your security, earlier logins of this account have ended.',
    verifiedChoose:
      'Now choose a password. For your security, the earlier one and all earlier logins of this account have ended.',
    goOn: 'Continue',
    taken:
      'By now this address has an account that the invitation cannot replace. Log in to it, or reset its password.',
    deadLink: 'This link has expired. Ask for a new email.',
    resetTitle: 'Choose a new password',
    resetLabel: 'New password',
    resetHint: '12 to 128 characters with an upper-case letter, a lower-case letter, a digit and a special character.',
    resetButton: 'Save',
    resetDone: 'Your password has been changed. You can log in now.',
    passwordFaults: {
      short: 'Use at least 12 characters.',
      long: 'Use at most 128 characters.',
      upper: 'Add an upper-case letter.',
      lower: 'Add a lower-case letter.',
      digit: 'Add a digit.',
      special: 'Add a special character, such as ! or ?.',
      common: 'This password is easy to guess. Choose several unrelated words, or let a password manager create one.',
    },
    logIn: 'Log in',
    confirmTitle: 'The app asks for a new password',
    confirmText: 'Press the button only if you expect this account. The app can then set the new password.',
    confirmButton: 'That was me',
    confirmed: 'Thank you. Go back to the app and choose your new password.',
  },
  busy: {
    title: 'One moment, please',
    text: 'Too many pages were opened from your network. Wait a minute, then open this page again.',
  },
  missing: {
    title: 'This page does not exist',
    text: 'Check that you copied the whole address, or go back and follow the link again.',
  },
  unreadable: {
    title: 'We could not read what you entered',
    text: 'It is too long, or contains a character that cannot be saved. Go back, type it again by hand, and send it once more.',
  },
  mailbox: {
    title: 'Mailbox of the sandbox',
    lead: 'These emails would have been sent. Set SMTP_URL to send them.',
    to: 'To',
    show: 'Show',
    none: 'No email yet.',
    withLayout: 'with its layout',
  },
  mails,
  button,
  wallet,
  till,
}
