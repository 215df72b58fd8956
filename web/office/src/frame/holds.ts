/**
 * Why a refund or a payout is held, parsed from the service's sentence, so that the office can say who acts next.
 * `test/office-sentences.test.ts` compares these with the service's own.
 */
const HOLDS = {
  reconcile: /^waits: the database was restored from a backup of .* has not run yet\.$/,
  takeover: /^waits: another database server took over .* has not run yet\.$/,
  left: /^waits: this one left before the database was restored(?: or another server took over)?: /,
  another: /^waits: (?:this one left on|a later one left|another one, which was then .* left on) /,
  dropped: /^waits: another one, which was then rejected or cancelled here, left before /,
  unfinished: /^waits: another one, which is not finished here, left /,
  pool: /^waits: the database was restored,.* and a transaction .* may still wait in the pool /,
  otherwise: /^Transaction 0x\w+ has used its authorization/,
  cancelled: /^Transaction 0x\w+ has cancelled its authorization/,
  named: /^(?:Transaction 0x[\w ]+ was named for this|left in transaction )|If another one paid this, name that one\.$/,
  followed: /^It is signed, and only followed now: /,
  screened: /^waits: .* did not pass the screening\./,
  screening: /^waits: the screening of /,
  books: /^waits: the books differ: /,
  chain: /^waits: the chain \S+ is not set up; /,
  lost: /^waits: .* paid for this order left the chain$/,
} as const
export type Hold = keyof typeof HOLDS

/** Null: it is not held, or only the service's own sentence says why. */
export function findHold(message: string | null): Hold | null {
  const names = Object.keys(HOLDS) as Hold[]
  return names.find((name) => HOLDS[name].test(message ?? '')) ?? null
}

/** The transaction that the sentence names, to be reported as it is. */
export const transactionIn = (message: string | null): string => /0x[0-9a-f]{64}/.exec(message ?? '')?.[0] ?? ''
