import assert from 'node:assert/strict'
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { after, before, test } from 'node:test'
import { packPlugins } from '../scripts/plugins.ts'
import { openShop, type Shop } from './harness/shop.ts'

/* The shop modules with PHP against a running service; the shop systems are imitated, see plugins/README.md. */

const HARNESS = join(import.meta.dirname, 'harness/plugins/woocommerce.php')
const hasPhp = spawnSync('php', ['--version']).status === 0
if (!hasPhp) console.log('left out, not installed: PHP')

let shop: Shop
let folder: string
let child: ChildProcess
let lines: AsyncIterator<string>

before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'comptoir-plugins-'))
  await packPlugins(folder)
  if (!hasPhp) return
  shop = await openShop({ allEvents: true })
  const unpacked = spawnSync('php', [
    '-r',
    `(new PharData('${folder}/comptoir-woocommerce.zip'))->extractTo('${folder}/unpacked');`,
  ])
  assert.equal(unpacked.status, 0, unpacked.stderr.toString())
  const { 'x-api-key': api_key, 'x-api-secret': api_secret } = shop.merchant.headers
  const options = { base_url: shop.host.baseUrl, api_key, api_secret, till: 'TILL-1' }
  child = spawn('php', [HARNESS], {
    env: {
      ...process.env,
      PLUGIN: join(folder, 'unpacked/comptoir'),
      WEBHOOK_URL: `${shop.receiver.url}/woocommerce`,
      OPTIONS: JSON.stringify({ ...options, webhook_secret: shop.merchant.webhookSecret }),
    },
  })
  child.stderr?.on('data', (chunk: Buffer) => process.stderr.write(chunk))
  if (child.stdout) lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
})
after(async () => {
  child?.stdin?.end()
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
  const hook = await new Promise<{ body: string; headers: Record<string, string> }>((resolve) => {
    const look = setInterval(() => {
      const found = shop.receiver.at('/woocommerce').find(({ headers }) => headers['service-event'] === 'order.paid')
      if (found) resolve(found)
      if (found) clearInterval(look)
    }, 50)
  })
  const forged = await tell({ do: 'webhook', body: hook.body.replace('PAID', 'PAIX'), headers: hook.headers })
  assert.deepEqual([forged.answer, forged.status], ['refused', 'on-hold'])
  const paid = await tell({ do: 'webhook', body: hook.body, headers: hook.headers })
  assert.deepEqual([paid.answer, paid.status], ['paid', 'processing'])
  const twice = await tell({ do: 'webhook', body: hook.body, headers: hook.headers })
  assert.equal(twice.completed, 1, 'the same webhook twice completes the order once')
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
})

withPhp('a part of the price is the same part of the USDC, exact and rounded down', async () => {
  const part = async (...of: string[]): Promise<string> => (await tell<string>({ do: 'part', of })).answer
  assert.equal(await part('54.000000', '50.00', '50.00'), '54.000000')
  assert.equal(await part('10.000000', '1.00', '3.00'), '3.333333')
  assert.equal(await part('108000.000000', '33333.33', '100000.00'), '35999.996400')
  assert.equal(await part('9050.000000', '999999', '1000000'), '9049.990950')
})
