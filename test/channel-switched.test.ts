import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { createServer, type IncomingHttpHeaders, request, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, test } from 'node:test'
import { sql } from '../src/db/db.ts'
import { verifyLedger } from '../src/ledger/ledger-verify.ts'
import { type Client, logIn, logInSuperAdmin, registerManager } from './harness/accounts.ts'
import { type Market, type MarketInstructions, openMarket } from './harness/market.ts'
import { eventually } from './harness/service.ts'
import type { OrderData } from './harness/shop.ts'

// a shop replaces its account at Binance by another one, which is as valid and knows nothing of what the first one took

let market: Market
let manager: Client
let till: string
let front: Server
let isSilent = false
const ROTATED = { API_KEY: 'new-key-of-the-same-account-012345', API_SECRET: 'new-secret-of-the-same-account-012345' }
const OTHER = { API_KEY: 'key-of-another-account-0123456789', API_SECRET: 'secret-of-another-account-0123456789' }

/** New secrets of the account, of which the imitation knows the old ones. Binance signs time, nonce and body. */
function signedAnew(headers: IncomingHttpHeaders, chunks: readonly Buffer[]): IncomingHttpHeaders {
  const { API_KEY: key = '', API_SECRET: secret = '' } = own()
  const [time, nonce] = [headers['binancepay-timestamp'], headers['binancepay-nonce']]
  const signature = createHmac('sha512', secret)
    .update(`${time}\n${nonce}\n${Buffer.concat(chunks)}\n`)
    .digest('hex')
  return { ...headers, 'binancepay-certificate-sn': key, 'binancepay-signature': signature.toUpperCase() }
}

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
      const isRotated = req.headers['binancepay-certificate-sn'] === ROTATED.API_KEY
      const headers = isRotated ? signedAnew(req.headers, chunks) : req.headers
      const out = request({ host, port, path, method: req.method, headers }, (answer) => {
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
  const silent = await save(ROTATED).finally(() => {
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
    ([one]) => one?.status !== 'submitted' || /removed or replaced/.test(one.message ?? ''),
  )
  assert.equal(held?.status, 'submitted')
  assert.match(held?.message ?? '', /waits: .* Save that account again, or settle the refund by hand/)
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
    ([one]) => one?.status !== 'submitted' || /removed or replaced/.test(one.message ?? ''),
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

const marksOf = async (orderId: string): Promise<(string | null)[]> => {
  const rows = sql`select account_mark as mark from payments where order_id = ${orderId} order by number`
  return (await market.host.db.many<{ mark: string | null }>(rows)).map(({ mark }) => mark)
}
const savedMark = async (): Promise<string | null | undefined> =>
  (await market.host.db.maybe<{ mark: string | null }>(sql`select account_mark as mark from channel_accounts`))?.mark
const acceptAgain = (code: string) =>
  manager.post<MarketInstructions>(`confirm_conversion/accept/${code}`, { paymentChannel: 'binance' })

test('an exchange by force: payers choose again, and what was paid at the account before counts once that is back', async () => {
  assert.equal((await save(own())).status, 200)
  const { order, reference } = await place()
  const told = await save(OTHER)
  assert.match(told.error?.message ?? '', /send force=true: then the payers choose again how to pay/)
  assert.equal((await save(OTHER, true)).status, 200)
  assert.notDeepEqual(await marksOf(order._id), [await savedMark()])
  const page = await (await fetch(`${market.host.config.payUrl}/pay?code=${order.code}`)).text()
  assert.equal(page.includes('Waiting for your payment'), false, 'it leads to an account that nobody reads')
  assert.equal((await acceptAgain(order.code)).text.includes(reference), false)
  // who had the other page open pays there
  await market.act(reference, 'pay')
  assert.equal((await save(own(), true)).status, 200)
  assert.equal((await marksOf(order._id))[0], await savedMark(), 'the same account again')
  await market.host.db.run(sql`update payments set next_check_at = now(), checks = 0 where order_id = ${order._id}`)
  await market.reaches(order.code, 'PAID')
})

test('new secrets of the same account need no force, and keep its payments', async () => {
  assert.equal((await save(own(), true)).status, 200)
  const mark = await savedMark()
  const { order } = await place()
  assert.equal((await save(ROTATED)).status, 200)
  assert.deepEqual([await savedMark(), await marksOf(order._id)], [mark, [mark]])
  assert.equal((await save(own())).status, 200)
  assert.equal(await savedMark(), mark)
})

const marksSaved = async (): Promise<string[]> =>
  (await market.host.db.one<{ marks: string[] }>(sql`select account_marks as marks from channel_accounts`)).marks

test('an account that is put back while Binance is silent needs force, and has its payments once it is saved again', async () => {
  assert.equal((await save(own(), true)).status, 200)
  const { order, reference } = await place()
  assert.equal((await manager.call('DELETE', 'channel-accounts/binance?force=true')).status, 200)
  isSilent = true
  try {
    const back = await save(own())
    assert.deepEqual([back.status, back.error?.code], [409, 'ACCOUNT_IN_USE'], back.text)
    assert.match(back.error.message, /until you save it again and the provider answers/)
    assert.equal((await save(own(), true)).status, 200)
  } finally {
    isSilent = false
  }
  await market.act(reference, 'pay')
  assert.equal((await marksSaved()).includes((await marksOf(order._id))[0] ?? ''), false)
  assert.equal((await save(own())).status, 200)
  assert.equal((await marksSaved()).includes((await marksOf(order._id))[0] ?? ''), true)
  await market.reaches(order.code, 'PAID')
})

test('secrets that Binance refuses are saved by force only, also where an account is put back', async () => {
  assert.equal((await save(own(), true)).status, 200)
  const { order, reference } = await place()
  const mistyped = { ...own(), API_SECRET: 'a-secret-with-a-typing-error-0123456789' }
  const isRefused = async (): Promise<void> => {
    const refused = await save(mistyped)
    assert.deepEqual([refused.status, refused.error?.code], [409, 'ACCOUNT_IN_USE'], refused.text)
    assert.match(refused.error.message, /^The provider refuses these credentials/)
  }
  const before = await marksSaved()
  await isRefused()
  assert.deepEqual(await marksSaved(), before, 'nothing was saved')
  assert.equal((await manager.call('DELETE', 'channel-accounts/binance?force=true')).status, 200)
  await isRefused()
  assert.equal((await save(own())).status, 200)
  assert.ok((await marksSaved()).includes((await marksOf(order._id))[0] ?? ''), 'it has its payments again')
  await market.act(reference, 'pay')
  await market.reaches(order.code, 'PAID')
})

test('payments of before accounts had marks are of the one that is left by force', async () => {
  assert.equal((await save(own(), true)).status, 200)
  const { order } = await place()
  const { db } = market.host
  await db.run(sql`update payments set account_mark = null`)
  await db.run(sql`update channel_accounts set account_mark = null`)
  assert.equal((await save(OTHER, true)).status, 200)
  const [mark] = await marksOf(order._id)
  assert.ok(mark)
  const older = sql`select count(*) as older from payments where account_mark is null`
  assert.ok((await db.one<{ older: bigint }>(older)).older > 0n, 'those from before it was saved are anybody’s')
  assert.notEqual(await savedMark(), mark)
  assert.equal((await save(own(), true)).status, 200)
  assert.equal(await savedMark(), mark)
})

for (const lost of [false, true])
  test(`a person ends a refund whose account is gone for good, as its words say (its answer was lost: ${lost})`, async () => {
    assert.equal((await save(own(), true)).status, 200)
    const { order } = await startTaken()
    const ours = sql`order_id = ${order._id} and status = 'submitted' and lease_until is null`
    if (lost)
      await eventually(
        () => market.host.db.run(sql`update refunds set provider_reference = null where ${ours}`),
        (changed) => changed === 1,
      )
    assert.equal((await save(OTHER, true)).status, 200)
    await pollNow()
    const [held] = await eventually(
      () => refundsOf(order.code),
      ([one]) => /settle the refund by hand/.test(one?.message ?? ''),
    )
    const boss = await logInSuperAdmin(market.host)
    const statement = 'sent from our bank account'
    const settle = (reference: string) => boss.post(`refunds/${held?._id}/settle`, { reference, statement })
    const { reference } = await market.host.db.one<{ reference: string | null }>(
      sql`select provider_reference as reference from refunds where order_id = ${order._id}`,
    )
    if (reference !== null) assert.match((await settle('TX-12345678')).error.message, /has taken this refund as/)
    assert.equal((await settle(reference ?? 'TX-12345678')).status, 200)
    assert.equal((await refundsOf(order.code))[0]?.status, 'settled')
  })
