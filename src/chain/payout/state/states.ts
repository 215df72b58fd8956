import { raw, type Sql } from '../../../db/sql.ts'

/**
 * `reserved`: stored, nothing signed that could be mined. `signed`: the signed bytes are stored. `sent`: a node
 * accepted them. `mined`: in a block. `final`: irreversible. `failed`: we will never pay it.
 */
export const PAYOUT_STATUSES = ['reserved', 'signed', 'sent', 'mined', 'final', 'failed'] as const
export type PayoutStatus = (typeof PAYOUT_STATUSES)[number]

/** Placeholder for a signature that is about to be made: with its expiry, it announces it. */
export const UNSIGNED = '0x'

/** The columns that say in which state a payout is. */
export type StateColumns = {
  status: PayoutStatus
  signature: string | null
  validBefore: bigint | null
  txHash: string | null
  usedAt: Date | null
  spentUnits: bigint | null
}

/** What a column says, here and in SQL. */
const MARKS = {
  /** Something is announced or signed, or was when it ended. */
  dated: { of: ({ validBefore }: StateColumns) => validBefore !== null, sql: 'valid_before is not null' },
  signed: {
    of: ({ signature }: StateColumns) => signature !== null && signature !== UNSIGNED,
    sql: `coalesce(signature, '${UNSIGNED}') <> '${UNSIGNED}'`,
  },
  used: { of: ({ usedAt }: StateColumns) => usedAt !== null, sql: 'used_at is not null' },
  /** For what, is certain. */
  spent: { of: ({ spentUnits }: StateColumns) => spentUnits !== null, sql: 'spent_units is not null' },
  /** For something that moved money, or for what is not certain. */
  moved: {
    of: ({ usedAt, spentUnits }: StateColumns) => usedAt !== null && spentUnits !== 0n,
    sql: 'used_at is not null and spent_units is distinct from 0',
  },
  left: { of: ({ txHash }: StateColumns) => txHash !== null, sql: 'tx_hash is not null' },
} as const
type Mark = keyof typeof MARKS

/** A status, and the marks that are set or not; an absent one does not matter. */
type Shape = { status: PayoutStatus } & Partial<Record<Mark, boolean>>

/** The questions with one answer for each state. */
type Answers = {
  outcome: 'pending' | 'settled' | 'refused'
  /** A worker may continue it, and it keeps the account nonce that it has. */
  isOpen: boolean
  /** A transaction was signed that can pay it, or it was paid. Until then all checks are repeated. */
  mayHaveLeft: boolean
  /** Something was signed for it here, or it left before a restore exactly as asked: it counts in the day's limit. */
  isStarted: boolean
  /** Nothing is signed for it here, and nothing was when it ended. */
  isUnsigned: boolean
  /** A person may cancel it, or pay it another way. */
  canBeTakenBack: boolean
  /** A person may reject it, if it is a refund: the next one then asks for what left. A settlement is paid with it. */
  canBeRejected: boolean
  /** A transaction that a person names may have paid it. */
  canBeNamed: boolean
  /** The settings may name another token or wallet before something is signed for it. */
  mayTakePresentToken: boolean
  /** After a restore, nothing of it can have left that is not known here. */
  isAccounted: boolean
  /** After a restore, something may have been signed for it that is not known here, and wait in the pool of a node. */
  mayWaitInPool: boolean
  /** What left under the authorization that was named for it, finally: its own, or one of another number. */
  hasNamed: boolean
  /** After a restore, what left under its number settles another one. */
  isDropped: boolean
  /** Whoever asks for it checks it before anything is signed, or submitted for the first time. */
  needsCheck: boolean
  /** The chain is asked for days whether a reorganisation undid it. */
  isRechecked: boolean
}

const NO = {
  ...{ isOpen: false, mayHaveLeft: false, isStarted: false, isUnsigned: false, needsCheck: false },
  ...{ canBeTakenBack: false, canBeRejected: false, canBeNamed: false, mayTakePresentToken: false },
  ...{ isAccounted: false, mayWaitInPool: false, hasNamed: false, isDropped: false, isRechecked: false },
}
/** A person may end it. */
const ENDS = { canBeTakenBack: true, canBeRejected: true, canBeNamed: true } as const
const OPEN = { ...NO, outcome: 'pending', isOpen: true } as const
const ENDED = { ...NO, outcome: 'refused', ...ENDS } as const
/** It may have moved something, so it is not owed again. */
const USED = { canBeTakenBack: false, canBeRejected: false } as const
const FREE = { ...OPEN, ...ENDS, isUnsigned: true, needsCheck: true, mayWaitInPool: true } as const
const SIGNED = { isStarted: true, isAccounted: true, needsCheck: true } as const
const HELD = { isUnsigned: true, mayHaveLeft: true, needsCheck: true } as const
const WAITS = { canBeNamed: true, mayWaitInPool: true } as const
const LEFT = { mayHaveLeft: true, isStarted: true } as const

const STATES = {
  /** Nothing is signed, or what was signed ran out. */
  free: {
    shape: { status: 'reserved', dated: false, used: false },
    answers: { ...FREE, mayTakePresentToken: true },
  },
  /** Nothing is signed here, and the token says that it was paid or cancelled. */
  held: {
    shape: { status: 'reserved', dated: false, used: true, spent: false },
    answers: { ...OPEN, ...HELD, ...WAITS },
  },
  /** Its authorization was cancelled, finally: it is never paid, and nothing left. */
  cancelled: {
    shape: { status: 'reserved', dated: false, used: true, spent: true, moved: false },
    answers: { ...OPEN, ...HELD, ...ENDS },
  },
  /** Its authorization moved something else, finally: it is never paid. */
  spent: {
    shape: { status: 'reserved', dated: false, used: true, spent: true, moved: true },
    answers: { ...OPEN, ...HELD, canBeRejected: true, canBeNamed: true },
  },
  /** Its expiry is stored; the signature may exist. */
  announced: {
    shape: { status: 'reserved', dated: true, signed: false, used: false },
    answers: { ...OPEN, ...SIGNED },
  },
  /** Signed; no transaction of it is pending as far as we know. */
  authorized: {
    shape: { status: 'reserved', dated: true, signed: true, used: false },
    answers: { ...OPEN, ...SIGNED },
  },
  /** Signed here, and the token says that it was paid or cancelled. */
  contested: {
    shape: { status: 'reserved', dated: true, used: true },
    answers: { ...OPEN, ...SIGNED, mayHaveLeft: true },
  },
  /** The bytes are stored, and perhaps submitted. */
  signed: { shape: { status: 'signed' }, answers: { ...OPEN, ...LEFT, isAccounted: true, needsCheck: true } },
  submitted: { shape: { status: 'sent', dated: true }, answers: { ...OPEN, ...LEFT, isAccounted: true } },
  /** What was found left the chain, and nothing is signed here: an earlier version stored that as sent. */
  undone: { shape: { status: 'sent', dated: false, used: false }, answers: FREE },
  undoneUsed: { shape: { status: 'sent', dated: false, used: true }, answers: { ...OPEN, ...HELD, ...WAITS } },
  mined: { shape: { status: 'mined', dated: true }, answers: { ...OPEN, ...LEFT, isAccounted: true } },
  /** What someone else submitted, or what left before a restore, is in a block. */
  found: { shape: { status: 'mined', dated: false }, answers: { ...OPEN, ...LEFT, mayWaitInPool: true } },
  final: {
    shape: { status: 'final' },
    answers: { ...NO, ...LEFT, outcome: 'settled', isAccounted: true, isRechecked: true },
  },
  /** Taken back, paid by hand, or refused before anything was signed. */
  takenBack: {
    shape: { status: 'failed', dated: false, left: false, moved: false },
    answers: { ...ENDED, isUnsigned: true, isDropped: true },
  },
  /** A person named what paid it, while the token said that it was paid or cancelled. */
  namedUsed: {
    shape: { status: 'failed', dated: false, left: false, moved: true },
    answers: { ...ENDED, ...USED, isUnsigned: true, isDropped: true },
  },
  /** An earlier version took a transaction in which something left before a restore, and which may not be final. */
  namedLeft: {
    shape: { status: 'failed', dated: false, left: true, used: false },
    answers: { ...ENDED, isUnsigned: true, mayWaitInPool: true },
  },
  /** Something left before a restore, in a transaction that was named for it, and that is final. */
  leftBefore: {
    shape: { status: 'failed', dated: false, left: true, used: true },
    answers: { ...ENDED, ...USED, isUnsigned: true, hasNamed: true },
  },
  /** Refused, run out or given up after something was signed, also one that a reorganisation undid. */
  givenUp: { shape: { status: 'failed', dated: true, moved: false }, answers: { ...ENDED, isAccounted: true } },
  givenUpUsed: {
    shape: { status: 'failed', dated: true, moved: true },
    answers: { ...ENDED, ...USED, isAccounted: true, hasNamed: true },
  },
} as const satisfies Record<string, { shape: Shape; answers: Answers }>

export type PayoutState = keyof typeof STATES
const ALL = Object.entries(STATES) as [PayoutState, { shape: Shape; answers: Answers }][]

const marksOf = ({ status: _, ...marks }: Shape) => Object.entries(marks) as [Mark, boolean][]

/** Nodes of other versions write the same rows, so the state is read from what they store. */
export function stateOf(row: StateColumns): PayoutState {
  const isOf = ([, { shape }]: (typeof ALL)[number]) =>
    shape.status === row.status && marksOf(shape).every(([mark, isSet]) => MARKS[mark].of(row) === isSet)
  const [found, ...others] = ALL.filter(isOf)
  if (!found || others.length > 0) throw new Error(`no single state of a payout that is ${row.status}`)
  return found[0]
}

export const answersOf = (row: StateColumns): Answers => STATES[stateOf(row)].answers

export type Question = { [Key in keyof Answers]: Answers[Key] extends boolean ? Key : never }[keyof Answers]

const listOf = (statuses: readonly PayoutStatus[]): string => statuses.map((one) => `'${one}'`).join(', ')

const textOf = ({ status, ...marks }: Shape): string =>
  [
    `status = '${status}'`,
    ...marksOf({ status, ...marks }).map(([mark, isSet]) => `${isSet ? '' : 'not '}(${MARKS[mark].sql})`),
  ].join(' and ')

/** The rows of `chain_payouts` whose answer is yes, as a condition. Partial indices name the statuses alike. */
export function rowsWhere(question: Question): Sql {
  const has = ([, { answers }]: (typeof ALL)[number]) => answers[question]
  const ofStatus = (status: PayoutStatus) => ALL.filter(([, { shape }]) => shape.status === status)
  const whole = PAYOUT_STATUSES.filter((status) => ofStatus(status).every(has))
  const none = PAYOUT_STATUSES.filter((status) => !ofStatus(status).some(has))
  if (whole.length + none.length === PAYOUT_STATUSES.length && none.length < whole.length)
    return raw(`(status not in (${listOf(none)}))`)
  const some = ALL.filter((one) => has(one) && !whole.includes(one[1].shape.status))
  const parts = [
    ...(whole.length > 0 ? [`status in (${listOf(whole)})`] : []),
    ...some.map(([, one]) => textOf(one.shape)),
  ]
  return raw(`(${parts.join(' or ')})`)
}
