import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { sql } from '../src/db/db.ts'
import { openPasswords } from '../src/users/password.ts'
import { Client, PASSWORD, register } from './harness/accounts.ts'
import { ALL_CONNECTIONS, startTestService, type TestService } from './harness/service.ts'

let service: TestService

before(async () => {
  service = await startTestService({ connections: ALL_CONNECTIONS })
})
after(() => service?.stop())

test('100 logins that arrive at once all succeed; one more wave behind them is served or told when to come back', async () => {
  const { email } = await register(service.baseUrl, { role: 'SimpleUser' })
  await service.db.run(sql`update users set two_factor_enabled = false`)
  const login = () => new Client(service.baseUrl).post('auth/login', { email, password: PASSWORD })
  const first = Array.from({ length: 100 }, login)
  const second = Array.from({ length: 60 }, login)
  const statuses = (await Promise.all(first)).map(({ status }) => status)
  assert.deepEqual(new Set(statuses), new Set([200]))
  for (const answer of await Promise.all(second)) {
    assert.ok(answer.status === 200 || answer.error.code === 'BUSY', answer.text)
    if (answer.status !== 200) assert.match(answer.headers.get('retry-after') ?? '', /^[1-9]\d*$/)
  }
})

test('places go in the order of arrival, and who waits in vain is refused after the time, not before', async () => {
  const passwords = openPasswords({ places: 1, placeWaitMs: 300 })
  const order: string[] = []
  const hold = (name: string, ms: number) =>
    passwords.admit(async () => {
      order.push(name)
      await new Promise((resolve) => setTimeout(resolve, ms))
    })
  const begun = performance.now()
  const served = [hold('first', 150), hold('second', 400)]
  const late = ['third', 'fourth'].map((name) => assert.rejects(hold(name, 0), { code: 'BUSY', retryAfter: 2 }))
  await Promise.all([...served, ...late])
  assert.ok(performance.now() - begun >= 300)
  assert.deepEqual(order, ['first', 'second'])
  await hold('fifth', 0)
  assert.equal(order.at(-1), 'fifth')
})
