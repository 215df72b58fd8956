/**
 * Facts that the service reports only as a sentence, parsed so that the office can show them in other languages. An
 * unknown sentence is shown unchanged. `test/office-sentences.test.ts` compares these with the service's own.
 */
export const REFUSALS = {
  least: /^The smallest amount is ([\d.]+) ([A-Z]+)\.$/,
  most: /^The largest amount of this account is ([\d.]+) ([A-Z]+)\./,
  decimals: /^The amount must be a plain decimal with at most (\d+) digits after the point for ([A-Z]+)\.$/,
  aboveZero: /^The refund must be more than zero\.$/,
  invalid: /^Some fields are not valid\. See details\.$/,
  tillTaken: /^Another till of this company has this identifier\./,
  nothingOwed: /^Nothing is owed to this company right now/,
  noPayoutAddress: /^The company has no settlement address yet\./,
  noPayoutNetwork: /^The company has no settlement network yet\./,
  payoutUnderWay: /^The settlement \w+ of ([\d.]+) (USDC) is \w+; finish it first\.$/,
  payoutMoved: /^The settlement is \w+; (?:this needs one that is [\w ]+|only an approved one can be paid)\.$/,
  accountInUse: /^This account is still needed \(open payments: (\d+), unfinished refunds: (\d+)\)\./,
  accountSilent: /^The provider does not answer whether these credentials are of the account/,
  accountRefused: /^The provider refuses these credentials, so it does not tell/,
  mayOverlap: /^The provider has just moved money of this payment, and two records may show the same money\./,
  linkNoMore: /^The link of this order was mailed \w+ times, and that is the most\./,
  linksOfDay: /^Your company has mailed \w+ links within a day, and that is the most\./,
  linksOfMailbox: /^This address was mailed \w+ links within an hour, and that is the most\./,
  linkEnded: /^The order is [\w ]+: its link is mailed only while it waits for a payment\./,
  notesFull: /^This order has \w+ notes, and that is the most\./,
} as const
export type KnownRefusal = keyof typeof REFUSALS

export function recognize(message: string): { name: KnownRefusal; facts: string[] } | null {
  for (const name of Object.keys(REFUSALS) as KnownRefusal[]) {
    const match = REFUSALS[name].exec(message)
    if (match) return { name, facts: match.slice(1) }
  }
  return null
}

/** What an account still needs, as its `missing` says. */
const NEEDS = {
  verify: /^Verify the e-mail address: open the link in the mail we sent\.$/,
  approval: /^A manager of the company has to approve this account\.$/,
  company: /^The operator has to approve the company\.$/,
} as const
type KnownNeed = keyof typeof NEEDS

export const recognizeNeed = (line: string): KnownNeed | null =>
  (Object.keys(NEEDS) as KnownNeed[]).find((name) => NEEDS[name].test(line)) ?? null

/** The service's messages about single fields, for the most common faults. */
export const DETAILS = {
  required: /^(?:is required|must NOT have fewer than 1 characters)$/,
  least: /^must be >= (-?[\d.]+)$/,
  most: /^must be <= (-?[\d.]+)$/,
  short: /^must NOT have fewer than (\d+) characters$/,
  long: /^must NOT have more than (\d+) characters$/,
  email: /^must be an e-mail address$/,
  url: /^must be (?:a whole URL such as \S+|an http or https address)$/,
  address: /^must be an EVM address: 0x and 40 hexadecimal digits, in one case or with a right checksum$/,
  form: /^must look like ([A-Z0-9][\w .-]+)$/,
  vatCountry: /^must begin with its country, such as ([\w .,-]+)$/,
} as const
type KnownDetail = keyof typeof DETAILS

/** A message about an optional field ends with the alternative of leaving it empty, which does not help a person. */
export function recognizeDetail(message: string): { name: KnownDetail; fact: string } | null {
  const plain = message.replace(/, or must be null$/, '')
  for (const name of Object.keys(DETAILS) as KnownDetail[]) {
    const found = DETAILS[name].exec(plain)
    if (found) return { name, fact: found[1] ?? '' }
  }
  return null
}
