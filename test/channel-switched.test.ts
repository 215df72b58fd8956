import assert from 'node:assert/strict'
import { createServer, request, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, test } from 'node:test'
import { sql } from '../src/db/db.ts'
import { verifyLedger } from '../src/ledger/ledger-verify.ts'
import { type Client, logIn, registerManager } from './harness/accounts.ts'
import { type Market, type MarketInstructions, openMarket } from './harness/market.ts'
import { eventually } from './harness/service.ts'
import type { OrderData } from './harness/shop.ts'

// a shop replaces its account at Binance by another one, which is as valid and knows nothing of what the first one took

let market: Market
let manager: Client
let till: string
let front: Server
let isSilent = false
const OTHER = { API_KEY: 'key-of-another-account-0123456789', API_SECRET: 'secret-of-another-account-0123456789' }

/** Before the imitation: the other account, to which whatever the first one has is “not found”. */
async function startFront(target: string): Promise<string> {
  front = createServer((req, res) => {
    const chunks: Buffer[] = []
    req.on('data', (chunk: Buffer) => chunks.push(chunk))
    req.on('end', () => {
      if (isSilent) return res.destroy()
      if (req.headers['binancepay-certificate-sn'] === OTHER.API_KEY && /order/.test(req.url ?? '')) {
        res.setHeader('content-type', 'application/json')
        return res.end(JSON.stringify({ status: 'FAIL', code: '400202', errorMessage: 'Order not found.' }))
      }
      const { hostname: host, port, pathname } = new URL(target)
      const path = pathname.replace(/\/$/, '') + req.url
      const out = request({ host, port, path, method: req.method, headers: req.headers }, (answer) => {
        res.writeHead(answer.statusCode ?? 500, answer.headers)
        answer.pipe(res)
      })
      return out.end(Buffer.concat(chunks))
    })
  })
  await new Promise<void>((resolve) => front.listen(0, '127.0.0.1', resolve))
  return `http://127.0.0.1:${(front.address() as AddressInfo).port}`
}

before(async () => {
  market = await openMarket({
    envOf: async (credentials) => ({
      CHANNEL_BINANCE_API_KEY: '',
      CHANNEL_BINANCE_API_SECRET: '',
      CHANNEL_BINANCE_BASE_URL: await startFront(credentials.CHANNEL_BINANCE_BASE_URL ?? ''),
    }),
  })
  const person = await registerManager(market.host.baseUrl)
  manager = await logIn(market.host.baseUrl, person.email)
  const { data } = await manager.get<{ collectors: { identifier: string }[] }>('collectors/list')
  till = data.collectors[0]?.identifier ?? ''
})
after(async () => {
  try {
    if (market) assert.equal((await verifyLedger(market.host.db)).difference, null)
  } finally {
    await market?.stop()
    front?.close()
    front?.closeAllConnections()
  }
})

const own = (): Record<string, string> => {
  const { CHANNEL_BINANCE_API_KEY: key = '', CHANNEL_BINANCE_API_SECRET: secret = '' } = market.providers.credentials
  return { API_KEY: key, API_SECRET: secret }
}
const save = (settings: Record<string, string>, isForced = false) =>
  manager.call('PUT', `channel-accounts/binance?force=${isForced}`, { settings })

async function place() {
  const body = { amount: 50, fromAsset: 'EUR', merchantIdentifier: till, alias: crypto.randomUUID() }
  const { order } = (await manager.post<{ order: OrderData }>('confirm_conversion/request', body)).data
  const path = `confirm_conversion/accept/${order.code}`
  const accepted = await manager.post<MarketInstructions>(path, { paymentChannel: 'binance' })
  assert.equal(accepted.data?.status, 'AWAITING', accepted.text)
  const [payment] = await market.paymentsOf(order._id)
  return { order, reference: payment?.reference ?? '' }
}

type Refund = { _id: string; status: string; message: string | null }
const refundsOf = async (code: string) =>
  (await manager.get<{ refunds: Refund[] }>(`refunds?code=${code}`)).data.refunds
const pollNow = () =>
  market.host.db.run(sql`update refunds set next_check_at = now(), checks = 0 where next_check_at is not null`)

async function startTaken() {
  const made = await place()
  await market.act(made.reference, 'pay')
  await market.reaches(made.order.code, 'PAID')
  await market.tell('refund-pending', { provider: 'binance' })
  assert.equal((await manager.post(`confirm_conversion/revert/${made.order.code}`, { amount: '20' })).status, 200)
  await eventually(
    () => market.paymentsOf(made.order._id),
    ([one]) => one?.refunds.length === 1,
  )
  await eventually(
    () => refundsOf(made.order.code),
    ([one]) => one?.status === 'submitted',
  )
  return made
}

test('another account is saved only with force while a payment needs the one before; the same one is not asked twice', async () => {
  assert.equal((await save(own())).status, 200)
  const { order, reference } = await place()
  const other = await save(OTHER)
  assert.deepEqual([other.status, other.error?.code], [409, 'ACCOUNT_IN_USE'], other.text)
  assert.match(other.error.message, /open payments: 1, unfinished refunds: 0/)
  isSilent = true
  const silent = await save(own()).finally(() => {
    isSilent = false
  })
  assert.deepEqual([silent.status, silent.error?.code], [409, 'ACCOUNT_IN_USE'], silent.text)
  assert.match(silent.error.message, /does not answer/)
  assert.equal((await save({ ...own(), TERMINAL_TYPE: 'APP' })).status, 200)
  await market.act(reference, 'pay')
  await market.reaches(order.code, 'PAID')
})

test('a refund that Binance has taken waits while another account is asked, and the payer is paid once', async () => {
  assert.equal((await save(own())).status, 200)
  const { order, reference } = await startTaken()
  const other = await save(OTHER)
  assert.deepEqual([other.status, other.error?.code], [409, 'ACCOUNT_IN_USE'], other.text)
  assert.equal((await save(OTHER, true)).status, 200)
  const [logged] = await market.host.db.many<{ detail: string }>(sql`
    select detail from audit_log where action = 'channel.account_saved' order by seq desc limit 1`)
  assert.equal(JSON.parse(logged?.detail ?? '{}').unfinishedRefunds, 1)
  await pollNow()
  const [held] = await eventually(
    () => refundsOf(order.code),
    ([one]) => one?.status !== 'submitted' || /another one/.test(one.message ?? ''),
  )
  assert.equal(held?.status, 'submitted')
  assert.match(held?.message ?? '', /waits: .* Give back the credentials of the account that was paid/)
  assert.equal((await save(own(), true)).status, 200)
  await market.act(reference, 'refund-settle')
  await pollNow()
  await eventually(
    () => refundsOf(order.code),
    ([one]) => one?.status === 'settled',
  )
  const [desk] = await market.paymentsOf(order._id)
  assert.equal(desk?.refunds.length, 1)
})

test('a refund that was asked for without an answer is not refused by an account that has no such order', async () => {
  assert.equal((await save(own(), true)).status, 200)
  const { order, reference } = await startTaken()
  // as if the answer to the request had been lost
  await eventually(
    () =>
      market.host.db.run(sql`
        update refunds set provider_reference = null
        where order_id = ${order._id} and status = 'submitted' and lease_until is null`),
    (changed) => changed === 1,
  )
  assert.equal((await save(OTHER, true)).status, 200)
  await pollNow()
  const [held] = await eventually(
    () => refundsOf(order.code),
    ([one]) => one?.status !== 'submitted' || /another one/.test(one.message ?? ''),
  )
  assert.equal(held?.status, 'submitted', held?.message ?? '')
  assert.equal((await save(own(), true)).status, 200)
  await market.act(reference, 'refund-settle')
  await pollNow()
  await eventually(
    () => refundsOf(order.code),
    ([one]) => one?.status === 'settled',
  )
})
