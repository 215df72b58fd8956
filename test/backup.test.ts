import assert from 'node:assert/strict'
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Providers, startProviders } from '../sandbox/providers/server.ts'
import { startTestChain, type TestChain } from './harness/chain.ts'
import { putCluster } from './harness/cluster.ts'
import { freePort } from './harness/free-port.ts'
import { type Ended, insertMerchantAt, newFolder, openOperator, runOperator } from './harness/installation.ts'
import { type Receiver, startReceiver } from './harness/receiver.ts'
import { newAddress, payoutEnv, type RefundData } from './harness/refunds.ts'
import { S3_SECRET, type S3StandIn, s3Env, startS3Store } from './harness/s3-store.ts'
import { type Served, startServed } from './harness/served.ts'
import { type Answer, callService, eventually, type Merchant, TEST_MASTER_KEY } from './harness/service.ts'
import { chainEnv, FINAL_AFTER, type Instructions, type OrderData } from './harness/shop.ts'

type Sale = { code: string; orderId: string; toAddress: string; units: bigint; refundTo: string }
type Report = {
  chains: {
    skippedDeposits: { units: string; address: string }[]
    unknownPayouts: { units: string; address: string }[]
  }[]
  faults: string[]
  released: boolean
  ledger: string
}

/** What a sandbox of its own keeps besides its database; this one's chain and providers run in the test. */
const SANDBOX_FILES = ['chain.json', 'providers.json', 'screening.json']

const places = newFolder()
const operator = openOperator()
const [before_, after_, backups] = ['old', 'new', 'backups'].map((name) => join(places.path, name)) as [
  string,
  string,
  string,
]
let chain: TestChain
let receiver: Receiver
let store: S3StandIn
let providers: Providers
let served: Served
let merchant: Merchant
let env: Record<string, string>
let baseUrl: string

before(async () => {
  const port = await freePort()
  ;[chain, receiver, store] = await Promise.all([startTestChain(), startReceiver(), startS3Store()])
  baseUrl = `http://127.0.0.1:${port}`
  const { chainId, usdcAddress, payer: payerAddress } = chain
  const wallet = { chainId, usdcAddress, payerAddress, pay: () => Promise.reject(new Error('no wallet here')) }
  providers = await startProviders({ port: 0, chain: wallet, callbackBase: baseUrl })
  env = {
    SANDBOX_PROVIDERS_URL: providers.url,
    ...s3Env(store),
    ...{ ...chainEnv(chain), ...(await payoutEnv(chain)) },
    ...{ PORT: String(port), BASE_URL: baseUrl, MASTER_KEY: TEST_MASTER_KEY.toString('base64') },
    ...{ LIMIT_COMPANY_PER_MINUTE: '0', LIMIT_PUBLIC_PER_MINUTE: '0', ORDER_CHAIN_EXPIRY_MINUTES: '60' },
  }
  putCluster(before_)
  for (const name of SANDBOX_FILES) writeFileSync(join(before_, name), `${name} of the old place`)
  served = startServed({ ...env, DATA_DIR: before_ })
  await served.ready()
  merchant = await insertMerchantAt(before_)
})
after(async () => {
  await served?.end()
  await Promise.all([operator.close(), chain?.stop(), receiver?.close(), store?.close(), providers?.stop()])
  places.remove()
})

const call = <Data>(path: string, body?: object): Promise<Answer<Data>> =>
  callService<Data>(baseUrl, body ? 'POST' : 'GET', path, { as: merchant, ...(body && { body }) })

const create = async (): Promise<OrderData> => {
  const { merchantIdentifier } = merchant
  const body = { amount: 50, fromAsset: 'EUR', merchantIdentifier, webhookUrl: `${receiver.url}/hook` }
  const answer = await call<{ order: OrderData }>('request', body)
  assert.equal(answer.status, 200, answer.text)
  return answer.data.order
}

async function sell(): Promise<Sale> {
  const { code, _id: orderId } = await create()
  const refundTo = newAddress()
  const accepted = await call<Instructions>(`accept/${code}`, { paymentChannel: 'crypto', userAddress: refundTo })
  assert.equal(accepted.status, 200, accepted.text)
  const { toAddress, tokenAmount } = accepted.data
  return { code, orderId, toAddress, refundTo, units: BigInt(tokenAmount.replace('.', '')) }
}

const statusOf = async (code: string): Promise<string | undefined> =>
  (await call<OrderData>(`status/${code}`).catch(() => undefined))?.data?.status

/** Blocks are mined while it is waited for. */
const reaches = (code: string, status: string): Promise<unknown> =>
  eventually(
    async () => {
      await chain.mine()
      return statusOf(code)
    },
    (seen) => seen === status,
    30_000,
  )

async function pay(sale: Sale): Promise<void> {
  await chain.pay({ to: sale.toAddress, units: sale.units })
  await chain.mine(FINAL_AFTER)
}

const refundOf = async ({ orderId }: Sale): Promise<RefundData | undefined> => {
  const { data } = await call<{ refunds: RefundData[] }>('/api/next/refunds?limit=100')
  return data.refunds.find((refund) => refund.orderId === orderId)
}

const webhookIds = (code: string, event: string): Set<string | undefined> =>
  new Set(
    receiver.received
      .filter(({ body, headers }) => body.includes(code) && headers['service-event'] === event)
      .map(({ headers }) => headers['service-webhook-id']),
  )

type Made = { code: string; atMs: number }[]

/** An order that its provider has called paid. */
async function sellAtProvider(): Promise<string> {
  const { code } = await create()
  const accepted = await call<{ providerReference: string }>(`accept/${code}`, { paymentChannel: 'gatepay' })
  assert.equal(accepted.status, 200, accepted.text)
  await fetch(`${providers.url}/payments/${accepted.data.providerReference}/pay`, { method: 'POST' })
  await reaches(code, 'PAID')
  return code
}

/** Between two orders of a shop: more would only take time from the backup. */
const ORDER_GAP_MS = 40

/** Shops that order all the time. `made`: when each order was acknowledged */
function startLoad(): { made: Made; stop(): Promise<Made> } {
  const made: Made = []
  let going = true
  const shops = Array.from({ length: 6 }, async () => {
    while (going) {
      const { code } = await create()
      made.push({ code, atMs: Date.now() })
      await sleep(ORDER_GAP_MS)
    }
  })
  return {
    made,
    async stop() {
      going = false
      await Promise.all(shops)
      return made
    },
  }
}

const BUCKET = 's3://backups/shop'

type Run = (args: string[], settings: Record<string, string>) => Promise<Ended>

/** By one process, after the commands before it. `runOperator`: as it is typed, a process of its own. */
const run: Run = (args, settings) => operator.run(args, settings, places.path)

const restore = (from: string, to: string, { key = TEST_MASTER_KEY, by = run } = {}) =>
  by(['restore', '--from', from, '--data-dir', to], { ...s3Env(store), MASTER_KEY: key.toString('base64') })

const reconcile = async (by = run): Promise<{ code: number | null; report: Report }> => {
  // a sandbox's chain and providers are in no environment: the service that runs has recorded where they are
  const own = Object.entries(env).filter(([name]) => !/^(CHAIN_31337|SANDBOX_PROVIDERS)_/.test(name))
  const operatorEnv = { ...Object.fromEntries(own), DATA_DIR: after_ }
  const mining = setInterval(() => void chain.mine().catch(() => {}), 300)
  const { code, out, err } = await by(['reconcile', '--json'], operatorEnv)
  clearInterval(mining)
  assert.match(out, /^\{/, err)
  return { code, report: JSON.parse(out) as Report }
}

let old: { paid: Sale; returning: Sale; returned: Sale; open: Sale; lost: Sale }
let acknowledged: string[]

test('a backup under load holds every order that was acknowledged before it began, and tells nothing without the key', async () => {
  await sellAtProvider()
  const [paid, returning, returned, open] = [await sell(), await sell(), await sell(), await sell()]
  for (const sale of [paid, returning, returned]) await pay(sale)
  for (const { code } of [paid, returning, returned]) await reaches(code, 'PAID')
  await eventually(
    async () => webhookIds(paid.code, 'order.paid').size,
    (size) => size === 1,
  )
  // this refund is under way, but in no block yet
  assert.equal((await call(`revert/${returning.code}`, {})).status, 200)
  await eventually(
    () => refundOf(returning),
    (refund) => refund?.status === 'submitted',
  )
  const load = startLoad()
  await eventually(
    async () => load.made.length,
    (orders) => orders > 30,
  )
  const beganMs = Date.now()
  const backup = await runOperator(['backup', '--to', backups, '--json'], { ...env, DATA_DIR: before_ })
  const toBucket = await run(['backup', '--to', BUCKET, '--json'], { ...env, DATA_DIR: before_ })
  await new Promise((resolve) => setTimeout(resolve, 200))
  const made = await load.stop()
  assert.equal(backup.code, 0, backup.err)
  assert.equal(toBucket.code, 0, toBucket.err)
  assert.equal((toBucket.out + toBucket.err).includes(S3_SECRET), false)
  acknowledged = made.filter(({ atMs }) => atMs < beganMs).map(({ code }) => code)
  assert.ok(acknowledged.length > 20 && made.length > acknowledged.length, `${acknowledged.length} of ${made.length}`)
  const { file } = JSON.parse(backup.out) as { file: string }
  assert.equal(statSync(file).mode & 0o777, 0o600)
  const [object = Buffer.alloc(0)] = store.objects.values()
  for (const bytes of [readFileSync(file), object]) {
    assert.ok(bytes.length > 1_000_000)
    for (const secret of [acknowledged[0] ?? '', 'TILL-1', 'chain_payouts']) assert.equal(bytes.includes(secret), false)
  }
  // what happens afterwards is in no backup
  await pay(open)
  await reaches(open.code, 'PAID')
  assert.equal((await call(`revert/${returned.code}`, {})).status, 200)
  await reaches(returned.code, 'FULL_REFUNDED')
  await reaches(returning.code, 'FULL_REFUNDED')
  const lost = await sell()
  await pay(lost)
  await reaches(lost.code, 'PAID')
  await eventually(
    async () => webhookIds(returned.code, 'order.full_refunded').size,
    (size) => size === 1,
  )
  old = { paid, returning, returned, open, lost }
  await served.end('SIGKILL')
})

test('a wrong key, a backup that was cut off and a place in use are refused with words, and no file is left', async () => {
  const [name = ''] = readdirSync(backups)
  const whole = join(backups, name)
  const cut = join(places.path, 'cut.backup')
  copyFileSync(whole, cut)
  truncateSync(cut, Math.floor(statSync(whole).size / 2))
  const older = join(places.path, 'comptoir-20990101T000000Z.backup')
  copyFileSync(whole, older)
  const place = join(places.path, 'refused')
  const [foreign, short, other, taken] = await Promise.all([
    restore(whole, place, { key: Buffer.alloc(32, 9) }),
    restore(cut, join(places.path, 'refused-too')),
    restore(older, join(places.path, 'refused-older')),
    restore(whole, before_),
  ])
  assert.match(foreign.err, /sealed with another master key .* Set MASTER_KEY to the key/)
  assert.match(short.err, /The backup is cut off: its end is missing/)
  assert.match(other.err, /20990101T000000Z\.backup holds the backup of \d{4}-.*Nothing was restored/)
  assert.match(taken.err, /There is a database in .* already\. Nothing was changed/)
  assert.deepEqual(
    [foreign, short, other, taken].map(({ code, out }) => [code, out]),
    Array.from({ length: 4 }, () => [1, '']),
  )
  for (const name of ['refused', 'refused-older']) assert.equal(existsSync(join(places.path, name)), false, name)
  // a sign, and no files: no empty database is begun there
  assert.deepEqual(readdirSync(join(places.path, 'refused-too')), ['postgres.restoring'])
  assert.deepEqual(readdirSync(join(places.path, 'refused-too/postgres.restoring')), [])
})

test('restored from a bucket into a new place nothing acknowledged is missing, and no money leaves before it was reconciled', async () => {
  // DATABASE_URL was used there: to restore is to leave it
  mkdirSync(after_, { mode: 0o700 })
  writeFileSync(join(after_, 'database-elsewhere'), 'the orders are in the database of DATABASE_URL')
  const done = await restore(BUCKET, after_, { by: runOperator })
  assert.equal(done.code, 0, done.err)
  for (const name of SANDBOX_FILES)
    assert.equal(readFileSync(join(after_, name), 'utf8'), `${name} of the old place`, name)
  assert.equal(readdirSync(join(after_, 'postgres')).includes('comptoir.sandbox'), false)
  served = startServed({ ...env, DATA_DIR: after_ })
  await served.ready()
  const missing: string[] = []
  for (const code of [...acknowledged, old.paid.code]) if ((await statusOf(code)) === undefined) missing.push(code)
  assert.deepEqual(missing, [])
  assert.equal(await statusOf(old.lost.code), undefined)
  const refused = await call(`revert/${old.returned.code}`, {})
  assert.deepEqual([refused.status, refused.error.code], [409, 'BOOKS_DIFFER'])
  assert.match(refused.error.message, /restored from a backup of .*comptoir reconcile/)
})

test('reconcile finds what was paid meanwhile, names money without an order, and lets money go again', async () => {
  const { code, report } = await reconcile(runOperator)
  assert.deepEqual([code, report.faults, report.released, report.ledger], [1, [], true, 'right'])
  const [found] = report.chains
  const lower = (address: string): string => address.toLowerCase()
  assert.deepEqual(
    found?.skippedDeposits.map(({ address, units }) => [address, units]),
    [[lower(old.lost.toAddress), String(old.lost.units)]],
  )
  assert.deepEqual(
    found?.unknownPayouts.map(({ address, units }) => [address, units]),
    [[lower(old.returned.refundTo), String(old.returned.units)]],
  )
  await reaches(old.open.code, 'PAID')
})

test('refunds that left after the backup stay once only, and their webhooks repeat their ids', async () => {
  await reaches(old.returning.code, 'FULL_REFUNDED')
  assert.equal(await chain.balanceOf(old.returning.refundTo), old.returning.units)
  // the shop asks again for the refund that only the chain remembers
  assert.equal((await call(`revert/${old.returned.code}`, {})).status, 200)
  await reaches(old.returned.code, 'FULL_REFUNDED')
  assert.equal(await chain.balanceOf(old.returned.refundTo), old.returned.units)
  const twice = [old.returned.code, old.returning.code]
  for (const code of twice) {
    const times = () =>
      receiver.received.filter(({ body }) => body.includes(code) && body.includes('FULL_REFUNDED')).length
    await eventually(
      async () => times(),
      (count) => count >= 2,
    )
    assert.equal(webhookIds(code, 'order.full_refunded').size, 1)
  }
  await eventually(
    async () => webhookIds(old.open.code, 'order.paid').size,
    (size) => size === 1,
  )
  const { report } = await reconcile()
  assert.deepEqual(report.chains[0]?.unknownPayouts, [])
})

test('a new order never gets an address that an order after the backup may have had', async () => {
  const next = await sell()
  assert.notEqual(next.toAddress, old.lost.toAddress)
  await pay(next)
  await reaches(next.code, 'PAID')
})
