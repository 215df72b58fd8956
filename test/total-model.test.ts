import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { paidReport } from '../src/channels/channel.ts'
import { reportOf } from '../src/channels/gatepay/status-map.ts'
import { sql } from '../src/db/db.ts'
import { AppError } from '../src/kernel/errors.ts'
import { adoptSecondPayment } from '../src/payments/callbacks/second-payments.ts'
import { acceptMispayment } from '../src/payments/mispayments/mispayment-service.ts'
import { applyReport } from '../src/payments/payment-report.ts'
import { refundMispayment } from '../src/refunds/mispayment-refund.ts'
import { dropRefund } from '../src/refunds/refund-decisions.ts'
import { applyRefundReport } from '../src/refunds/refund-jobs.ts'
import { listRefundsOfOrder } from '../src/refunds/refund-queries.ts'
import { revertOrder } from '../src/refunds/refund-service.ts'
import { DUE, type ModelWorld, startModelWorld } from './harness/model-world.ts'
import { type Random, randomBelow } from './harness/random.ts'
import { BTC, openWhitepayIn, type Transaction } from './harness/whitepay-attempts.ts'

/*
 * Random stories of one order whose provider tells all that came, in answers that come in any order, while persons
 * decide and refunds fail: whatever happens, what is paid, decided about or waiting adds up to what came.
 */

let world: ModelWorld
before(async () => {
  world = await startModelWorld({ async closePayment() {} })
})
after(() => world?.stop())

const SEED = Number(process.env.MODEL_SEED ?? 1)
const WALKS = Number(process.env.MODEL_WALKS ?? 40)

type Attempt = Awaited<ReturnType<typeof openWhitepayIn>>
/** What came in all and is still there, and what went back, in whole USDC. */
type Money = { came: number; backs: number }
type Provider = {
  steps: readonly string[]
  /** Answers that name all that came, and of these the one that completes the order. */
  tells: readonly string[]
  paid: string
  /** @returns false: it is none of these steps */
  act(step: string): Promise<boolean>
}

const EIGHTEEN = 10n ** 18n
/** So much of the payer's coin, rounded up, that no less counts than was sent. */
const coinText = (whole: number, isBtc: boolean): string => {
  if (!isBtc) return `${whole}`
  const units = (BigInt(whole) * 1_234_567_890_123n + 53n) / 54n
  return `${units / EIGHTEEN}.${`${units % EIGHTEEN}`.padStart(18, '0')}`
}

function openGate({ apply, reference }: Attempt, money: Money, isBtc: boolean): Provider {
  const asked = isBtc ? { pay_currency: 'BTC', pay_amount: BTC.expected } : { pay_currency: 'USDC', pay_amount: '54' }
  const tell = (word: string, isNamed: boolean) => {
    const missing = word === 'PAID' && isNamed ? { underpaidAmount: `${Math.max(0, 54 - money.came)}` } : {}
    const transaction_info = { done_amount: coinText(money.came, isBtc), confirming_list: [] }
    const data = { currency: 'USDC', orderAmount: '54', ...asked, ...missing, ...(isNamed && { transaction_info }) }
    return apply(reportOf(word, data, { providerReference: reference, closedStatuses: [] }))
  }
  return {
    steps: ['PAID', 'PAID', 'PAID', 'EXPIRED', 'no amount', 'PAY_BLOCK'],
    tells: ['PAID', 'EXPIRED'],
    paid: 'PAID',
    async act(step) {
      // without an amount it calls only paid what is
      if (step === 'no amount' && money.came >= 54) await tell('PAID', false)
      else if (step === 'PAY_BLOCK') await tell(step, false)
      else if (step === 'PAID' || step === 'EXPIRED') await tell(step, true)
      else return step === 'no amount'
      return true
    },
  }
}

function openWhitepay({ announces, tells }: Attempt, money: Money, isBtc: boolean): Provider {
  const rows: Transaction[] = []
  let [told, kept] = [0, 0]
  const add = (type: string, whole: number) => rows.push([type, coinText(whole, isBtc)])
  const catchUp = () => {
    if (money.came + money.backs > told) add('DEPOSIT', money.came + money.backs - told)
    told = money.came + money.backs
  }
  const move = (whole: number) => {
    add('ROLLBACK_TO_MERCHANT', whole)
    kept += whole
  }
  return {
    steps: [
      'COMPLETE',
      'COMPLETE',
      'COMPLETE',
      'DECLINED',
      'DECLINED',
      'PARTIALLY_FULFILLED',
      'back',
      'moved',
      'event',
    ],
    tells: ['COMPLETE', 'DECLINED', 'PARTIALLY_FULFILLED'],
    paid: 'COMPLETE',
    async act(step) {
      catchUp()
      if (step === 'back' && money.came - kept >= 24) {
        add('ROLLBACK_TO_CLIENT', 24)
        money.came -= 24
        money.backs += 24
      } else if (step === 'moved' && money.came > kept && money.came <= 54) move(money.came - kept)
      else if (step === 'event') {
        const last = rows.findLastIndex(([type]) => type === 'ROLLBACK_TO_MERCHANT')
        if (last >= 0) await announces(rows[last]?.[1] ?? '', last)
      } else if (this.tells.includes(step)) {
        if (step === 'COMPLETE' && money.came - 54 > kept) move(money.came - 54 - kept)
        await tells(step, ...rows)
      } else return step === 'back' || step === 'moved'
      return true
    },
  }
}

/** What persons do, and refunds. */
const actsOf = ({ context, find, ignoreAll, order, reference }: Attempt) => {
  const { db, service } = world.host
  const firstOpen = async (): Promise<string> =>
    (
      await db.many<{ id: string }>(
        sql`select id from mispayments where order_id = ${order.id} and status = 'open' order by id`,
      )
    )[0]?.id ?? ''
  const running = async () =>
    (await listRefundsOfOrder(db, order.companyId, order.id)).find(({ status }) => /ready|submitted/.test(status))
  const end = { reference: null, txHash: null, providerStatus: 'said so' }
  return {
    ignore: ignoreAll,
    refund: async () => refundMispayment(world.refunds, context, await firstOpen(), {}),
    accept: async () => acceptMispayment(world.mispayments, context, await firstOpen(), {}),
    revert: () => revertOrder(world.refunds, context, order.code, {}),
    revertTen: () => revertOrder(world.refunds, context, order.code, { amount: '10' }),
    cancel: () => db.run(sql`update orders set status = 'CANCELLED' where id = ${order.id} and paid_at is null`),
    settle: async () => {
      const refund = await running()
      if (refund) await applyRefundReport(world.refunds, refund, { outcome: 'settled', ...end })
    },
    reject: async () => {
      const refund = await running()
      if (refund) await dropRefund(world.refunds, refund, { status: 'refused', channel: 'binance', ...end })
    },
    second: async () => {
      const deps = { ...world.payments, log: service.app.log }
      const second = await adoptSecondPayment(deps, await find(), `${reference}-2`)
      const paid = paidReport(`${reference}-2`, { final: DUE, providerStatus: 'PAID' })
      await applyReport(world.payments, { companyId: order.companyId, id: second.id }, paid)
    },
  }
}

type Row = { kind: string; asset: string; units: bigint; status: string }
const isDecided = ({ status }: Row): boolean => status === 'ignored' || status === 'refunded'
const worthOf = ({ asset, units }: Row): bigint => {
  if (asset === 'BTC') return (BigInt(units) * DUE) / 1_234_567_890_123n
  return BigInt(units) / (asset === 'USDT' ? 10n ** 12n : 1n)
}

/** @throws where what is recorded is not what came */
async function check(attempt: Attempt, money: Money, { step, provider, slack }: Check): Promise<void> {
  const { find, key, order } = attempt
  const rows = await world.host.db.many<Row>(
    sql`select kind, asset, units, status from mispayments where order_id = ${order.id} and payment_id = ${key.id}`,
  )
  const sum = (some: readonly Row[]): bigint => some.reduce((all, row) => all + worthOf(row), 0n)
  const { priceUnits } = await find()
  const lost = rows.filter(({ kind, status }) => kind === 'orphaned' && status !== 'resolved')
  const held = rows.filter(({ kind, status }) => kind !== 'orphaned' && (status === 'open' || /ign|ref/.test(status)))
  const { gone } = await world.host.db.one<{ gone: string }>(
    sql`select coalesce(returns_gone_units, 0)::text as gone from payments where id = ${key.id}`,
  )
  // what went back after it was paid or decided about still counts as that
  const came = BigInt(money.came + money.backs) * 1_000_000n - BigInt(gone)
  const off = (priceUnits ?? 0n) + sum(held) - sum(lost) - came
  if (money.backs === 0) assert.deepEqual(lost, [], 'nothing went back, and nothing is lost')
  if (!provider.tells.includes(step)) return
  const waits = sum(rows.filter((row) => row.kind !== 'orphaned' && row.status === 'open'))
  assert.ok(waits <= BigInt(money.came) * 1_000_000n + slack, `${waits} units wait, ${money.came} are there`)
  // what went back may be what was decided about beside the payment
  const beside = money.backs === 0 ? 0n : sum(rows.filter((row) => row.kind === 'wrong_token' && isDecided(row)))
  assert.ok(off <= slack + beside, `${off} units too much`)
  if (step !== provider.paid && money.came > 54) return
  // where a refund runs, what went back may be of money above the price all the same, which has no name then
  const refunded = BigInt(money.backs) * 1_000_000n - BigInt(gone)
  assert.ok(off >= -slack - refunded, `${-off} units too few`)
  const { status } = await world.host.db.one<{ status: string }>(sql`select status from orders where id = ${order.id}`)
  if (step !== provider.paid || priceUnits !== null || status !== 'AWAITING') return
  assert.ok(came - sum(rows.filter(isDecided)) < DUE + slack, 'the price came, and pays')
}
type Check = { step: string; provider: Provider; slack: bigint }

async function walk(random: Random, name: 'gate' | 'whitepay', isBtc: boolean): Promise<void> {
  const attempt = await openWhitepayIn(world, isBtc ? BTC : undefined)
  const money = { came: 0, backs: 0 }
  const provider = (name === 'gate' ? openGate : openWhitepay)(attempt, money, isBtc)
  const acts = actsOf(attempt)
  const persons = [...Object.keys(acts), 'refund', 'reject'] as (keyof typeof acts)[]
  const pick = <T>(of: readonly T[]): T => of[random(of.length)] as T
  const log: string[] = []
  const slack = isBtc ? 200n : 0n
  for (let at = 4 + random(9); at >= 0; at -= 1) {
    world.clock.nowMs += 1000
    const arrives = money.came + money.backs === 0 || random(5) === 0
    const step = arrives ? `${pick([10, 24, 30, 54])}` : random(5) < 3 ? pick(provider.steps) : pick(persons)
    log.push(step)
    try {
      if (arrives) money.came += Number(step)
      else if (!(await provider.act(step)))
        await acts[step as keyof typeof acts]().catch((error: unknown) =>
          assert.ok(error instanceof AppError, `${error}`),
        )
      await check(attempt, money, { step, provider, slack })
    } catch (error) {
      const records = (await attempt.recordsOf()).join('\n')
      throw new Error(`seed ${SEED}, ${name}${isBtc ? ' BTC' : ''}: ${log.join(' ')}\n${error}\n${records}`)
    }
  }
  await world.books.check(attempt.order.companyId)
}

test(`random: what is paid, decided about or waiting is what came (seed ${SEED})`, async () => {
  const random = randomBelow(SEED)
  for (let count = 0; count < WALKS; count += 1)
    for (const name of ['gate', 'whitepay'] as const) for (const isBtc of [false, true]) await walk(random, name, isBtc)
})
