import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { after, afterEach, before, test } from 'node:test'
import { promisify } from 'node:util'
import { HDKey } from '@scure/bip32'
import { ConfigError, loadConfig } from '../src/config/config.ts'
import { sql } from '../src/db/db.ts'
import { findChainCursor, updateChainCursor } from '../src/payments/payment-queries.ts'
import { logIn, registerManager } from './harness/accounts.ts'
import { bareEnv, NO_DATA_DIR } from './harness/bare-env.ts'
import { MAIN } from './harness/programs.ts'
import { newAddress } from './harness/refunds.ts'
import { type RpcProxy, startRpcProxy } from './harness/rpc-proxy.ts'
import { eventually, TEST_MASTER_KEY } from './harness/service.ts'
import {
  type Instructions,
  type OrderData,
  type OrderStory,
  openShop,
  type Payable,
  type Shop,
  TEST_XPUB,
} from './harness/shop.ts'

/** What a node behind the whole service can do to money: it lies, lags, is empty, is another chain, answers 503. */

let shop: Shop
let proxy: RpcProxy

before(async () => {
  shop = await openShop({
    env: async (chain) => {
      proxy = await startRpcProxy(chain.rpcUrl)
      return { CHAIN_31337_RPC_URL: proxy.url }
    },
  })
})
after(async () => {
  await shop?.stop()
  await proxy?.stop()
})
afterEach(() => proxy.heal())

type Verdict = { found: boolean; counted: boolean; reason: string }
const nameTransaction = (code: string, txHash: string, body: object = {}) =>
  shop.host.call<Verdict>('POST', `transaction/${code}`, { as: shop.merchant, body: { txHash, ...body } })

const status = async (code: string): Promise<string> =>
  (await shop.host.call<{ status: string }>('GET', `status/${code}`)).data.status
const triggersOf = ({ history }: OrderStory): string[] => history.map(({ trigger }) => trigger)
const triggers = async ({ orderId }: Payable): Promise<string[]> => triggersOf(await shop.story(orderId))

/** Waits until the scanner stands at the chain's newest block. */
const isRead = () =>
  eventually(
    () => shop.host.db.one<{ number: bigint }>(sql`select number from chain_heads where chain_id = 31337`),
    ({ number }) => number === latest,
  )
let latest = 0n
async function readUp(): Promise<void> {
  latest = await shop.chain.blockNumber()
  await isRead()
}

/** The order's time is over so many seconds ago. */
const endTime = ({ orderId }: Payable, secondsAgo: number): Promise<number> =>
  shop.host.db.run(sql`
    update orders set expires_at = now() - make_interval(secs => ${secondsAgo}) where id = ${orderId}`)

/** A transfer that the scanner read past, because the node hid it from every kind of question. */
async function payHidden({ toAddress, units }: Payable): Promise<string> {
  const bloom = `0x${'0'.repeat(512)}`
  proxy.faults.alter = ({ method }, result) => {
    if (method === 'eth_getLogs') return []
    return method.startsWith('eth_getBlockBy') && result ? { ...(result as object), logsBloom: bloom } : result
  }
  const txHash = await shop.chain.pay({ to: toAddress, units })
  await shop.makeFinal()
  await readUp()
  return txHash
}

/** From now on the node shows it to who asks again. */
async function payUnseen(payable: Payable): Promise<string> {
  const txHash = await payHidden(payable)
  proxy.heal()
  return txHash
}

test('with the node down no order expires, and a payment made in time is in time when it is read an hour later', async () => {
  const [paid, unpaid] = [await shop.createAwaiting(), await shop.createAwaiting()]
  await readUp()
  proxy.faults.status = 503
  await shop.chain.pay({ to: paid.toAddress, units: paid.units })
  await endTime(paid, -1)
  await endTime(unpaid, -1)
  await new Promise((resolve) => setTimeout(resolve, 3500))
  assert.deepEqual([await status(paid.code), await status(unpaid.code)], ['AWAITING', 'AWAITING'])
  // nobody accepts anything late here: in time is judged by the block
  await shop.host.db.run(sql`update companies set late_accept_hours = 0 where id = ${shop.merchant.companyId}`)
  proxy.heal()
  await shop.makeFinal()
  await shop.reaches(paid.code, 'PAID')
  await shop.reaches(unpaid.code, 'EXPIRED')
  assert.deepEqual(await triggers(unpaid), ['create', 'accept', 'forward', 'expire'])
  await shop.host.db.run(sql`update companies set late_accept_hours = 24 where id = ${shop.merchant.companyId}`)
})

test('a payment in a block after the order’s time is late, also when no job has ended the order yet', async () => {
  await shop.host.db.run(sql`update companies set late_accept_hours = 0 where id = ${shop.merchant.companyId}`)
  const order = await shop.createAwaiting()
  await readUp()
  await endTime(order, 2)
  await shop.chain.pay({ to: order.toAddress, units: order.units })
  await shop.makeFinal()
  const story = await eventually(
    () => shop.story(order.orderId),
    (seen) => seen.mispayments.length > 0 && seen.status === 'EXPIRED',
  )
  assert.deepEqual(triggersOf(story), ['create', 'accept', 'forward', 'expire'])
  assert.deepEqual(
    story.mispayments.map(({ kind, units }) => `${kind} ${units}`),
    [`late ${order.units}`],
  )
  await shop.host.db.run(sql`update companies set late_accept_hours = 24 where id = ${shop.merchant.companyId}`)
})

test('an order is compared with the chain before it expires: money that the node hid pays it', async () => {
  const order = await shop.createAwaiting()
  await payUnseen(order)
  assert.equal(await status(order.code), 'AWAITING')
  await endTime(order, 0)
  // blocks count whole seconds
  await new Promise((resolve) => setTimeout(resolve, 1100))
  await shop.chain.mine()
  await shop.reaches(order.code, 'PAID')
})

test('at an address that orders share, money of which its payment was not told pays it before it ends, or when it is named', async () => {
  const person = await registerManager(shop.host.baseUrl)
  const manager = await logIn(shop.host.baseUrl, person.email)
  const { data: tills } = await manager.get<{ collectors: { identifier: string }[] }>('collectors/list')
  const settings = { MODE: 'static', ADDRESSES: newAddress() }
  assert.equal((await manager.call('PUT', 'channel-accounts/crypto', { settings })).status, 200)
  const body = { amount: 50, fromAsset: 'EUR', merchantIdentifier: tills.collectors[0]?.identifier ?? '' }
  const place = async (): Promise<Payable> => {
    const { order } = (await manager.post<{ order: OrderData }>('confirm_conversion/request', body)).data
    const path = `confirm_conversion/accept/${order.code}`
    const { data, text } = await manager.post<Instructions>(path, { paymentChannel: 'crypto' })
    assert.equal(data?.status, 'AWAITING', text)
    const { toAddress, tokenAmount } = data
    return { code: order.code, orderId: order._id, toAddress, units: BigInt(tokenAmount.replace('.', '')) }
  }
  const [unpaid, paid, other] = [await place(), await place(), await place()]
  // what is seen is recorded, and passed to no payment
  const { db } = shop.host
  const told = await findChainCursor(db, 31337)
  await updateChainCursor(db, 31337, 10n ** 15n)
  await shop.chain.pay({ to: paid.toAddress, units: paid.units })
  const txHash = await shop.chain.pay({ to: other.toAddress, units: other.units })
  await shop.makeFinal()
  await readUp()
  assert.deepEqual([await status(paid.code), await status(other.code)], ['AWAITING', 'AWAITING'])
  // its payer has a wrong code open
  const named = await manager.post<Verdict>(`confirm_conversion/transaction/${unpaid.code}`, { txHash })
  assert.deepEqual([named.data.found, named.data.counted], [true, false], named.text)
  await shop.reaches(other.code, 'PAID')
  await endTime(unpaid, 0)
  await endTime(paid, 0)
  await new Promise((resolve) => setTimeout(resolve, 1100))
  await shop.chain.mine()
  await shop.reaches(paid.code, 'PAID')
  await shop.reaches(unpaid.code, 'EXPIRED')
  assert.equal((await triggers(paid)).includes('expire'), false)
  await db.run(sql`update payment_chain_cursors set after_change = ${told}`)
})

test('a log that a node says twice is one transfer; two logs in one place are none, and nothing is recorded', async () => {
  const half = await shop.createAwaiting()
  const [units] = [half.units / 2n]
  proxy.faults.alter = ({ method }, result) =>
    method === 'eth_getLogs' && Array.isArray(result) ? [...result, ...result] : result
  await shop.chain.pay({ to: half.toAddress, units })
  await shop.makeFinal()
  await readUp()
  const seen = () =>
    shop.host.db.many<{ units: string }>(sql`
    select units::text from chain_transfers where to_address = ${half.toAddress.toLowerCase()}`)
  assert.deepEqual(await seen(), [{ units: String(units) }])
  assert.notEqual(await status(half.code), 'PAID')
  const more = { data: `0x${(units * 3n).toString(16).padStart(64, '0')}` }
  proxy.faults.alter = ({ method }, result) =>
    method === 'eth_getLogs' && Array.isArray(result) ? result.flatMap((log) => [log, { ...log, ...more }]) : result
  await shop.chain.pay({ to: half.toAddress, units })
  await shop.chain.mine(1)
  await new Promise((resolve) => setTimeout(resolve, 500))
  assert.equal((await seen()).length, 1)
  proxy.heal()
  await shop.makeFinal()
  await shop.reaches(half.code, 'PAID')
  assert.deepEqual(await seen(), [{ units: String(units) }, { units: String(units) }])
})

test('the end of a payment is audited: a second transfer that the node hid is found', async () => {
  const order = await shop.createAwaiting()
  await payUnseen({ ...order, units: 5n })
  await shop.chain.pay({ to: order.toAddress, units: order.units })
  await shop.makeFinal()
  await shop.reaches(order.code, 'PAID')
  const story = await eventually(
    () => shop.story(order.orderId),
    ({ mispayments }) => mispayments.some(({ kind }) => kind === 'over'),
  )
  assert.deepEqual(
    story.mispayments.map(({ kind, units }) => `${kind} ${units}`),
    ['over 5'],
  )
})

test('mistakes that a node will not show are looked for again, for a day, while other payments end', async () => {
  const fake = await shop.chain.deployOtherToken()
  const cancelled = async (): Promise<Payable> => {
    const order = await shop.createAwaiting()
    await shop.chain.pay({ to: order.toAddress, units: 3n, token: fake })
    await shop.makeFinal()
    await shop.host.call('POST', `cancel/${order.code}`, { as: shop.merchant })
    return order
  }
  const auditOf = ({ orderId }: Payable) =>
    shop.host.db.one<{ isAudited: boolean; isPostponed: boolean }>(sql`
      select audited_at is not null as is_audited, audit_due_at > closed_at as is_postponed from payments
      where order_id = ${orderId}`)
  const isAudited = (one: { isAudited: boolean }): boolean => one.isAudited
  proxy.faults.wantsContract = true
  const [order, old] = [await cancelled(), await cancelled()]
  await eventually(async () => {
    // a round that is under way may put it off once more
    await shop.host.db.run(sql`
      update payments set closed_at = now() - interval '25 hours', audit_due_at = null where order_id = ${old.orderId}`)
    return auditOf(old)
  }, isAudited)
  await eventually(
    () => auditOf(order),
    ({ isPostponed }) => isPostponed,
  )
  assert.deepEqual(await auditOf(order), { isAudited: false, isPostponed: true })
  assert.deepEqual((await shop.story(order.orderId)).mispayments, [])
  proxy.heal()
  const { mispayments } = await eventually(
    () => shop.story(order.orderId),
    ({ mispayments }) => mispayments.length > 0,
    20_000,
  )
  assert.deepEqual(
    mispayments.map(({ kind, units }) => ({ kind, units })),
    [{ kind: 'wrong_token', units: '3' }],
  )
  await eventually(() => auditOf(order), isAudited)
})

test('a balance that is less than what was recorded is a difference with an alarm, until what left explains it', async () => {
  const order = await shop.createAwaiting()
  await shop.chain.pay({ to: order.toAddress, units: order.units })
  const phantom = `0x${'d'.repeat(64)}`
  await shop.makeFinal()
  await readUp()
  await shop.host.db.run(sql`
    insert into chain_transfers (id, chain_id, tx_hash, nth, log_index, block_number, block_hash, block_at, token, symbol,
      from_address, to_address, units, status, change)
    select 'f' || substr(id, 2), chain_id, ${phantom}, 0, 9, block_number, block_hash, block_at, token, symbol,
      from_address, to_address, 7, 'seen', nextval('chain_changes')
    from chain_transfers where to_address = lower(${order.toAddress})`)
  const difference = () =>
    shop.host.db.maybe<{ balanceUnits: string; recordedUnits: string; open: boolean }>(sql`
      select balance_units::text, recorded_units::text, closed_at is null as open from deposit_differences
      where address = lower(${order.toAddress})`)
  await shop.reaches(order.code, 'PAID')
  const found = await eventually(difference, (row) => row !== undefined)
  assert.deepEqual(found, { balanceUnits: `${order.units}`, recordedUnits: `${order.units + 7n}`, open: true })
  assert.ok(shop.host.logLines.some((line) => line.includes('ALARM: a deposit balance')))
  await shop.host.db.run(sql`delete from chain_transfers where tx_hash = ${phantom}`)
  await eventually(
    async () => {
      // a round that is under way may still say that it was compared
      await shop.host.db.run(sql`update payments set audited_at = null where order_id = ${order.orderId}`)
      return difference()
    },
    (row) => row?.open === false,
  )
})

test('rescan finds what was missed and counts it by the same path, beside the running service', async () => {
  const order = await shop.createAwaiting()
  // from the service, which would ask again before a slow process has started; the command asks the chain itself
  await payHidden(order)
  const env = {
    ...{ ...bareEnv(), DATABASE_URL: shop.host.db.connectionString, DATA_DIR: NO_DATA_DIR },
    ...{ CHAIN_31337_RPC_URL: shop.chain.rpcUrl, CHAIN_31337_USDC: shop.chain.usdcAddress },
    ...{ CHAIN_31337_XPUB: TEST_XPUB, MASTER_KEY: TEST_MASTER_KEY.toString('base64') },
  }
  const run = (...args: string[]) => promisify(execFile)(process.execPath, [MAIN, 'rescan', ...args], { env })
  const { stdout } = await run('--chain', '31337', '--from', '0', '--json')
  const { chainId, missed } = JSON.parse(stdout) as { chainId: number; missed: number }
  assert.deepEqual([chainId, missed], [31337, 1])
  proxy.heal()
  await shop.reaches(order.code, 'PAID')
  const again = await run('--chain', '31337', '--from', '0')
  assert.match(again.stdout, /, 0 missed transfers recorded, 0 balances differ/)
  await assert.rejects(run('--chain', '31337'), { code: 2 })
  await assert.rejects(run('--chain', '5', '--from', '0'), { code: 2 })
})

test('a transaction that is named counts what the scanner would count, once, and says why when it does not', async () => {
  const order = await shop.createAwaiting()
  const txHash = await payUnseen(order)
  const named = await nameTransaction(order.code, txHash.toUpperCase().replace('0X', '0x'))
  assert.equal(named.status, 200, named.text)
  assert.deepEqual([named.data.found, named.data.counted], [true, true])
  await shop.reaches(order.code, 'PAID')
  const again = await nameTransaction(order.code, txHash, { network: 31337 })
  assert.deepEqual(again.data, { found: true, counted: true, reason: 'It is recorded for this order.' })
  const story = await shop.story(order.orderId)
  assert.deepEqual([story.paidUnits, story.mispayments], [`${order.units}`, []])

  const other = await shop.createAwaiting()
  const elsewhere = await nameTransaction(other.code, txHash)
  assert.deepEqual([elsewhere.data.found, elsewhere.data.counted], [true, false])
  assert.match(elsewhere.data.reason, /pays nothing to this order/)
  const unknown = await nameTransaction(other.code, `0x${'7'.repeat(64)}`)
  assert.deepEqual([unknown.data.found, unknown.data.counted], [false, false])
  const waiting = await shop.chain.send({ to: other.toAddress, units: other.units })
  const early = await nameTransaction(other.code, waiting)
  assert.deepEqual([early.data.found, early.data.counted], [true, false])
  await shop.chain.mine()
  await readUp()
  const first = await nameTransaction(other.code, waiting)
  assert.deepEqual(first.data, {
    found: true,
    counted: true,
    reason: 'It is recorded for this order and has 1 of 3 confirmations.',
  })
  assert.equal((await shop.story(other.orderId)).paidUnits, '0', 'not final yet')
  const broken = await nameTransaction(other.code, '0x12')
  assert.deepEqual([broken.status, broken.error.details?.[0]?.path], [422, 'txHash'])
  proxy.faults.status = 503
  const silent = await nameTransaction(other.code, `0x${'8'.repeat(64)}`)
  assert.deepEqual([silent.status, silent.error.code], [502, 'CHANNEL_UNAVAILABLE'])
})

test('the payer names the transaction on the page, without a script', async () => {
  const order = await shop.createAwaiting()
  const txHash = await payUnseen(order)
  const page = await (await fetch(`${shop.host.baseUrl}/pay?code=${order.code}`)).text()
  assert.match(page, /action="\/pay\/transaction"/)
  const token = /name="token" value="([^"]+)"/.exec(page)?.[1] ?? ''
  const send = (hash: string) =>
    fetch(`${shop.host.baseUrl}/pay/transaction`, {
      method: 'POST',
      redirect: 'manual',
      headers: { 'content-type': 'application/x-www-form-urlencoded', origin: shop.host.baseUrl },
      body: new URLSearchParams({ code: order.code, token, reference: hash }),
    })
  const problemOf = async (hash: string): Promise<string> => {
    const answer = await send(hash)
    assert.equal(answer.status, 303)
    const shown = await fetch(new URL(answer.headers.get('location') ?? '', shop.host.baseUrl))
    return (await shown.text()).split('id="problem"')[1] ?? ''
  }
  assert.match(await problemOf('0x12'), /^[^<]*copy it whole/)
  assert.match(await problemOf(`0x${'6'.repeat(64)}`), /^[^<]*knows this transaction yet/)
  assert.equal((await send(txHash)).status, 303)
  await shop.reaches(order.code, 'PAID')
})

test('metrics and readyz tell of head, lag and errors, with the endpoint’s number and never its address', async () => {
  proxy.faults.status = 503
  await new Promise((resolve) => setTimeout(resolve, 1500))
  const metrics = await (await fetch(`${shop.host.baseUrl}/metrics`)).text()
  assert.match(metrics, new RegExp(`comptoir_chain_head\\{chain="31337"\\} ${latest}`))
  assert.match(metrics, /comptoir_chain_lag_seconds\{chain="31337"\} \d/)
  assert.match(metrics, /comptoir_rpc_errors_total\{chain="31337",endpoint="1"\} [1-9]/)
  // with its colon: the digits alone may be those of some figure
  assert.ok(!metrics.includes(`:${new URL(proxy.url).port}`))
  const ready = await (await fetch(`${shop.host.baseUrl}/readyz`)).json()
  assert.deepEqual(ready, {
    success: true,
    status: 200,
    data: {
      ready: true,
      checks: [
        { name: 'database', ok: true },
        { name: 'schema', ok: true },
        { name: 'chain 31337', ok: true },
      ],
    },
  })
})

test('crypto is hidden while the chain has no new block, and offered again with the next one', async () => {
  await readUp()
  const setLag = (seconds: number) =>
    shop.host.db.run(sql`update chain_heads set advanced_at = now() - make_interval(secs => ${seconds})`)
  const offer = async () => {
    const { data } = await shop.host.call<{ paymentChannel: string; available: boolean; networks: number[] }[]>(
      'GET',
      '/api/next/channels',
      { as: shop.merchant },
    )
    return data.find(({ paymentChannel }) => paymentChannel === 'crypto')
  }
  const waiting = await shop.createAwaiting()
  await setLag(86_390)
  await new Promise((resolve) => setTimeout(resolve, 1100))
  assert.equal((await offer())?.available, true)
  await setLag(86_401)
  const hidden = await eventually(offer, (one) => one?.available === false)
  assert.deepEqual(hidden?.networks, [])
  const { code } = await shop.create()
  const refused = await shop.accept(code)
  assert.deepEqual([refused.status, refused.error.code, await status(code)], [502, 'CHANNEL_UNAVAILABLE', 'INITIAL'])
  const same = await shop.accept(waiting.code)
  assert.equal(same.data.toAddress, waiting.toAddress, 'who was given an address keeps it')
  const ready = (await (await fetch(`${shop.host.baseUrl}/readyz`)).json()) as { data: { checks: unknown[] } }
  assert.deepEqual(ready.data.checks.at(-1), { name: 'chain 31337', ok: false })
  await shop.chain.mine()
  await eventually(offer, (one) => one?.available === true)
})

test('a private, broken or missing xpub stops the start with a line that does not show it', () => {
  const wallet = HDKey.fromMasterSeed(Buffer.alloc(32, 9)).derive("m/44'/60'/0'")
  const faultsOf = (xpub: string | undefined): string[] => {
    const env = {
      CHAIN_8453_RPC_URL: 'http://127.0.0.1:9/secret',
      ...(xpub === undefined ? {} : { CHAIN_8453_XPUB: xpub }),
    }
    try {
      loadConfig(env)
      return []
    } catch (error) {
      assert.ok(error instanceof ConfigError)
      return error.faults
    }
  }
  const secrets = [wallet.privateExtendedKey, Buffer.from(wallet.privateKey ?? []).toString('hex')]
  for (const secret of secrets) {
    const [line = ''] = faultsOf(secret)
    assert.match(line, /^CHAIN_8453_XPUB: This is a PRIVATE key/)
    assert.ok(!line.includes(secret.slice(4, 20)))
  }
  const broken = `${wallet.publicExtendedKey.slice(0, -1)}${wallet.publicExtendedKey.endsWith('a') ? 'b' : 'a'}`
  assert.match(faultsOf(broken).join(), /^CHAIN_8453_XPUB: The checksum of this xpub is wrong/)
  assert.match(faultsOf(undefined).join(), /^CHAIN_8453_XPUB: missing/)
  assert.deepEqual(faultsOf(wallet.publicExtendedKey), [])
})
