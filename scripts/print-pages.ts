import { LANGS, type Lang } from '../src/kernel/lang.ts'
import { TEXTS } from '../src/texts/languages.ts'
import { type Facts, SITUATIONS, type Situation } from '../src/texts/order-texts.ts'

/** When the payer meets it. */
const WHEN: Record<Situation, string> = {
  choose: 'the order is open and no way to pay is chosen',
  unavailable: 'the order is open and no channel can take it now',
  preparing: 'a channel was chosen and is being asked',
  providerDown: 'the channel has not answered for 15 seconds',
  waiting: 'the payer has everything needed to pay',
  partly: 'less than the price has arrived',
  onItsWay: 'the provider sees less than the price coming',
  accountGone: 'money came through an account at a provider that is not used any more',
  wrongToken: 'another token came to the address',
  seen: 'the full amount is on its way to being final',
  hold: 'the full amount is final and waits for the screening',
  paid: 'the order is paid',
  overpaid: 'the order is paid and more than its price has arrived',
  expired: 'the time is over and nothing has arrived',
  late: 'the order ended and money has arrived that does not pay it yet',
  onItsWayEnded: 'the order ended, and a provider has seen money that it has not credited yet',
  wrongTokenEnded: 'the order ended unpaid, and another token has arrived',
  sentBack: 'the order is not paid, and all that arrived was sent back',
  cancelled: 'the payer or the shop cancelled it',
  error: 'the provider declined or failed',
  refundApproval: 'a refund waits for its approval',
  refundAddress: 'a refund waits for the payer’s address; the page links to the form',
  refundCheck: 'the payer named an address through a link that anyone may hold; people of the shop confirm it',
  refundMailed: 'a refund waits for the payer’s address; the link went by mail',
  refundByHand: 'a refund waits until a person sends it by hand',
  refunding: 'a refund is being sent',
  refundedPart: 'a part was refunded; `{price}` is what was paid',
  refunded: 'all was refunded',
  review: 'the screening refused the wallet that paid',
}

const FACTS: Facts = {
  merchant: '{shop}',
  code: '{code}',
  amount: '{amount}',
  due: '{price}',
  network: '{network}',
  channel: '{channel}',
  token: '{token}',
  shown: 'address',
  rest: 'address',
  confirms: '',
  ending: 'expired',
  mailer: '',
}

/** Sentences depend on these facts. */
const CASES: readonly Facts[] = [
  FACTS,
  { ...FACTS, shown: 'provider', rest: 'provider', confirms: '{provider}', ending: 'cancelled' },
  { ...FACTS, shown: null, rest: 'whole', confirms: '{provider}', ending: 'other', mailer: '{provider}' },
]

function printSituation(situation: Situation): string {
  const row = (lang: Lang): string => {
    const { title, text, next } = TEXTS[lang].order.situations[situation]
    // only a provider has such money
    const cases = situation === 'onItsWayEnded' ? CASES.filter(({ confirms }) => confirms !== '') : CASES
    const each = (sentence: (facts: Facts) => string): string => [...new Set(cases.map(sentence))].join(' / ')
    return `| ${lang} | ${title} | ${each(text)} | ${each(next)} |`
  }
  return `## ${situation}: ${WHEN[situation]}

| | Headline | Sentence | Action |
|---|---|---|---|
${LANGS.map(row).join('\n')}
`
}

const PROBLEMS = Object.keys(TEXTS.en.pay.problems) as (keyof typeof TEXTS.en.pay.problems)[]

const printProblem = (code: (typeof PROBLEMS)[number]): string =>
  `| \`${code}\` | ${LANGS.map((lang) => TEXTS[lang].pay.problems[code]).join(' | ')} |`

export const printPages = (): string => `# What the payer reads

Printed from \`src/texts\` by \`npm run docs\`; do not edit. Each situation of an order has its own headline, sentence and
action, in every language. Words in braces are filled in. \`src/pages/pay/pay-state.ts\` decides which one an order is in.
Pictures of all of them: \`npm run screenshots -- pages\`.

${SITUATIONS.map(printSituation).join('\n')}
## Beside the pay page

- \`/receipt/{token}\`: the receipt of a paid order, by a link of its own that does not lead to the order. It prints on A4 and on
  the 80 mm paper of a till, names the shop as it was when the order was paid (\`company_history\`), with SIRET
  and VAT number where it had them, is mailed to a payer whose e-mail is known, and stands signed at \`/receipt/{token}.json\`:
  \`{receipt, jws}\`, a compact JWS by EdDSA. \`comptoir verify-receipt FILE\` checks it with \`/.well-known/jwks.json\`,
  and so does \`/receipt/verify\`: one file without a server, which also works saved on a disk and without a connection. Receipt
  and keys are pasted, or the keys are fetched from the service that the receipt names.
- \`/pay/poster?code=\`: the order's code to print and put up. In messengers a link shows the shop, the amount and the logo.
- \`/link/{code}\`: a static link, for donations, tables in a café, the printed code of a till. Each visit makes a new order:
  the amount is the link's, or the payer types it within the link's limits. \`POST /api/next/static-links\`
  \`{name, merchantIdentifier, currency, amount?, minAmount?, maxAmount?}\` makes one, \`/link/{code}/poster\` prints it,
  \`PUT\` with \`{active: false}\` turns it off. Opening the page makes nothing, its button does; a second tap leads to the
  same order. A browser that comes back within a day is offered its last order there first, by a cookie of that link
  alone. An address makes 30 orders a minute, a link or a button 300 (\`LIMIT_LINK_PER_MINUTE\`).
- \`/refund\`, \`/kyc\`, \`/account/…\`: what the links in mails open.
- Name, colour, logo, contact and terms are the company's: \`/app/shop\`, or \`PUT /api/next/companies/{id}\` and
  \`PUT /api/next/companies/{id}/logo\`. The colour is made darker or lighter until it can be read, the logo is drawn
  again, from at most 2000 pixels a side (a picture that proves a refund: 3000). A node draws one picture at a time,
  in a process of its own with 700 MB of memory and 10 seconds; where more than three wait the answer is \`BUSY\`.
- \`?lang=\` chooses the language and is remembered; mails about an order follow what its payer used.

## Back to the shop

The page of an order that has just been paid leads to its \`returnUrl\` after 8 seconds, which it counts down. It stays
once the payer presses “Stay on this page”, or any key, or uses anything else of the page. It leads away once for each
visit, and counts only while it is seen. Without a script, in a frame, after 15 minutes, and where more than the price
came, there is only the button.

## The right address on another network

Every network of this installation counts, also one that was not chosen. What was sent on any other is not seen. The
help under the instructions says:

| | |
|---|---|
${LANGS.map((lang) => `| ${lang} | ${TEXTS[lang].order.help.otherNetwork('{network}', '{shop}', '{code}')} |`).join('\n')}

And about another coin:

| | |
|---|---|
${LANGS.map((lang) => `| ${lang} | ${TEXTS[lang].order.help.otherToken('{shop}', '{code}')} |`).join('\n')}

## Money that does not count

While the order can be paid, money of an earlier attempt that is less than the price stands above the instructions, and
the payer can no longer cancel. The whole price at an earlier address pays the order.

| | |
|---|---|
${LANGS.map((lang) => `| ${lang} | ${TEXTS[lang].pay.beside('{amount}', '{shop}')} |`).join('\n')}

While its provider has not credited it:

| | |
|---|---|
${LANGS.map((lang) => `| ${lang} | ${TEXTS[lang].pay.besideComing('{amount}', '{shop}')} |`).join('\n')}

## A step that did not work

Shown above the page for as long as it can be true: not once money has come, nor where the step is no longer offered.

| Code | ${LANGS.join(' | ')} |
|---${'|---'.repeat(LANGS.length)}|
${PROBLEMS.map(printProblem).join('\n')}
`
