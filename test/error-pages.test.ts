import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import Fastify from 'fastify'
import { sql } from '../src/db/db.ts'
import { AppError } from '../src/kernel/errors.ts'
import { sendErrorPage } from '../src/pages/shared/error-page.ts'
import { startTestService, type TestService } from './harness/service.ts'

let host: TestService

before(async () => {
  host = await startTestService()
})
after(() => host?.stop())

const BROWSER = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8'
const ask = (path: string, headers: Record<string, string>) => fetch(`${host.baseUrl}${path}`, { headers })

test('a person gets a page in their language, a program JSON, and the API answers JSON to everyone', async () => {
  const page = await ask('/nowhere', { accept: BROWSER, 'accept-language': 'de' })
  assert.equal(page.status, 404)
  assert.match(page.headers.get('content-type') ?? '', /text\/html/)
  assert.match(page.headers.get('content-security-policy') ?? '', /default-src 'none'; style-src 'sha256-/)
  assert.match(await page.text(), /<html lang="de">.*Diese Seite gibt es nicht/s)
  const cases: [string, string][] = [
    ['/nowhere', '*/*'],
    ['/nowhere', 'application/json'],
    ['/api/next/nowhere', BROWSER],
    ['/api/next/confirm_conversion', BROWSER],
  ]
  for (const [path, accept] of cases) {
    const answer = await ask(path, { accept })
    const { success, error } = (await answer.json()) as { success: boolean; error: { code: string } }
    assert.deepEqual([success, typeof error.code], [false, 'string'], `${path} ${accept}`)
  }
})

test('a program that opens a page of payers gets its refusal as JSON, and a receipt for programs always', async () => {
  const code = 'a'.repeat(24)
  const pages = ['/receipt/nope', `/pay?code=${code}`, `/refund?code=${code}&token=t`, `/kyc?code=${code}&token=t`]
  const paths = [...pages, '/buy-button/landing?id=nope', '/link/nope']
  const read = async (path: string, accept: string) => {
    const answer = await ask(path, { accept })
    const [kind] = (answer.headers.get('content-type') ?? '').split(';')
    return { status: answer.status, kind, text: await answer.text() }
  }
  for (const path of paths) {
    const page = await read(path, BROWSER)
    assert.equal(page.kind, 'text/html', path)
    const answer = await read(path, 'application/json')
    assert.deepEqual([answer.kind, answer.status], ['application/json', page.status], `${path} ${answer.text}`)
    const { success, error } = JSON.parse(answer.text)
    assert.deepEqual([success, typeof error.code], [false, 'string'], path)
  }
  for (const accept of [BROWSER, 'application/json', '*/*']) {
    const answer = await read('/receipt/nope.json', accept)
    assert.deepEqual([answer.status, answer.kind], [404, 'application/json'], accept)
  }
})

test('nothing of the address gets into the page', async () => {
  const answer = await ask('/%3Cscript%3Ealert(1)%3C/script%3E', { accept: BROWSER })
  assert.doesNotMatch(await answer.text(), /alert\(1\)/)
})

test('a fault of ours is no fault of the link: each page of payers says so, with the number that the log has', async () => {
  const code = 'a'.repeat(24)
  const key = Buffer.alloc(16, 1).toString('base64url')
  const paths = [`/pay?code=${code}`, `/refund?code=${code}&token=${key}`, `/kyc?code=${code}&token=${key}`]
  const open = (path: string) => ask(path, { accept: BROWSER, 'x-request-id': 'asked-by-a-payer' })
  await host.db.run(sql`alter table orders rename to orders_elsewhere`)
  try {
    for (const path of paths) {
      const answer = await open(path)
      const text = await answer.text()
      assert.equal(answer.status, 500, path)
      assert.match(text, /Something went wrong on our side/, path)
      assert.match(text, /asked-by-a-payer/, path)
    }
  } finally {
    await host.db.run(sql`alter table orders_elsewhere rename to orders`)
  }
  for (const path of paths) assert.equal((await open(path)).status, 404, path)
})

test('another language on a page of a failure leads back to the same order', async () => {
  const code = 'a'.repeat(24)
  const pages = [`/pay?code=${code}`, `/refund?code=${code}&token=t`].map((path) => `${path}&lang=en`)
  const hrefOf = (text: string) => /href="([^"]*)" lang="de"/.exec(text)?.[1]?.replaceAll('&amp;', '&')
  await host.db.run(sql`alter table orders rename to orders_elsewhere`)
  try {
    for (const path of pages) {
      const back = path.slice(path.indexOf('?')).replace('lang=en', 'lang=de')
      assert.equal(hrefOf(await (await ask(path, { accept: BROWSER })).text()), back)
    }
    const body = new URLSearchParams({ code, token: 't', address: '0x1' })
    const sent = await fetch(`${host.baseUrl}/refund?lang=en`, { method: 'POST', body, headers: { accept: BROWSER } })
    assert.equal(hrefOf(await sent.text()), `?code=${code}&token=t&lang=de`)
    const token = Buffer.alloc(16, 1).toString('base64url')
    const buttons = { '/pay/cancel': { code, nonce: 'x' }, '/kyc/look': { code, token } }
    for (const [path, fields] of Object.entries(buttons)) {
      const url = `${host.baseUrl}${path}?lang=en`
      const failed = await fetch(url, {
        method: 'POST',
        body: new URLSearchParams(fields),
        headers: { accept: BROWSER },
      })
      const { pathname, searchParams } = new URL(hrefOf(await failed.text()) ?? '', url)
      assert.deepEqual([pathname, searchParams.get('code')], [path.replace(/\/\w+$/, ''), code])
    }
  } finally {
    await host.db.run(sql`alter table orders_elsewhere rename to orders`)
  }
})

test('a service without its database does not blame the payer’s network', async () => {
  const app = Fastify()
  for (const code of ['DATABASE_UNAVAILABLE', 'BUSY', 'TOO_MANY_REQUESTS'] as const)
    app.get(`/${code}`, (request, reply) => sendErrorPage(request, reply, new AppError(code, { retryAfter: 7 })))
  const open = async (code: string) => {
    const { body, headers } = await app.inject(`/${code}`)
    assert.equal(headers['retry-after'], '7', code)
    return body
  }
  assert.match(await open('TOO_MANY_REQUESTS'), /Too many pages were opened from your network/)
  for (const code of ['DATABASE_UNAVAILABLE', 'BUSY'])
    assert.match(await open(code), /Something went wrong on our side/)
  await app.close()
})
