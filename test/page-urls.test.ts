import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { sql } from '../src/db/db.ts'
import { TEXTS } from '../src/texts/languages.ts'
import { registerManager } from './harness/accounts.ts'
import { readFrame, SITE } from './harness/button-pages.ts'
import { startTestService, type TestService } from './harness/service.ts'

/* Addresses of pages: a shop’s are written one way wherever they are set, and ours work at each of our hosts. */

let host: TestService
let manager: Awaited<ReturnType<typeof registerManager>>
before(async () => {
  host = await startTestService({})
  manager = await registerManager(host.baseUrl)
})
after(() => host?.stop())

type Made = { _id: string; code: string; url: string }
const add = async (path: string, fields: Record<string, unknown>) => manager.client.post<Made>(path, fields)
const ODD = ['https:/shop.example/ok', 'https:shop.example/ok', ' https://shop.example/ok', 'https:\\\\shop.example/ok']

const newLink = async (fields: Record<string, unknown>) => {
  const { data } = await manager.client.get<{ collectors: { identifier: string }[] }>('collectors/list')
  const merchantIdentifier = data.collectors[0]?.identifier
  return add('static-links', { name: 'Table 4', merchantIdentifier, currency: 'EUR', amount: '5.00', ...fields })
}
/** What a customer gets who opens a link and pays. */
async function pay({ url }: Made) {
  const nonce = /name="nonce" value="([^"]+)"/.exec(await (await fetch(url)).text())?.[1] ?? ''
  const answer = await fetch(url, { method: 'POST', body: new URLSearchParams({ nonce }), redirect: 'manual' })
  const code = new URL(answer.headers.get('location') ?? '/', host.baseUrl).searchParams.get('code')
  return { status: answer.status, code, text: await answer.text() }
}
const orderOf = async (code: string | null | undefined) =>
  (await manager.client.get<Record<string, string>>(`confirm_conversion/status/${code}`)).data

test('an address without its host in the usual form is refused where it is set, before any customer meets it', async () => {
  const button = (await add('buy-buttons', SITE)).data._id
  for (const url of ODD) {
    const session = { button, orderRef: 'ODD-00001' }
    for (const [path, answer] of [
      ['websiteUrl', await add('buy-buttons', { ...SITE, websiteUrl: url })],
      ['websiteUrl', await manager.client.call('PUT', `buy-buttons/${button}`, { websiteUrl: url })],
      ['returnUrl', await add('buy-button/sessions', { ...session, returnUrl: url })],
      ['cancelUrl', await add('buy-button/sessions', { ...session, cancelUrl: url })],
      ['returnUrl', await newLink({ returnUrl: url })],
    ] as const)
      assert.deepEqual([answer.status, answer.error?.details?.[0]?.path], [422, path], `${url}: ${answer.text}`)
  }
})

test('what was stored before that sells on, and leads to where it was meant', async () => {
  const { db } = host
  const [odd, whole] = ['https:/shop.example/ok', 'https://shop.example/ok']
  const link = (await newLink({})).data
  await db.run(sql`update static_links set return_url = ${odd} where id = ${link._id}`)
  const paid = await pay(link)
  assert.equal(paid.status, 303, paid.text)
  assert.equal((await orderOf(paid.code)).returnUrl, whole)

  const button = (await add('buy-buttons', { ...SITE, websiteUrl: whole })).data._id
  await db.run(sql`update buy_buttons set website_url = ${odd} where id = ${button}`)
  const renamed = await manager.client.call('PUT', `buy-buttons/${button}`, { name: 'Coffee', websiteUrl: odd })
  assert.equal(renamed.status, 200, renamed.text)
  const { answer, said } = await readFrame(host, `/buy-button/landing?id=${button}`)
  assert.equal(answer.status, 200)
  assert.equal((await orderOf(said.conversionCode)).websiteUrl, whole)

  const session = (await add('buy-button/sessions', { button, orderRef: 'ODD-00002' })).data
  await db.run(sql`update button_sessions set return_url = ${odd}, cancel_url = ${odd} where id = ${session._id}`)
  const opened = (await readFrame(host, `/buy-button/landing?session=${session.code}`)).said.conversionCode
  const { returnUrl, cancelUrl } = await orderOf(opened)
  assert.deepEqual([returnUrl, cancelUrl], [whole, whole])
})

test('terms and a logo are kept as they were meant', async () => {
  const changed = await manager.client.call<{ termsUrl: string }>('PUT', `companies/${manager.companyId}`, {
    termsUrl: 'https:/shop.example/terms',
  })
  assert.deepEqual([changed.status, changed.data?.termsUrl], [200, 'https://shop.example/terms'], changed.text)
})

test('a customer of a link that its shop has to mend reads that, and not that rates are missing', async () => {
  const link = (await newLink({})).data
  await host.db.run(sql`update static_links set webhook_url = 'http://169.254.169.254/' where id = ${link._id}`)
  const { text } = await pay(link)
  assert.match(text, /This link is not set up correctly. Please tell/)
  assert.ok(!text.includes(TEXTS.en.button.later))
})

test('at either of the service’s hosts the pay page may load its wallet script from that host', async () => {
  const { connectionString } = host.db.pool.options as { connectionString: string }
  const node = await startTestService({ connectionString, env: { PAY_URL: 'https://pay.shop.example' } })
  const { code } = await pay((await newLink({})).data)
  const page = await fetch(`${node.baseUrl}/pay?code=${code}`)
  const [, scripts = ''] = /script-src ([^;]+)/.exec(page.headers.get('content-security-policy') ?? '') ?? []
  assert.deepEqual(scripts.split(' ').slice(1), [
    'https://pay.shop.example/pay/wallet.js',
    `${new URL(node.baseUrl).origin}/pay/wallet.js`,
  ])
  await node.stop()
})
