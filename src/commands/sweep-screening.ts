import { pino } from 'pino'
import { Registry } from 'prom-client'
import { getAddress } from 'viem/utils'
import { openAccounts } from '../assembly/accounts.ts'
import { openScreening } from '../assembly/screening.ts'
import type { OpenChain } from '../chain/open-chains.ts'
import type { SweepBatch, SweepDeposit } from '../chain/sweep/sweep-batch.ts'
import { type DepositSender, listDepositSenders, listSweeps } from '../chain/sweep/sweep-queries.ts'
import type { Config } from '../config/config.ts'
import type { Db } from '../db/db.ts'
import { hastenItem } from '../db/poll-queries.ts'
import { pollNow } from '../db/polling.ts'
import { SECOND, systemClock } from '../kernel/clock.ts'
import type { Vault } from '../kernel/vault.ts'
import { CLEAN_MS, type Subject } from '../screening/screening-gate.ts'
import { screeningPolls } from '../screening/screening-polls.ts'
import {
  findScreening,
  listLatestAnswers,
  listScreeningsOf,
  listStandingListings,
  type Release,
  SCREENING_POLLS,
  type Screening,
} from '../screening/screening-queries.ts'

export type ScreeningWork = { config: Config; db: Db; vault: Vault; chains: readonly { open: OpenChain }[] }

/** The fields of a deposit that a plan and a signed batch share. */
export type ScreenedDeposit = Pick<SweepDeposit, 'id' | 'network' | 'address'>
export type HeldOut = { network: number; address: string; reason: string }

/** How long the command waits for a question that the running service has claimed. */
const PATIENCE_MS = 30 * SECOND
const LOOK_AGAIN_MS = 200
/** Senders screened concurrently. */
const AT_ONCE = 8

type Desk = ReturnType<typeof openScreening>

/** Uses the same sources, records and mails as the service. */
function openDesk({ config, db, vault, chains }: ScreeningWork): Desk {
  const accounts = openAccounts({ config, db, vault, clock: systemClock })
  const base = { config, db, vault, clock: systemClock, log: pino({ level: 'silent' }), metrics: new Registry() }
  const wakes = { pollPayments() {}, pollRefunds() {}, pollScreenings() {} }
  return openScreening(base, { accounts, alarm: accounts.alarm, wakes, chains: chains.map(({ open }) => open) })
}

/** Asks the sources now; if the running service is already asking, waits for its answer. */
async function ask(work: ScreeningWork, desk: Desk, subject: Subject, address: string): Promise<Screening | undefined> {
  const { db } = work
  const polls = screeningPolls(desk.polls)
  const find = async () => (await listScreeningsOf(db, subject)).find((one) => one.address === address)
  const before = await find()
  if (before?.status === 'held') await hastenItem(db, SCREENING_POLLS.table, before, new Date(systemClock()))
  const until = systemClock() + PATIENCE_MS
  for (let row = before; ; row = await find()) {
    const isOpen = row?.status === 'checking' || (row?.status === 'held' && row.checks === before?.checks)
    if (!row || !isOpen || systemClock() > until) return row
    const key = row
    const asked = await pollNow({ db, clock: systemClock }, SCREENING_POLLS, key, (leased) => polls.work(leased, key))
    if (asked) return find()
    await new Promise((resolve) => setTimeout(resolve, LOOK_AGAIN_MS))
  }
}

async function reasonOf({ db }: ScreeningWork, sender: string, row: Screening | undefined): Promise<string> {
  const answers = row?.status === 'blocked' ? listStandingListings : listLatestAnswers
  const said = row ? await answers(db, row) : []
  const against = said.filter(({ verdict }) => verdict !== 'clean')
  const words = against.map(
    ({ source, level, reasons }) => `${source}: ${[level, ...reasons].filter(Boolean).join(', ')}`,
  )
  const because = words.length > 0 ? ` (${words.join('; ')})` : ''
  return row?.status === 'blocked'
    ? `its sender ${sender} is listed${because}. A sweep a day after that asks about it again`
    : `its sender ${sender} is not cleared${because}. Run this again later, or decide in the back office`
}

/** A person's decision about the payment outweighs the same doubts here. */
async function releaseOf({ db }: ScreeningWork, id: string | null): Promise<Release | null> {
  const row = id === null ? undefined : await findScreening(db, id)
  if (row?.status !== 'released' || row.decidedBy === null) return null
  return { decidedBy: row.decidedBy, reason: row.reason ?? '', accepted: row.accepted ?? [] }
}

/** @returns why a sender's money must stay; null: it may move */
async function judge(work: ScreeningWork, desk: Desk, sweepId: string, known: DepositSender): Promise<string | null> {
  const { companyId, sender, releasedId } = known
  const release = await releaseOf(work, releasedId)
  const subject: Subject = { companyId, purpose: 'sweep', subjectId: sweepId, orderId: null, release }
  const network = Number(sweepId.split(':')[1])
  const look = () => work.db.tx((tx) => desk.gate.look(tx, subject, [{ network, address: sender }]))
  if ((await look()) === 'clear') return null
  const row = await ask(work, desk, subject, sender)
  return row?.status === 'clean' || row?.status === 'released' ? null : reasonOf(work, sender, row)
}

/**
 * The final check before money is signed or sent: every sender that was never screened, or whose answer is old, is
 * screened now. Without an answer the deposit is left out.
 * @returns the deposits that stay, by the id of their sweep
 */
export async function screenSenders(
  work: ScreeningWork,
  deposits: readonly ScreenedDeposit[],
): Promise<Map<string, HeldOut>> {
  const held = new Map<string, HeldOut>()
  const desk = openDesk(work)
  try {
    for (const { open } of work.chains) {
      const { chainId, usdcAddress: token } = open.network
      const own = deposits.filter(({ network }) => network === chainId)
      const byAddress = new Map(own.map((one) => [one.address.toLowerCase(), one]))
      const senders = await listDepositSenders(work.db, {
        ...{ chainId, token, deposits: [...byAddress.keys()] },
        screenFromUnits: BigInt(work.config.orders.chainDustUnits),
        since: new Date(systemClock() - CLEAN_MS),
      })
      const waiting = Map.groupBy(
        senders.filter(({ cleared }) => !cleared),
        ({ companyId, sender, releasedId, deposit }) => `${companyId} ${sender} ${releasedId === null ? '' : deposit}`,
      )
      // one screening for all deposits of one sender, recorded with the first of them; a release is of its own deposit
      const queue = [...waiting.values()]
      const next = async (): Promise<void> => {
        for (let group = queue.pop(); group !== undefined; group = queue.pop()) {
          const [first] = group
          const deposit = first && byAddress.get(first.deposit)
          if (!first || !deposit) continue
          const reason = await judge(work, desk, deposit.id, first)
          if (reason === null) continue
          for (const { deposit: address } of group) {
            const one = byAddress.get(address)
            if (one) held.set(one.id, { network: one.network, address: getAddress(one.address), reason })
          }
        }
      }
      await Promise.all(Array.from({ length: AT_ONCE }, next))
    }
  } finally {
    await desk.close()
  }
  return held
}

/** The deposits that may move, and those that stay because a sender is not cleared. */
export type Screened = { batch: SweepBatch; held: HeldOut[] }

export const wordsOf = (held: readonly HeldOut[]): string[] =>
  held.map(({ address, reason }) => `${address} stays: ${reason}.`)

/** A signed batch may be days old, so its senders are screened again, except for deposits already on their way. */
export async function screenBatch(work: ScreeningWork, batch: SweepBatch): Promise<Screened> {
  const known = await listSweeps(
    work.db,
    batch.deposits.map(({ id }) => id),
  )
  const fresh = batch.deposits.filter(({ id }) => !known.some((sweep) => sweep.id === id))
  const held = await screenSenders(work, fresh)
  const cleared = { ...batch, deposits: batch.deposits.filter(({ id }) => !held.has(id)) }
  const stays = [...held.values()]
  if (cleared.deposits.length === 0) throw new Error(['Nothing was sent.', ...wordsOf(stays)].join('\n'))
  return { batch: cleared, held: stays }
}
