import type { MailWords } from './mail-words.ts'

const notYou = 'If this was not you, change your password now and tell the operator of this service.'

export const wordsEn: MailWords = {
  greeting: (name) => `Hello ${name},`,
  closing: 'This mail was sent by a machine; nobody reads answers to it.',
  kinds: {
    verifyEmail: ({ url }) => ({
      subject: 'Confirm your e-mail address',
      paragraphs: [
        'Please confirm that this address is yours. Until then your account can only show your own profile.',
      ],
      button: { label: 'Confirm my address', url },
      note: 'The link is good for 48 hours. If you did not register, you need not do anything.',
    }),
    loginCode: ({ code }) => ({
      subject: `${code} is your login code`,
      paragraphs: ['Type this code to finish logging in:'],
      code,
      note: `It is good for 5 minutes and only once. Never tell it to anybody. ${notYou}`,
    }),
    resetLink: ({ url }) => ({
      subject: 'Choose a new password',
      paragraphs: ['Somebody, probably you, asked for a new password for this account.'],
      button: { label: 'Choose a new password', url },
      note: 'The link is good for 30 minutes and only once. If you did not ask for it, your password stays as it is.',
    }),
    resetCode: ({ url, code }) => ({
      subject: `${code} is your code for a new password`,
      paragraphs: [
        'Somebody, probably you, asked in the app for a new password. Type this code there, or use the button:',
      ],
      code,
      button: { label: 'It was me', url },
      note: 'Both are good for 30 minutes. If you did not ask for it, do not press the button: your password stays as it is.',
    }),
    passwordChanged: () => ({
      subject: 'Your password was changed',
      paragraphs: ['The password of your account was changed just now, and every device was logged out.'],
      note: notYou,
    }),
    invitation: ({ inviter, company, url }) => ({
      subject: `${company} invites you`,
      paragraphs: [`${inviter} made an account for you at ${company}. Choose a password to use it.`],
      button: { label: 'Choose a password', url },
      note: 'The link is good for 7 days and only once.',
    }),
    approvalNeeded: ({ applicant, applicantEmail, role, company, url }) => ({
      subject: `${applicant} asks to join ${company}`,
      paragraphs: [
        `${applicant} (${applicantEmail}) registered as ${role} of ${company}. Until you approve, the account can do nothing.`,
      ],
      button: { label: 'Look at it', url },
      note: 'If you do not know this person, you need not do anything.',
    }),
    accountApproved: ({ company }) => ({
      subject: 'Your account was approved',
      paragraphs: [`A manager of ${company} approved your account. You can work with it now.`],
    }),
    companyApproved: ({ company }) => ({
      subject: `${company} was approved`,
      paragraphs: [`The operator approved ${company}. You can create orders now.`],
    }),
    authenticatorAdded: () => ({
      subject: 'An authenticator app was added',
      paragraphs: ['From now on logging in to your account needs a code of your authenticator app.'],
      note: notYou,
    }),
    authenticatorRemoved: () => ({
      subject: 'Your authenticator app was removed',
      paragraphs: ['From now on the codes for logging in to your account come by e-mail.'],
      note: notYou,
    }),
    recoveryCodeUsed: ({ left }) => ({
      subject: 'A recovery code was used',
      paragraphs: [`Somebody logged in to your account with a recovery code. Codes left: ${left}.`],
      note: notYou,
    }),
    sessionStolen: () => ({
      subject: 'A session of your account was ended',
      paragraphs: [
        'An old session token of your account was used a second time, so we ended that session. Log in again.',
      ],
      note: notYou,
    }),
  },
}
