import assert from 'node:assert/strict'
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { after, before, test } from 'node:test'
import { packPlugins } from '../scripts/plugins.ts'
import { waitFor } from './harness/receiver.ts'
import { payoutEnv, refundReaches } from './harness/refunds.ts'
import { type OrderData, openShop, type Shop } from './harness/shop.ts'

/* The shop modules with PHP against a running service; the shop systems are imitated, see plugins/README.md. */

const HARNESSES = join(import.meta.dirname, 'harness/plugins')
const PAYER = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8'
const hasPhp = spawnSync('php', ['--version']).status === 0
if (!hasPhp) console.log('left out, not installed: PHP')

let shop: Shop
let folder: string
let child: ChildProcess
let lines: AsyncIterator<string>
let presta: ChildProcess
let prestaLines: AsyncIterator<string>

before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'comptoir-plugins-'))
  await packPlugins(folder)
  if (!hasPhp) return
  shop = await openShop({ allEvents: true, env: payoutEnv })
  const unpacked = spawnSync('php', [
    '-r',
    `(new PharData('${folder}/comptoir-woocommerce.zip'))->extractTo('${folder}/unpacked');`,
  ])
  assert.equal(unpacked.status, 0, unpacked.stderr.toString())
  const { 'x-api-key': api_key, 'x-api-secret': api_secret } = shop.merchant.headers
  const options = { base_url: shop.host.baseUrl, api_key, api_secret, till: 'TILL-1' }
  child = spawn('php', [join(HARNESSES, 'woocommerce.php')], {
    env: {
      ...process.env,
      PLUGIN: join(folder, 'unpacked/comptoir'),
      WEBHOOK_URL: `${shop.receiver.url}/woocommerce`,
      OPTIONS: JSON.stringify({ ...options, webhook_secret: shop.merchant.webhookSecret }),
    },
  })
  child.stderr?.on('data', (chunk: Buffer) => process.stderr.write(chunk))
  if (child.stdout) lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  const phar = `(new PharData('${folder}/comptoir-prestashop.zip'))->extractTo('${folder}/presta');`
  assert.equal(spawnSync('php', ['-r', phar]).status, 0)
  const settings = {
    ...{ COMPTOIR_BASE_URL: shop.host.baseUrl, COMPTOIR_API_KEY: api_key, COMPTOIR_API_SECRET: api_secret },
    ...{ COMPTOIR_TILL: 'TILL-1', COMPTOIR_WEBHOOK_SECRET: shop.merchant.webhookSecret },
  }
  presta = spawn('php', [join(HARNESSES, 'prestashop.php')], {
    env: {
      ...process.env,
      PLUGIN: join(folder, 'presta/comptoirpay'),
      WEBHOOK_URL: `${shop.receiver.url}/prestashop`,
      SETTINGS: JSON.stringify(settings),
    },
  })
  presta.stderr?.on('data', (chunk: Buffer) => process.stderr.write(chunk))
  if (presta.stdout) prestaLines = createInterface({ input: presta.stdout })[Symbol.asyncIterator]()
})
after(async () => {
  child?.stdin?.end()
  presta?.stdin?.end()
  await shop?.stop()
  rmSync(folder, { recursive: true, force: true })
})

type Known<Data> = { answer: Data; status: string; completed: number; notes: string[] }

async function tell<Data>(command: Record<string, unknown>): Promise<Known<Data>> {
  child.stdin?.write(`${JSON.stringify(command)}\n`)
  const { value } = await lines.next()
  return JSON.parse(value ?? '{}') as Known<Data>
}

test('both zips hold the module, the client and the shared part', async () => {
  for (const name of ['comptoir-woocommerce', 'comptoir-prestashop']) assert.ok(existsSync(join(folder, `${name}.zip`)))
  cpSync(join(folder, 'comptoir-prestashop.zip'), join(folder, 'copy.zip'))
  if (!hasPhp) return
  const unpacked = spawnSync('php', [
    '-r',
    `(new PharData('${folder}/copy.zip'))->extractTo('${folder}/ps');
    foreach (glob('${folder}/ps/comptoirpay/{*,controllers/front/*}.php', GLOB_BRACE) as $file) {
      passthru('php -l ' . escapeshellarg($file), $code); if ($code !== 0) exit(1);
    }`,
  ])
  assert.equal(unpacked.status, 0, unpacked.stdout.toString())
  assert.equal(unpacked.stdout.toString().match(/No syntax errors/g)?.length, 5)
})

const withPhp = hasPhp ? test : () => {}

withPhp('saving the settings says whether they work, and what is wrong', async () => {
  assert.deepEqual((await tell<string[]>({ do: 'test' })).answer, ['ok: Comptoir answers, and the till is there.'])
  const wrong = await tell<string[]>({ do: 'test', options: { till: 'NOPE', webhook_secret: 'x' } })
  assert.match(wrong.answer[0] ?? '', /no active till "NOPE"\. Choose one of: TILL-1/)
  assert.match(wrong.answer[1] ?? '', /begins with whsec_/)
  const stranger = await tell<string[]>({ do: 'test', options: { api_secret: 'sk_wrong' } })
  assert.match(stranger.answer[0] ?? '', /does not accept the API key/)
  const elsewhere = await tell<string[]>({ do: 'test', options: { base_url: shop.receiver.url } })
  assert.deepEqual(elsewhere.answer, ['Something else than Comptoir answers. Check the address.'])
})

withPhp('an order is paid by a real webhook once, a forged one changes nothing, and a part goes back', async () => {
  const started = await tell<{ result: string; redirect: string }>({ do: 'pay' })
  assert.deepEqual([started.answer.result, started.status], ['success', 'on-hold'])
  const code = new URL(started.answer.redirect).searchParams.get('code') ?? ''
  const again = await tell<{ redirect: string }>({ do: 'pay' })
  assert.equal(again.answer.redirect, started.answer.redirect, 'a customer who comes back pays the same order')
  const { data } = await shop.accept(code, { network: shop.chain.chainId })
  await shop.chain.pay({ to: data.toAddress, units: 54_000_000n })
  await shop.makeFinal()
  await shop.reaches(code, 'PAID')
  const hook = await hookOf('order.paid', code, '/woocommerce')
  const forged = await tell({ do: 'webhook', body: hook.body.replace('PAID', 'PAIX'), headers: hook.headers })
  assert.deepEqual([forged.answer, forged.status], ['refused', 'on-hold'])
  const paid = await tell({ do: 'webhook', body: hook.body, headers: hook.headers })
  assert.deepEqual([paid.answer, paid.status], ['paid', 'processing'])
  const twice = await tell({ do: 'webhook', body: hook.body, headers: hook.headers })
  assert.equal(twice.completed, 1, 'the same webhook twice completes the order once')
  const stale = await tell<{ redirect: string }>({ do: 'pay' })
  assert.equal(stale.answer.redirect, 'https://shop.example/thanks/7', 'what is paid is not paid again')
  const refund = await tell<boolean>({ do: 'refund', amount: 20 })
  assert.equal(refund.answer, true)
  await tell({ do: 'refund', amount: 20 })
  const { data: list } = await shop.host.call<{ refunds: { amount: string }[] }>(
    'GET',
    `/api/next/refunds?code=${code}`,
    {
      as: shop.merchant,
    },
  )
  assert.deepEqual(
    list.refunds.map(({ amount }) => amount),
    ['21.600000'],
    'a click that is repeated refunds once',
  )
  const taken = await pay({ order: 7 })
  assert.deepEqual([taken === code, await statusOf(taken)], [false, 'INITIAL'], 'a refunded payment pays nothing')
})

/** The customer pays in the shop. @returns the code of the order that the payment page shows */
async function pay(command: { order: number; shop?: string; set?: Record<string, unknown> }): Promise<string> {
  const { answer } = await tell<{ redirect: string }>({ do: 'pay', ...command })
  return new URL(answer.redirect).searchParams.get('code') ?? ''
}

const statusOf = async (code: string): Promise<string> =>
  (await shop.host.call<{ status: string }>('GET', `status/${code}`)).data.status

const cancel = (code: string) => shop.host.call('POST', `cancel/${code}`, { as: shop.merchant })

withPhp('parts that add up to the price refund all of it, whatever rounding did to each', async () => {
  const code = await pay({ order: 13, set: { total: '3.00' } })
  const { data } = await shop.accept(code, { network: shop.chain.chainId, userAddress: PAYER })
  const { data: order } = await shop.host.call<OrderData>('GET', `status/${code}`, { as: shop.merchant })
  // more by what no part of a cent is worth, as rounding leaves it
  await shop.chain.pay({ to: data.toAddress, units: 3_240_002n })
  await shop.makeFinal()
  await shop.reaches(code, 'PAID')
  assert.equal((await tell<boolean>({ do: 'refund', order: 13, amount: 1 })).answer, true)
  await refundReaches(shop, order._id, 'settled')
  // the second click finds nothing left, and asks for the same refund
  for (const click of [1, 2])
    assert.equal((await tell<boolean>({ do: 'refund', order: 13, amount: 2 })).answer, true, `click ${click}`)
  const amounts = async () => {
    const path = `/api/next/refunds?code=${code}`
    const { data } = await shop.host.call<{ refunds: { amount: string }[] }>('GET', path, { as: shop.merchant })
    return data.refunds.map(({ amount }) => amount)
  }
  assert.deepEqual((await amounts()).sort(), ['1.080000', '2.160002'])
})

withPhp('an order of another shop with the same number is neither taken nor cancelled', async () => {
  const staging = { order: 8, shop: 'https://staging.shop.example' }
  const own = await pay({ order: 8 })
  const copy = await pay(staging)
  assert.notEqual(copy, own)
  const dearer = await pay({ ...staging, set: { total: '60.00' } })
  assert.deepEqual(await Promise.all([own, copy, dearer].map(statusOf)), ['INITIAL', 'CANCELLED', 'INITIAL'])
})

withPhp('a customer who comes back after each cancellation gets an order that can be paid', async () => {
  const codes: string[] = []
  for (let times = 0; times < 3; times += 1) {
    const code = await pay({ order: 9 })
    assert.equal(await statusOf(code), 'INITIAL')
    codes.push(code)
    await cancel(code)
  }
  assert.equal(new Set(codes).size, 3)
})

withPhp('a payment that ends fails the order that waits for it, but not one that is paid another way', async () => {
  const end = async (order: number, set: Record<string, unknown>): Promise<string> => {
    // an older module's reference, without the shop
    const webhookUrl = `${shop.receiver.url}/woocommerce`
    const { code } = await shop.create({ alias: `WC-${order}`, webhookUrl })
    await cancel(code)
    const hook = await hookOf('order.cancelled', code, '/woocommerce')
    return (await tell({ do: 'webhook', order, ...hook, set: { meta: { _comptoir_code: code }, ...set } })).status
  }
  assert.equal(await end(10, { status: 'on-hold' }), 'failed')
  assert.equal(await end(11, { status: 'on-hold', method: 'bacs' }), 'on-hold')
  assert.equal(await end(12, { status: 'cancelled' }), 'cancelled')
})

withPhp('a part of the price is the same part of the USDC, exact and rounded down', async () => {
  const part = async (...of: string[]): Promise<string> => (await tell<string>({ do: 'part', of })).answer
  assert.equal(await part('54.000000', '50.00', '50.00'), '54.000000')
  assert.equal(await part('10.000000', '1.00', '3.00'), '3.333333')
  assert.equal(await part('108000.000000', '33333.33', '100000.00'), '35999.996400')
  assert.equal(await part('9050.000000', '999999', '1000000'), '9049.990950')
  assert.equal(await part('125000.000000', '5000000', '15000000'), '41666.666666')
  const largest = await part('999999999.999999', '999999999.98', '999999999.99')
  assert.equal(largest, '999999999.989998', 'no intermediate value exceeds 64 bits')
})

/* ---- PrestaShop ---- */

type Presta<Data> = { answer: Data; orders: Record<string, { state: number; states: number[] }> }
const STATES = { waiting: 1, paid: 2, error: 3, cancelled: 4, refunded: 5 }

async function askPresta<Data>(command: Record<string, unknown>): Promise<Presta<Data>> {
  presta.stdin?.write(`${JSON.stringify(command)}\n`)
  const { value } = await prestaLines.next()
  return JSON.parse(value ?? '{}') as Presta<Data>
}

type Hook = { body: string; headers: Record<string, string> }

/** The newest real webhook of this event at the shop's address, for one order. */
async function hookOf(event: string, code: string, path = '/prestashop'): Promise<Hook> {
  let found: Hook | undefined
  await waitFor(`${event} at the shop`, () => {
    found = shop.receiver
      .at(path)
      .findLast(({ headers, body }) => headers['service-event'] === event && body.includes(code))
    return found !== undefined
  })
  return found ?? { body: '', headers: {} }
}

withPhp(
  'PrestaShop: the module installs, offers itself, and its settings say what is wrong and keep their secrets',
  async () => {
    const installed = await askPresta<[boolean, string[]]>({ do: 'install' })
    assert.deepEqual(installed.answer, [true, ['paymentOptions', 'actionOrderSlipAdd']])
    const [option] = (await askPresta<{ module: string; action: string }[]>({ do: 'options' })).answer
    assert.deepEqual(
      [option?.module, option?.action],
      ['comptoirpay', 'https://shop.example/module/comptoirpay/validation'],
    )
    const keys = { COMPTOIR_BASE_URL: shop.host.baseUrl, COMPTOIR_API_KEY: shop.merchant.headers['x-api-key'] }
    const save = (post: Record<string, string | undefined>) =>
      askPresta<[string, Record<string, string>]>({ do: 'save', post: { ...keys, COMPTOIR_TILL: 'TILL-1', ...post } })
    const good = await save({ COMPTOIR_API_SECRET: '', COMPTOIR_WEBHOOK_SECRET: '' })
    assert.match(good.answer[0], /<ok>Comptoir answers/)
    assert.equal(
      good.answer[1].COMPTOIR_WEBHOOK_SECRET,
      shop.merchant.webhookSecret,
      'an empty secret keeps the stored one',
    )
    assert.ok(!good.answer[0].includes(shop.merchant.webhookSecret), 'no secret is shown again')
    assert.match((await save({ COMPTOIR_TILL: '"><script>' })).answer[0], /value="&quot;&gt;&lt;script&gt;"/)
    assert.match((await save({ COMPTOIR_API_SECRET: 'sk_wrong' })).answer[0], /<bad>.*does not accept the API key/)
  },
)

withPhp(
  'PrestaShop: placed, paid by a real webhook once, a credit slip refunds its part once, and the rest after it',
  async () => {
    const { answer, orders } = await askPresta<[string, string[]]>({ do: 'pay' })
    assert.deepEqual([answer[1], orders[1]?.state], [[], STATES.waiting])
    const code = new URL(answer[0]).searchParams.get('code') ?? ''
    const { data } = await shop.accept(code, { network: shop.chain.chainId, userAddress: PAYER })
    await shop.chain.pay({ to: data.toAddress, units: 54_000_000n })
    await shop.makeFinal()
    await shop.reaches(code, 'PAID')
    const hook = await hookOf('order.paid', code)
    const forged = await askPresta<number>({ do: 'webhook', ...hook, body: hook.body.replace('PAID', 'PAIX') })
    assert.deepEqual([forged.answer, forged.orders[1]?.state], [400, STATES.waiting])
    await askPresta({ do: 'webhook', ...hook })
    const twice = await askPresta<number>({ do: 'webhook', ...hook })
    assert.deepEqual([twice.answer, twice.orders[1]?.states], [200, [STATES.waiting, STATES.paid]], 'paid once')
    const slip = (amount: number) => askPresta<string[]>({ do: 'slip', order: 1, lines: [{ amount }] })
    assert.match((await slip(20)).answer[0] ?? '', /refund \w+ of 20\.00 EUR has started/)
    assert.match((await slip(900)).answer[0] ?? '', /was not refunded: The amount of the refund is not a part/)
    assert.match((await slip(0)).answer[0] ?? '', /was not refunded/)
    const { data: list } = await shop.host.call<{ refunds: { amount: string }[] }>(
      'GET',
      `/api/next/refunds?code=${code}`,
      {
        as: shop.merchant,
      },
    )
    assert.deepEqual(
      list.refunds.map(({ amount }) => amount),
      ['21.600000'],
    )
    const late = await askPresta<number>({ do: 'webhook', ...(await hookOf('order.refunding', code)) })
    assert.deepEqual([late.answer, late.orders[1]?.state], [200, STATES.paid], 'a refund under way changes no state')
  },
)

withPhp(
  'PrestaShop: an order that ends unpaid is cancelled there; one whose payment cannot open ends with a word',
  async () => {
    const { answer } = await askPresta<[string, string[]]>({ do: 'pay' })
    const code = new URL(answer[0]).searchParams.get('code') ?? ''
    await shop.host.call('POST', `/api/next/confirm_conversion/cancel/${code}`, { as: shop.merchant })
    const ended = await askPresta<number>({ do: 'webhook', ...(await hookOf('order.cancelled', code)) })
    assert.equal(ended.orders[2]?.state, STATES.cancelled)
    const shipped = 6
    const moved = await askPresta<number>({ do: 'webhook', state: shipped, ...(await hookOf('order.cancelled', code)) })
    assert.equal(moved.orders[2]?.state, shipped, 'what the shop moved on stays')
    const dead = await askPresta<[string, string[]]>({
      do: 'pay',
      settings: { COMPTOIR_BASE_URL: 'http://127.0.0.1:1' },
    })
    assert.match(dead.answer[1][0] ?? '', /^The payment cannot be started now/)
    assert.deepEqual([dead.answer[0], dead.orders[3]?.state], ['https://shop.example/order', STATES.error])
  },
)
