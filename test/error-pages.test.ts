import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
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

test('nothing of the address gets into the page', async () => {
  const answer = await ask('/%3Cscript%3Ealert(1)%3C/script%3E', { accept: BROWSER })
  assert.doesNotMatch(await answer.text(), /alert\(1\)/)
})
