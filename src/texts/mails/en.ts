import { countLines, type MailTexts, type RoleWords, roleWord, someOf } from '../mail-texts.ts'

const notYou = 'If this was not you, change your password now and tell the operator of this service.'

const roles: RoleWords = {
  SuperAdmin: 'Operator',
  SuperManager: 'Manager of several companies',
  Manager: 'Manager',
  Association: 'Association',
  Cashier: 'Cashier',
  Observer: 'Observer',
  SimpleUser: 'Customer',
  Service: 'Machine',
}

export const en: MailTexts = {
  greeting: (name) => `Hello ${name},`,
  closing: 'This is an automatic email. Replies are not read.',
  help: ({ merchant, contact, shortCode }) => `Questions? Ask ${merchant}: ${contact}. Quote order ${shortCode}.`,
  screens: { home: 'Open the back office', account: 'Look at my account', keys: 'Look at the API keys' },
  roles,
  kinds: {
    verifyEmail: ({ role, company, url }) => ({
      subject: 'Confirm your email address',
      paragraphs: someOf([
        role !== '' &&
          (company === ''
            ? `An account with the role “${roleWord(roles, role)}” was registered with this address.`
            : `An account at ${company} with the role “${roleWord(roles, role)}” was registered with this address.`),
        'Please confirm only if you expect this account. Until then the account can only see its own profile.',
      ]),
      button: { label: 'Confirm my address', url },
      note: 'The link works for 48 hours. If you do not expect it, do not confirm, and ignore this email: without your confirmation the account can do nothing.',
    }),
    loginCode: ({ code }) => ({
      subject: `${code} is your login code`,
      paragraphs: ['Enter this code to finish logging in:'],
      code,
      note: `It works once, within 5 minutes. Do not share it with anyone. ${notYou}`,
    }),
    confirmCode: ({ code }) => ({
      subject: `${code} is your confirmation code`,
      paragraphs: ['Enter this code to confirm what you are about to do in your account:'],
      code,
      note: `It works once, within 5 minutes. Do not share it with anyone. ${notYou}`,
    }),
    resetLink: ({ url }) => ({
      subject: 'Choose a new password',
      paragraphs: ['We received a request for a new password for your account.'],
      button: { label: 'Choose a new password', url },
      note: 'The link works once, within 30 minutes. If this was not you, ignore this email: your password stays the same.',
    }),
    resetCode: ({ url, code }) => ({
      subject: `${code} is your code for a new password`,
      paragraphs: ['The app asked for a new password for your account. Enter this code there, or press the button:'],
      code,
      button: { label: 'That was me', url },
      note: 'Both work for 30 minutes. If this was not you, do not press the button: your password stays the same.',
    }),
    passwordChanged: () => ({
      subject: 'Your password was changed',
      paragraphs: ['The password of your account has just been changed, and every device was logged out.'],
      note: notYou,
    }),
    invitation: ({ inviter, company, replaces, url }) => ({
      subject: `${company} invites you`,
      paragraphs: someOf([
        `${inviter} created an account for you at ${company}. Choose a password to start using it.`,
        replaces !== '' &&
          'This address already has an account here. When you choose the password, that account ends and this one takes its place.',
      ]),
      button: { label: 'Choose a password', url },
      note:
        replaces === ''
          ? 'The link works once, within 7 days.'
          : `The link works once, within 7 days. If you want to keep the old account, or do not know ${company}, ignore this email.`,
    }),
    approvalNeeded: ({ applicant, applicantEmail, role, company, url }) => ({
      subject: `${applicant} asks to join ${company}`,
      paragraphs: [
        `${applicant} (${applicantEmail}) registered at ${company} with the role “${roleWord(roles, role)}”. The account has no access until you approve it.`,
      ],
      button: { label: 'Review the request', url },
      note: 'If you do not know this person, ignore this email.',
    }),
    accountApproved: ({ company }) => ({
      subject: 'Your account was approved',
      paragraphs: [`A manager of ${company} approved your account. You can start working now.`],
    }),
    companyApproved: ({ company }) => ({
      subject: `${company} was approved`,
      paragraphs: [`The operator approved ${company}. You can create orders now.`],
    }),
    authenticatorAdded: () => ({
      subject: 'An authenticator app was added',
      paragraphs: ['From now on you need a code from your authenticator app to log in.'],
      note: notYou,
    }),
    deviceLogin: ({ computer, address }) => ({
      subject: 'A program was logged in',
      paragraphs: [
        `You confirmed a login of “${computer}”, which asked from the address ${address}. It now holds an API key of your company.`,
        'If you do not recognise it, revoke the key in the back office under API keys, and change your password.',
      ],
    }),
    passkeyAdded: ({ passkey }) => ({
      subject: 'A passkey was added',
      paragraphs: [`The passkey “${passkey}” can now confirm your login.`],
      note: notYou,
    }),
    passkeyRemoved: ({ passkey }) => ({
      subject: 'A passkey was removed',
      paragraphs: [`The passkey “${passkey}” no longer confirms your login.`],
      note: notYou,
    }),
    authenticatorRemoved: () => ({
      subject: 'Your authenticator app was removed',
      paragraphs: ['From now on your login codes come by email.'],
      note: notYou,
    }),
    secondFactorReset: ({ app, passkeys }) => ({
      subject: 'Your second factor was reset',
      paragraphs: [
        ...(app === '' ? [] : ['Your authenticator app no longer confirms your login.']),
        ...(passkeys === '' ? [] : [`These passkeys no longer confirm your login: ${passkeys}.`]),
        'From now on your login codes come by email.',
      ],
      note: notYou,
    }),
    recoveryCodeUsed: ({ left }) => ({
      subject: 'A recovery code was used',
      paragraphs: [`A recovery code was used to log in to your account. Codes left: ${left}.`],
      note: notYou,
    }),
    sessionStolen: () => ({
      subject: 'We ended a session of your account',
      paragraphs: [
        'An old session token of your account was used a second time, so we ended that session. Please log in again.',
      ],
      note: notYou,
    }),
  },
  kycCheck: {
    subject: ({ merchant }) => `${merchant} needs to check your identity`,
    paragraphs: ({ merchant, shortCode, closer }) => [
      closer
        ? `For larger purchases ${merchant} has to run a further check on who pays (order ${shortCode}).`
        : `For your order ${shortCode}, the law requires ${merchant} to check your identity.`,
      'The link opens a page that says what is needed and how the check stands.',
    ],
    button: 'Open the check',
  },
  receipt: {
    subject: ({ merchant }) => `Your receipt from ${merchant}`,
    paragraphs: ({ merchant, amount, shortCode }) => [
      `${merchant} has received your payment of ${amount} for order ${shortCode}.`,
      'The receipt can be printed, and anyone can check that it is genuine.',
    ],
    button: 'Open the receipt',
  },
  payLink: {
    subject: ({ merchant, amount, isReminder }) =>
      isReminder ? `Reminder: pay ${amount} to ${merchant}` : `${merchant} asks you to pay ${amount}`,
    paragraphs: ({ merchant, shortCode, amount, purpose, until, isReminder }) =>
      someOf([
        isReminder
          ? `Your order ${shortCode} at ${merchant} for ${amount} has not been paid yet.`
          : `${merchant} asks you to pay ${amount} (order ${shortCode}).`,
        purpose !== null && `It is for: ${purpose}`,
        `You can pay until ${until}. The page shows every way to pay, and the price in USDC.`,
        'You do not know this shop, or expect nothing from it? Then ignore this email: nothing is charged.',
      ]),
    button: 'Pay now',
  },
  saleMails: {
    each: {
      subject: ({ amount, shortCode }) => `Sale of ${amount} (order ${shortCode})`,
      paragraphs: ({ companyName, firstName, shortCode, alias, amount, received, channel }) =>
        someOf([
          `Hello ${firstName},`,
          `Order ${shortCode} of ${companyName} for ${amount} has been paid.`,
          `Received: ${received} USDC.`,
          channel !== null && `Paid with: ${channel}.`,
          alias !== null && `Your reference: ${alias}`,
        ]),
      button: 'Open the order',
    },
    rest: {
      subject: ({ sales, companyName }) => `${sales} more sales at ${companyName}`,
      paragraphs: ({ companyName, firstName, sales, amounts, most }) => [
        `Hello ${firstName},`,
        `There were ${sales} more sales at ${companyName} since the last email: ${amounts}.`,
        `After ${most} emails within an hour we sum up the rest of that hour in one.`,
      ],
      button: 'See the orders',
    },
    note: 'You chose these emails in the back office, under “Your account”. You can stop them there.',
    channels: { crypto: 'Wallet (USDC)', 'whitepay-non-custody': 'Whitepay (any wallet)' },
  },
  refundAddress: {
    subject: ({ merchant }) => `Where should ${merchant} send your refund?`,
    paragraphs: ({ merchant, amount, network, shortCode }) => [
      `${merchant} is refunding ${amount} for your order ${shortCode}.`,
      `Please enter the wallet address on ${network} that should receive the money. We do not use the address you paid from: it may belong to an exchange.`,
    ],
    button: 'Enter my address',
  },
  emailChanged: {
    subject: ({ shortCode }) => `Your e-mail address for order ${shortCode} was changed`,
    paragraphs: ({ merchant, shortCode }) => [
      `${merchant} replaced your e-mail address for order ${shortCode} with another one.`,
      'Questions about a refund still come to this address. If you did not ask for the change, tell the shop.',
    ],
  },
  webhookFailures: {
    subject: ({ companyName }) => `Webhooks of ${companyName} could not be delivered`,
    paragraphs: (facts) =>
      someOf([
        `Hello ${facts.firstName},`,
        facts.failed > 0 &&
          `on ${facts.day} your server did not accept ${facts.failed} of our webhooks. We tried each one five times.`,
        facts.parked > 0 &&
          `We set aside ${facts.parked} of our webhooks on ${facts.day}, because our own service broke off each time it sent them. Your server may have received them.`,
        'No order is lost. Look at what failed and send it again with one click, or read GET /api/next/events from your last cursor.',
      ]),
    button: 'See what failed',
  },
  askedBack: {
    subject: ({ shortCode }) => `A payer asks for money back (order ${shortCode})`,
    paragraphs: ({ firstName, shortCode, amounts }) => [
      `Hello ${firstName},`,
      `the payer of order ${shortCode} asks for money back that did not pay it: ${amounts}.`,
      'The money waits for your decision: accept it, refund it, or leave it as it stands. Nothing moves before that.',
    ],
    button: 'See the money',
  },
  waiting: {
    subject: ({ companyName }) => `Something at ${companyName} waits for your decision`,
    paragraphs: (facts) => [
      `Hello ${facts.firstName},`,
      `This has been waiting for your decision since ${facts.day}:`,
      countLines([
        [facts.mispayments, 'payment does not fit its order', 'payments do not fit their order'],
        [facts.unmatched, 'transfer fits no order', 'transfers fit no order'],
        [facts.refunds, 'refund needs the payer’s address', 'refunds need the payer’s address'],
        [facts.byHand, 'refund has to be sent by hand', 'refunds have to be sent by hand'],
      ]),
      'Nothing is lost. Until you decide, payers see that their money arrived and that you decide about it.',
    ],
    button: 'See what waits',
  },
  restored: {
    subject: ({ companyName }) => `Look through the settings of ${companyName}: they are those of a backup`,
    paragraphs: (facts) => [
      `Hello ${facts.firstName},`,
      `our database had to be restored. Everything at ${facts.companyName} is as it was on ${facts.at}; what was changed since is undone.`,
      'API keys that you revoked since work again, and people whom you removed can log in again. Revoke and remove them once more, under API keys and People in the back office. Everybody has been logged out.',
      'If you replaced the webhook secret since, the old one is in use again, and your shop refuses our webhooks: replace it once more under Webhooks, and give the new one to your shop. Passwords that were changed since are the old ones, too: whoever changed one should change it again.',
      'The payout address, your wallets and your accounts at exchanges are those of that time, too. Nothing is paid out before you confirm the address: look at it under Shop, tick that it is right, or enter another one, and save with a fresh code.',
    ],
  },
  moneyChange: {
    kinds: {
      payout: ({ company, before, after }) => ({
        subject: `The payout address of ${company} was changed`,
        text: `Payouts to ${company} go to another address from now on. Before: ${before ?? 'none'}. Now: ${after ?? 'none'}.`,
      }),
      payoutConfirmed: ({ company, address }) => ({
        subject: `The payout address of ${company} was confirmed`,
        text: `The service was restored from a backup, and the payout address of that time was confirmed. Payouts to ${company} go there: ${address}.`,
      }),
      refundRules: ({ company }) => ({
        subject: `The rules for refunds of ${company} were changed`,
        text: 'How much each role may refund, who must approve a refund, or which refunds need a second factor was changed. The audit log shows the old and the new rules.',
      }),
      account: ({ company, channel, isRemoved, before, after }) => ({
        subject: `The account that receives payments to ${company} was changed`,
        text:
          (isRemoved
            ? `Your own account or wallet for “${channel}” was removed: payers pay to the operator’s account instead.`
            : `Your own account or wallet for “${channel}” was saved anew: this is where payers’ money goes from now on.`) +
          ` Before: ${before ?? 'the operator’s account'}. Now: ${after ?? 'the operator’s account'}.`,
      }),
      apiKey: ({ company, key, scopes }) => ({
        subject: `A new API key of ${company} can move money`,
        text: `The API key “${key}” was created. It may: ${scopes}.`,
      }),
      webhookSecret: ({ company }) => ({
        subject: `The webhook secret of ${company} was replaced`,
        text: 'Your server must check our webhooks with the new secret. Whoever knows it can write webhooks that look like ours.',
      }),
      access: ({ company, person, role, isDisabled }) => ({
        subject: `Access to ${company} was changed`,
        text: isDisabled
          ? `${person} can no longer log in.`
          : `${person} has access with the role “${roleWord(roles, role)}”.`,
      }),
      attached: ({ company, person }) => ({
        subject: `${person} can now act for ${company}`,
        text: `The operator gave ${person} access to ${company} with the role “${roles.SuperManager}”.`,
      }),
      secondFactor: ({ person }) => ({
        subject: `The second factor of ${person} was removed`,
        text: `${person} no longer needs an authenticator app or a passkey: login codes come by email.`,
      }),
    },
    by: ({ by, at, from }) => `Done by ${by}, on ${at}${from === null ? '' : `, from the address ${from}`}.`,
    toDo:
      'If none of you meant this: undo it in the back office, disable the account that did it under People, and tell the ' +
      'operator of this service at once, who can stop payouts.',
    more: ({ names, count }) => `${names} and ${count} more`,
    last: 'This happened many times within an hour. The next changes of this kind may not be mailed: watch the audit log.',
    button: 'Open the audit log',
  },
}
