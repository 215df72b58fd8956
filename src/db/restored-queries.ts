import { DAY, HOUR, MINUTE, SECOND } from '../kernel/clock.ts'
import { type Queryable, sql, type Tx } from './db.ts'

/** Indexes of deposit addresses: from (included) to (excluded). `at`: when the restore was; facts of old lack it. */
export type IndexRange = { from: string; to: string; at?: string }

/** The database's knowledge at the time of its backup; `reconcile` continues from here. */
export type RestoredFacts = {
  /** The last block read on each chain. */
  heads: { chainId: number; number: string }[]
  /** What orders after the backup may have used of each key that the backup knows. */
  skipped: (IndexRange & { xpub: string })[]
  /** The same of each key that it does not know. Missing in facts of older versions that a migration did not reach. */
  newKeys?: IndexRange
}

export type RestoreTimes = { backupMadeAt: Date; restoredAt: Date }

/** `isRehearsal`: a service on this copy sends nothing; absent: it is the real one. */
export type NotedRestore = RestoreTimes & { isRehearsal?: boolean | undefined }

export type Restored = RestoreTimes & { facts: RestoredFacts; reconciledAt: Date | null }

/**
 * Where a restored installation continues depends on the moment of the restore alone, never on the backup: whichever
 * backup is restored later continues beyond what the service assigned after an earlier restore. So many indexes of each
 * key are kept for a minute; those since 2026 last until 2046.
 */
export const INDEXES_A_MINUTE = 200n
const FIRST_DAY_MS = Date.UTC(2026, 0, 1)
/** A key that was used faster continues on a line so far beyond: longer than anyone keeps a backup. */
const LINE = 100n * BigInt(DAY / MINUTE) * INDEXES_A_MINUTE

/** BIP-32 knows no higher one without the private key. */
const INDEXES = 2n ** 31n

const minuteOf = (at: Date): number => Math.floor((at.getTime() - FIRST_DAY_MS) / MINUTE)
const indexOf = (minute: number): bigint => BigInt(minute) * INDEXES_A_MINUTE

/** Where a key continues that had come to this index in the backup. */
function continueAt(index: bigint, { backupMadeAt, restoredAt }: RestoreTimes): bigint {
  const start = indexOf(minuteOf(restoredAt))
  // what is above the line at the time of the backup goes on above it
  const line = indexOf(Math.min(Math.max(minuteOf(backupMadeAt), 0) + 1, minuteOf(restoredAt)))
  const above = index - line
  const next = above <= 0n ? start : start + ((above + LINE - 1n) / LINE) * LINE
  // at the end of the numbers, rather few than none
  return next < INDEXES ? next : (index + INDEXES) / 2n
}

/** In the place of who wrote a company's payout address: nobody of the company has confirmed it since. */
export const SET_BY_RESTORE = 'restore'

/**
 * What was taken away since the backup is there again. Nobody stays logged in, also on command lines, and no payout
 * address counts as the company's word. API keys and people stay: without them shops would stand still.
 */
async function distrust(tx: Tx, { backupMadeAt, restoredAt }: RestoreTimes): Promise<void> {
  await tx.run(sql`
    update sessions set revoked_at = ${restoredAt}, revoked_reason = 'restore'
    where expires_at > ${backupMadeAt} and revoked_at is null`)
  await tx.run(sql`update api_keys set revoked_at = ${restoredAt} where of_login and revoked_at is null`)
  await tx.run(sql`
    update companies set settlement_set_at = ${restoredAt}, settlement_set_by = ${SET_BY_RESTORE}
    where settlement_address is not null`)
}

const IS_UNRECONCILED = sql`restored_at is not null and reconciled_at is null`

const NOTED_SERVER = sql`
  server_system = s.system, server_timeline = s.timeline, server_waits = s.waits, server_seen_at = now()`

/**
 * The skipped ranges of all these keys, also of those that the backup does not know: they may have been used first
 * after it.
 */
export function skippedOf({ skipped, newKeys }: RestoredFacts, xpubs: Iterable<string>): RestoredFacts['skipped'] {
  const known = new Set(skipped.map(({ xpub }) => xpub))
  const others = [...new Set(xpubs)].filter((xpub) => !known.has(xpub))
  return [...skipped, ...(newKeys ? others.map((xpub) => ({ xpub, ...newKeys })) : [])]
}

type Key = { id: string; xpub: string; nextIndex: bigint }

/** Moves each key on. @returns what is skipped of each */
async function skipIndexes(tx: Tx, keys: readonly Key[], at: RestoreTimes): Promise<RestoredFacts['skipped']> {
  const moves = keys.map(({ xpub, nextIndex }) => ({
    ...{ xpub, from: `${nextIndex}`, to: `${continueAt(nextIndex, at)}` },
    at: at.restoredAt.toISOString(),
  }))
  await tx.run(sql`
    update deposit_keys k set next_index = moved.next_index
    from unnest(${keys.map(({ id }) => id)}::text[], ${moves.map(({ to }) => to)}::bigint[]) as moved (id, next_index)
    where k.id = moved.id`)
  return moves
}

/** The lowest block of each chain that this database, or an earlier mark, knows as read. */
const listHeads = (tx: Tx, earlier: RestoredFacts['heads']): Promise<RestoredFacts['heads']> =>
  tx.many(sql`
    select chain_id, min(number)::text as number from (
      select chain_id, number from chain_heads where number is not null
      union all
      select (head->>'chainId')::integer, (head->>'number')::bigint
      from jsonb_array_elements(${JSON.stringify(earlier)}::jsonb) head) every_head
    group by chain_id order by chain_id`)

/** By a clock that was behind, the restore would lie before its backup: it counts from then on. */
const countedAt = ({ backupMadeAt, restoredAt }: RestoreTimes): Date =>
  restoredAt < backupMadeAt ? backupMadeAt : restoredAt

/** Whether the database records this restore. Earlier versions recorded what the clock said, though it was behind. */
export const isRecorded = (recordedAt: Date | null | undefined, at: RestoreTimes): boolean =>
  [at.restoredAt, countedAt(at)].some((time) => time.getTime() === recordedAt?.getTime())

/** A standby that took over. `isWhole`: commits waited for a standby, so that it lacks none. */
export type Promotion = { from: string; to: string; seenAt: string; isWhole: boolean }

/** `skipped`, `newKeys`: what a whole one skipped, should it turn out not to be whole; `told`: the operator was. */
type KeptPromotion = Promotion & Partial<Pick<RestoredFacts, 'skipped' | 'newKeys'>> & { told?: true }

type Marked = { [Fact in keyof Restored]: Restored[Fact] | null } & {
  isOpen: boolean
  firstIndex: bigint
  promotion: KeptPromotion | null
}

const lockMark = (tx: Tx): Promise<Marked | undefined> =>
  tx.maybe<Marked>(sql`
    select backup_made_at, restored_at, restored_facts as facts, reconciled_at, ${IS_UNRECONCILED} as is_open, first_index,
      promotion
    from installation for update`)

/** What was skipped before, and is still to be compared. */
function earlierFacts({ isOpen, facts, promotion }: Marked, { backupMadeAt }: RestoreTimes): RestoredFacts {
  if (isOpen && facts) return facts
  const nothing: RestoredFacts = { heads: [], skipped: [] }
  if (!promotion?.skipped || new Date(promotion.seenAt) < backupMadeAt) return nothing
  const { skipped, newKeys } = promotion
  return { ...nothing, skipped, ...(newKeys && { newKeys }) }
}

/**
 * Skips the deposit addresses that may have been assigned after the backup: the same address for two orders would pay
 * the wrong one. The facts of an earlier mark are kept until it is reconciled: what happened between the two is still
 * to be compared. Notes the server that goes on.
 */
async function skip(tx: Tx, marked: Marked, at: RestoreTimes): Promise<RestoredFacts> {
  const earlier = earlierFacts(marked, at)
  const keys = await tx.many<Key>(sql`select id, xpub, next_index from deposit_keys order by id for update`)
  // a database that knows of a restore is of after it
  const madeAt = new Date(Math.max(at.backupMadeAt.getTime(), marked.restoredAt?.getTime() ?? 0))
  const times = { backupMadeAt: madeAt, restoredAt: at.restoredAt }
  const firstIndex = continueAt(marked.firstIndex, times)
  const ofEarlier = skippedOf(
    earlier,
    keys.map(({ xpub }) => xpub),
  )
  const facts: RestoredFacts = {
    heads: await listHeads(tx, earlier.heads),
    skipped: [...ofEarlier, ...(await skipIndexes(tx, keys, times))],
    newKeys: {
      ...{ from: earlier.newKeys?.from ?? `${marked.firstIndex}`, to: `${firstIndex}` },
      at: at.restoredAt.toISOString(),
    },
  }
  await tx.run(
    sql`update installation set first_index = ${firstIndex}, ${NOTED_SERVER}, promotion = null from server_line() s`,
  )
  return facts
}

/** From now on refunds and settlements wait for `reconcile`, which compares these facts. */
async function hold(tx: Tx, { isOpen }: Marked, at: RestoreTimes, facts: RestoredFacts): Promise<void> {
  await tx.run(sql`
    update installation set backup_made_at = least(${at.backupMadeAt}::timestamptz,
        case when ${isOpen} then backup_made_at end),
      restored_at = ${at.restoredAt}, reconciled_at = null, restored_facts = ${JSON.stringify(facts)}::jsonb`)
  // a person may have sent them since the backup: they are not asked to again before it is reconciled
  await tx.run(sql`
    update refunds set next_check_at = ${at.restoredAt}
    where status = 'ready' and handed_over_at is not null and next_check_at is null`)
}

/**
 * Marks the restore, and skips deposit addresses. Another life of the database begins, whose backups are its own.
 * Idempotent.
 * @returns false when this restore was marked before, or nothing was ever installed here
 */
export async function markRestored(tx: Tx, noted: NotedRestore): Promise<boolean> {
  const marked = await lockMark(tx)
  if (!marked || isRecorded(marked.restoredAt, noted)) return false
  const at = { backupMadeAt: noted.backupMadeAt, restoredAt: countedAt(noted) }
  await hold(tx, marked, at, await skip(tx, marked, at))
  const isRehearsal = noted.isRehearsal === true
  await tx.run(sql`update installation set life = default, life_since = default, rehearsal = ${isRehearsal}`)
  await distrust(tx, at)
  return true
}

/**
 * Marks that a standby took over, if one has: what is safe of a restore. Deposit addresses are skipped; unless commits
 * waited for a standby, refunds and settlements wait for `reconcile`. Nobody is logged out, because only the last
 * moments are lost. Concurrent calls mark once; each returns when the mark is made.
 */
export async function heedPromotion(tx: Tx): Promise<void> {
  const isPromoted = sql`select is_promoted(installation) as yes from installation`
  if (!(await tx.maybe<{ yes: boolean }>(isPromoted))?.yes) return
  const marked = await lockMark(tx)
  // another node may have marked it meanwhile
  if (!marked || !(await tx.one<{ yes: boolean }>(isPromoted)).yes) return
  const { backupMadeAt, restoredAt, isWhole, from, to } = await tx.one<RestoreTimes & Omit<Promotion, 'seenAt'>>(sql`
    select coalesce(server_seen_at, created_at) as backup_made_at, clock_timestamp() as restored_at,
      server_waits as is_whole, server_timeline::text as "from", s.timeline::text as "to"
    from installation, server_line() s`)
  const at = { backupMadeAt, restoredAt: countedAt({ backupMadeAt, restoredAt }) }
  const facts = await skip(tx, marked, at)
  // what an open mark still has to compare goes on growing
  const isHeld = !isWhole || marked.isOpen
  if (isHeld) await hold(tx, marked, at, facts)
  const { heads: _, ...skipped } = facts
  const kept: KeptPromotion = { from, to, seenAt: backupMadeAt.toISOString(), isWhole, ...(isHeld ? {} : skipped) }
  await tx.run(sql`update installation set promotion = ${JSON.stringify(kept)}::jsonb`)
}

/** A minute is how far before its last commit a promoted standby is believed to end. */
const NOTED_EVERY_MS = MINUTE

/** Notes which server writes the database, and until when: what a promotion is told by. */
export const noteServer = (q: Queryable): Promise<number> =>
  q.run(sql`
    update installation set ${NOTED_SERVER} from server_line() s
    where s.timeline is not null and not is_promoted(installation)
      and ((server_system, server_timeline, server_waits) is distinct from (s.system, s.timeline, s.waits)
        or server_seen_at < now() - make_interval(secs => ${NOTED_EVERY_MS / SECOND}))`)

/** Takes the promotion that nobody was told of yet: one caller gets it. */
export const takePromotion = (tx: Tx): Promise<Promotion | undefined> =>
  tx.maybe<Promotion>(sql`
    update installation set promotion = promotion || '{"told": true}'
    where promotion is not null and not promotion ? 'told'
    returning promotion->>'from' as "from", promotion->>'to' as "to", promotion->>'seenAt' as seen_at,
      (promotion->>'isWhole')::boolean as is_whole`)

/** Whether this database was restored for a rehearsal: nothing leaves it. A command may be newer than the schema. */
export const findIsRehearsal = async (q: Queryable): Promise<boolean> =>
  (
    await q.maybe<{ yes: boolean | null }>(
      sql`select (to_jsonb(installation)->>'rehearsal')::boolean as yes from installation`,
    )
  )?.yes === true

/** Undefined: this database was never restored. */
export const findRestored = (q: Queryable): Promise<Restored | undefined> =>
  q.maybe<Restored>(sql`
    select backup_made_at, restored_at, restored_facts as facts, reconciled_at from installation
    where restored_at is not null`)

/** Clocks of two machines differ by less. */
const CLOCK_MARGIN_MS = 2 * HOUR

/** Whether nothing of this order or company can have left before the restore. */
export const isMadeSince = ({ restoredAt }: Pick<RestoreTimes, 'restoredAt'>, since: Date): boolean =>
  since.getTime() > restoredAt.getTime() + CLOCK_MARGIN_MS

/**
 * Up to when this database knows what happened, if it was restored, or a standby took over without the last commits,
 * and that has not been reconciled yet; also before any node has marked the promotion. `isTakeover`: the latter came
 * last.
 */
export const findUnreconciled = (q: Queryable): Promise<{ backupMadeAt: Date; isTakeover: boolean } | undefined> =>
  q.maybe(sql`
    select case when ${IS_UNRECONCILED} then backup_made_at else coalesce(server_seen_at, created_at) end as backup_made_at,
      coalesce(not (promotion->>'isWhole')::boolean, false) or (not server_waits and is_promoted(installation))
        as is_takeover
    from installation where (${IS_UNRECONCILED}) or (not server_waits and is_promoted(installation))`)

/**
 * Orders made until then may have been paid after the backup: they do not end before it is reconciled. Undefined: all
 * may. A promotion that no node has marked yet holds every one.
 */
export const findEndsHeld = (q: Queryable): Promise<{ madeUntil: Date } | undefined> =>
  q.maybe(sql`
    select case when ${IS_UNRECONCILED} then restored_at else clock_timestamp() end as made_until
    from installation where (${IS_UNRECONCILED}) or (not server_waits and is_promoted(installation))`)

const sameAs = ({ restoredAt, facts }: Pick<Restored, 'restoredAt' | 'facts'>) =>
  sql`restored_at = ${restoredAt} and restored_facts = ${JSON.stringify(facts)}::jsonb`

/** Releases the restore that was compared, never another one that took its place meanwhile. @returns 1: it did now */
export const updateReconciledRestore = (q: Queryable, compared: Restored, at: Date): Promise<number> =>
  q.run(sql`update installation set reconciled_at = ${at} where ${IS_UNRECONCILED} and ${sameAs(compared)}`)

/** Whether the database is still of this restore; undefined: it is not. */
export const findSameRestore = (q: Queryable, compared: Restored): Promise<{ reconciledAt: Date | null } | undefined> =>
  q.maybe(sql`select reconciled_at from installation where ${sameAs(compared)}`)
