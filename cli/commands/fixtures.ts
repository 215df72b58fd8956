import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { type Comptoir, isComptoirError, type Order } from '../../sdk/index.ts'
import { type Command, numberOf, type Run, UsageError } from '../command.ts'
import { connectSandbox, type SandboxFile } from '../connection.ts'
import { EVENT_PLAYS } from '../plays/events.ts'
import { openStage, type Stage } from '../plays/stage.ts'
import { until } from '../sandbox.ts'

const BIN = join(import.meta.dirname, '../../bin/comptoir.cjs')
const AT_ONCE = 6
/** An account of the local test chain; its key is public. */
const TEST_ADDRESS = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8'
const SANDBOX_CHAIN = 31_337
const DAY_SECONDS = 86_400

/** Pays more than the price, from the test wallet: the excess waits for a decision. */
async function overpay(stage: Stage): Promise<Order> {
  const order = await stage.order()
  const to = await stage.accept(order, 'crypto')
  await stage.sandbox.payFromWallet(to, (Number(order.toAmount) + 2).toFixed(6))
  return stage.becomes(order, 'PAID')
}

/** Pays less than the price, and nothing more: the money waits at an expired order. */
async function underpay(stage: Stage): Promise<Order> {
  const order = await stage.order()
  await stage.sandbox.payFromWallet(await stage.accept(order, 'crypto'), '1.00')
  const given = await until('The part', async () => {
    const found = await stage.client.mispayments.list({ code: order.code }).take(1)
    return found[0]
  })
  await stage.client.orders.expire(order.code)
  stage.say(`${order.code}: ${given.amount} arrived, and nothing more`)
  return stage.client.orders.get(order.code)
}

type Fate = { name: string; act(stage: Stage): Promise<Order> }
const event = (name: keyof typeof EVENT_PLAYS): Fate => ({ name, act: EVENT_PLAYS[name].act })

/** Distribution over twenty orders; the rest is paid. */
const FATES: readonly Fate[] = [
  ...[event('order.cancelled'), event('order.expired'), event('order.refunded'), event('order.full_refunded')],
  ...[event('order.error'), event('order.kyt_failed'), event('order.awaiting'), event('order.initial')],
  { name: 'overpaid', act: overpay },
  { name: 'underpaid', act: underpay },
]
const PAID = event('order.paid')
/** Only what has ended gets a past. What is open keeps today's date, so it is made last: lists go by id. */
const OPEN: ReadonlySet<string> = new Set(['order.awaiting', 'order.initial'])
const AMOUNTS = ['4.50', '12.90', '29.00', '49.90', '75.00', '120.00', '249.00', '19.95']
const CURRENCIES = ['EUR', 'EUR', 'EUR', 'CHF', 'USD', 'GBP']

/** Ages: over 30 days, in shop hours, more on Saturdays than on Sundays. */
export function agesOf(count: number, now: Date, days = 30): number[] {
  const slots = Array.from({ length: days }, (_, index) => {
    const day = new Date(now.getTime() - (index + 1) * DAY_SECONDS * 1000)
    return { index, weight: [1, 3, 3, 3, 4, 5, 6][day.getUTCDay()] ?? 3 }
  })
  const total = slots.reduce((sum, { weight }) => sum + weight, 0)
  return Array.from({ length: count }, (_, index) => {
    let place = ((index * 0.618034) % 1) * total
    const slot = slots.find(({ weight }) => {
      place -= weight
      return place < 0
    })
    const hours = 9 + ((index * 7) % 11) + (index % 4) / 4
    const at = new Date(now.getTime() - ((slot?.index ?? 0) + 1) * DAY_SECONDS * 1000)
    at.setUTCHours(Math.floor(hours), (hours % 1) * 60, (index * 13) % 60, 0)
    return Math.max(0, Math.round((now.getTime() - at.getTime()) / 1000))
  })
}

type Made = { code: string; fate: string; seconds: number }

async function playAll(run: Run, client: Comptoir, sandbox: SandboxFile, count: number): Promise<Made[]> {
  const made: Made[] = []
  const ages = agesOf(count, new Date())
  const all = Array.from({ length: count }, (_, index) => ({ index, fate: FATES[index % 20] ?? PAID }))
  const isOpen = ({ fate }: { fate: Fate }): boolean => OPEN.has(fate.name)
  const left = [...all.filter((one) => !isOpen(one)), ...all.filter(isOpen)]
  const work = async (): Promise<void> => {
    for (let one = left.shift(); one; one = left.shift()) {
      const { index, fate } = one
      const options = {
        amount: AMOUNTS[index % AMOUNTS.length] ?? '10.00',
        currency: CURRENCIES[index % CURRENCIES.length] ?? 'EUR',
      }
      const { code } = await fate.act(openStage(client, sandbox, () => {}, options))
      made.push({ code, fate: fate.name, seconds: ages[index] ?? 0 })
      run.say(`${made.length} of ${count}: ${fate.name}`)
    }
  }
  await Promise.all(Array.from({ length: Math.min(AT_ONCE, count) }, work))
  return made
}

/** Decides half of the mispayments, like a shop that takes care of them; then the operator settles once. */
async function finish(client: Comptoir, operator: Comptoir, company: string): Promise<string> {
  const open = await client.mispayments.list({ status: 'open' }).take(100)
  for (const { _id } of open.filter((_, index) => index % 2 === 0)) {
    await operator.api.ignoreMispayment({ id: _id, body: { reason: 'The customer was given the rest in cash.' } })
  }
  const found = await operator.api.getCompany({ id: company })
  if (found.settlementAddress === null) {
    const address = { settlementAddress: TEST_ADDRESS, settlementNetwork: SANDBOX_CHAIN }
    await operator.api.changeCompany({ id: company, body: address })
  }
  try {
    const { _id, amount } = await operator.api.createSettlement({ body: { companyId: company } })
    await operator.api.approveSettlement({ id: _id })
    return `A settlement of ${amount} USDC is on its way.`
  } catch (error) {
    // nothing is owed, or a settlement of an earlier run is still open: the shop has its month anyway
    if (!isComptoirError(error)) throw error
    return `Nothing was settled: ${error.message}`
  }
}

/** Works on the database, so it needs the folder and the settings of `npm start`. @returns how many were moved */
async function giveThemAPast(company: string, made: readonly Made[]): Promise<number> {
  const args = [BIN, 'age-orders', '--company', company, '--json']
  const child = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'pipe'] })
  child.stdin.end(JSON.stringify(made.map(({ code, seconds }) => ({ code, seconds }))))
  let [out, said] = ['', '']
  child.stdout.on('data', (chunk: Buffer) => {
    out += chunk.toString()
  })
  child.stderr.on('data', (chunk: Buffer) => {
    said += chunk.toString()
  })
  const [code] = await once(child, 'close')
  if (code !== 0) {
    const state = made.length > 0 ? `The ${made.length} orders exist, but could not be dated back` : 'No order was made'
    throw new Error(`${state}. Run this in the folder, and with the settings, of "npm start". ${said.trim()}`)
  }
  return (JSON.parse(out) as { moved: number }).moved
}

export const fixtures: Command = {
  name: 'fixtures',
  summary: 'Give the sandbox’s shop a month of life, for demos',
  flags: { orders: { type: 'string', value: '120', description: 'how many' } },
  examples: ['comptoir fixtures', 'comptoir fixtures --orders 400'],
  async run(run) {
    const { client, sandbox } = connectSandbox(run.flags)
    const count = numberOf(run.flags, 'orders', 120)
    if (count < 1 || count > 2000) throw new UsageError('--orders is a number from 1 to 2000.')
    const [{ company = '' } = {}] = (await client.api.listCollectors({ limit: 1 })).collectors
    await giveThemAPast(company, [])
    const made = await playAll(run, client, sandbox, count)
    const operator = await openStage(client, sandbox, () => {}).sandbox.operator()
    const moved = await giveThemAPast(company, made)
    const settled = await finish(client, operator, company)
    run.show({ orders: made, moved, settled }, [
      `${count} orders are there, ${moved} of them spread over the last 30 days.`,
      settled,
    ])
  },
}
