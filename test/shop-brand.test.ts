import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { PNG } from 'pngjs'
import { Client, newEmail, PASSWORD, type Person, registerManager } from './harness/accounts.ts'
import { startTestService, type TestService } from './harness/service.ts'

let host: TestService
let boss: Person

before(async () => {
  host = await startTestService({
    env: {
      CHANNEL_GATEPAY_BASE_URL: 'http://127.0.0.1:9',
      CHANNEL_GATEPAY_CLIENT_ID: 'x',
      CHANNEL_GATEPAY_SECRET: 'x',
    },
  })
  boss = await registerManager(host.baseUrl)
})
after(() => host?.stop())

type CompanyData = Record<string, string | null> & { logoUrl: string | null }

const path = (rest = ''): string => `companies/${boss.companyId}${rest}`
const change = (body: object) => boss.client.call<CompanyData>('PUT', path(), body)

function drawPng(width: number, height: number): Buffer {
  const image = new PNG({ width, height })
  for (let at = 0; at < image.data.length; at += 4) image.data.set([122, 31, 61, 255], at)
  return PNG.sync.write(image)
}

async function createOrder(): Promise<string> {
  const list = await boss.client.call<{ collectors: { identifier: string }[] }>('GET', 'collectors/list')
  const merchantIdentifier = list.data.collectors[0]?.identifier
  const order = { amount: 12, fromAsset: 'EUR', merchantIdentifier }
  const { data, text } = await boss.client.post<{ code: string } | null>('confirm_conversion/request', order)
  if (!data) throw new Error(text)
  return data.code
}

const readPage = async (code: string) => {
  const answer = await fetch(`${host.baseUrl}/pay?code=${code}`)
  return { text: await answer.text(), policy: answer.headers.get('content-security-policy') ?? '' }
}

test('what the shop says of itself stands on the pay page: name, company, colour, help, terms', async () => {
  const fields = {
    displayName: 'Chez Léa',
    legalName: 'Léa Martin SARL',
    brandColor: '#7A1F3D',
    supportEmail: newEmail('help'),
    supportPhone: '+33 1 23 45 67 89',
    termsUrl: 'https://shop.example/terms',
  }
  const { status, data } = await change(fields)
  assert.equal(status, 200)
  assert.equal(data.brandColor, '#7a1f3d')
  const { text } = await readPage(await createOrder())
  for (const words of ['Chez Léa', 'Léa Martin SARL', '#7a1f3d', fields.termsUrl])
    assert.ok(text.includes(words), words)
})

test('a logo is drawn again: nothing of the file that was sent is served; previews of its links show it', async () => {
  const secret = 'PAYLOAD-<script>alert(1)</script>'
  const file = Buffer.concat([drawPng(600, 300), Buffer.from(secret)])
  const answer = await fetch(`${host.baseUrl}/api/next/${path('/logo')}`, {
    method: 'PUT',
    headers: { authorization: `Bearer ${boss.client.token}`, 'content-type': 'image/png' },
    body: new Uint8Array(file),
  })
  const { data } = (await answer.json()) as { data: CompanyData }
  assert.equal(answer.status, 200)
  const served = await fetch(data.logoUrl ?? '')
  assert.equal(served.headers.get('content-type'), 'image/webp')
  assert.match(served.headers.get('content-security-policy') ?? '', /default-src 'none'/)
  const bytes = Buffer.from(await served.arrayBuffer())
  assert.equal(bytes.toString('latin1', 8, 12), 'WEBP')
  assert.ok(!bytes.includes('PAYLOAD') && bytes.length < 20_000)
  const { text, policy } = await readPage(await createOrder())
  assert.match(text, new RegExp(`<img class="logo" src="/logo/${data.logoUrl?.split('/').at(-1)}"`))
  assert.match(policy, /img-src 'self' data:/)
  const { collectors } = (await boss.client.get<{ collectors: { identifier: string }[] }>('collectors/list')).data
  const link = { name: 'Table 4', merchantIdentifier: collectors[0]?.identifier, currency: 'EUR', amount: '12.00' }
  const made = await boss.client.post<{ _id: string; code: string }>('static-links', link)
  const readLink = async () => (await fetch(`${host.baseUrl}/link/${made.data.code}`)).text()
  const [payPage, open] = [text, await readLink()]
  assert.equal((await boss.client.call('PUT', `static-links/${made.data._id}`, { active: false })).status, 200)
  for (const [page, words] of [
    [payPage, 'Pay €12.00 to'],
    [open, 'Pay €12.00 to'],
    [await readLink(), 'This link is closed'],
  ] as const) {
    assert.ok(page.includes(`<meta property="og:image" content="${data.logoUrl}">`), 'messengers show the logo')
    assert.ok(page.includes(`<meta property="og:title" content="${words}`), words)
  }
  const removed = await boss.client.call<CompanyData>('DELETE', path('/logo'))
  assert.equal(removed.data.logoUrl, null)
  assert.equal((await fetch(data.logoUrl ?? '')).status, 404)
})

test('a logo that is none, too large or a bomb is refused with what to do', async () => {
  const send = (image: Buffer) => boss.client.call('PUT', path('/logo'), { image: image.toString('base64') })
  const bomb = drawPng(16, 16)
  bomb.writeUInt32BE(60_000, 16)
  const cases: [Buffer, RegExp][] = [
    [Buffer.from('<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"/>'), /PNG, JPEG or WebP/],
    [bomb, /pixels/],
    [drawPng(32, 32).subarray(0, 60), /cannot be read/],
  ]
  for (const [image, words] of cases) {
    const { status, text } = await send(image)
    assert.equal(status, 422)
    assert.match(text, words)
  }
  assert.ok([413, 422].includes((await send(Buffer.alloc(400_000))).status))
})

test('people log in while the largest logos are drawn', async () => {
  const [other, image] = [await registerManager(host.baseUrl), drawPng(2000, 2000).toString('base64')]
  const sent = Promise.all(Array.from({ length: 6 }, () => boss.client.call('PUT', path('/logo'), { image })))
  const login = { email: other.email, password: PASSWORD, origin: 'dashboard' }
  const answer = await new Client(host.baseUrl).post('auth/login/manager', login)
  assert.equal(answer.status, 200)
  const drawing = await Promise.race([sent.then(() => 'over'), 'goes on'])
  assert.equal(drawing, 'goes on', 'the login waited for all of them')
  const statuses = (await sent).map(({ status }) => status)
  assert.deepEqual([...new Set(statuses)].toSorted(), [200, 503])
})

test('hostile names and addresses neither run nor lead anywhere', async () => {
  for (const bad of [
    { brandColor: 'red;}body{display:none' },
    { termsUrl: 'javascript:alert(1)' },
    { termsUrl: 'data:text/html,<script>alert(1)</script>' },
    { supportEmail: 'a b' },
    { supportPhone: 'tel:0900<script>' },
    { displayName: 'Win at https://evil.example' },
  ])
    assert.equal((await change(bad)).status, 422, JSON.stringify(bad))
  await change({ displayName: '<img src=x onerror=alert(1)>', legalName: '"><script>alert(1)</script>' })
  const { text } = await readPage(await createOrder())
  assert.doesNotMatch(text, /<img src=x|"><script>alert/)
  assert.match(text, /&lt;img src=x onerror=alert\(1\)&gt;/)
})

test('another company’s logo and name are out of reach', async () => {
  const stranger = await registerManager(host.baseUrl)
  const body = { image: drawPng(32, 32).toString('base64') }
  assert.equal((await stranger.client.call('PUT', path('/logo'), body)).status, 404)
  assert.equal((await stranger.client.call('DELETE', path('/logo'))).status, 404)
})
