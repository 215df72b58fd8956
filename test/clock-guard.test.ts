import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { uptime } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { Registry } from 'prom-client'
import { openClockGuard } from '../src/assembly/upkeep/clock-guard.ts'
import { sql } from '../src/db/db.ts'
import { assertDurable } from '../src/db/durable.ts'
import { migrate } from '../src/db/migrate.ts'
import { DAY, HOUR, MINUTE, SECOND } from '../src/kernel/clock.ts'
import { eventually, startTestService, type TestService } from './harness/service.ts'

let host: TestService

before(async () => {
  host = await startTestService({ workers: true })
})
after(() => host?.stop())

test('a worker whose clock is a year ahead ends no order and deletes nothing, and says so once', async () => {
  const as = await host.createMerchant()
  const sale = {
    as,
    body: { amount: '5', fromAsset: 'EUR', merchantIdentifier: as.merchantIdentifier },
    headers: { 'idempotency-key': 'clock' },
  }
  const sold = await host.call<{ code: string }>('POST', 'request', sale)
  const partitions = () => host.db.many(sql`select inhrelid::regclass::text as name from pg_inherits order by 1`)
  const before = await partitions()
  const { connectionString, vault } = host
  const clock = (): number => Date.now() + 400 * DAY
  const ahead = await startTestService({ connectionString, vault, clock, workers: true, guardsClock: true })
  const warnings = (): string[] => ahead.logLines.filter((line) => /ALARM: nothing is deleted/.test(line))
  await eventually(
    async () => warnings(),
    (lines) => lines.length > 0,
  )
  await ahead.stop()
  assert.match(warnings().join(), /The database’s clock is 34560000 s behind this node’s/)
  assert.equal(warnings().length, 1)
  assert.equal((await host.call('GET', `status/${sold.data.code}`)).data.status, 'INITIAL')
  assert.equal((await host.call<{ code: string }>('POST', 'request', sale)).data.code, sold.data.code)
  assert.deepEqual(await partitions(), before)
  const tooEarly = await host.db.many(sql`
    select key from notices_sent
    where key like '%:done:%' and right(key, 10) >= to_char(now() at time zone 'UTC', 'YYYY-MM-DD')`)
  assert.deepEqual(tooEarly, [], 'no day is told before it ends')
})

/** Source: PostgreSQL, 53.7, Terminate. */
const TERMINATE = 'X'.charCodeAt(0)

const quiet = { error: () => {}, info: () => {} }

/**
 * The tests' database over a wire that does this with the question for its clock; undefined: passes it on.
 * @param options.isDeaf whether it swallows the goodbye and never hangs up
 */
async function relayDatabase(
  onQuestion: () => 'break' | 'swallow' | undefined,
  { isDeaf = false, question = 'clock_timestamp' } = {},
) {
  const url = new URL(host.connectionString)
  const path = join(url.searchParams.get('host') ?? '', `.s.PGSQL.${url.port}`)
  const open = new Set<Socket>()
  const server = createServer({ allowHalfOpen: isDeaf }, (client) => {
    const target = connect(path).on('error', () => {})
    open.add(client.on('error', () => {}).once('close', () => target.destroy()))
    target.once('close', () => client.destroy()).pipe(client)
    client.on('data', (chunk) => {
      const fate = chunk.includes(question) ? onQuestion() : undefined
      if (fate === 'break') client.resetAndDestroy()
      else if (fate === undefined && !(isDeaf && chunk[0] === TERMINATE)) target.write(chunk)
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    db: { ...host.db, connectionString: `postgres://${url.username}@127.0.0.1:${port}${url.pathname}` },
    stop: () => {
      for (const socket of open) socket.destroy()
      server.close()
    },
  }
}

test('a question for the clock that the database breaks off or never answers rejects, and the next one is asked', async () => {
  for (const fate of ['break', 'swallow'] as const) {
    let asked = 0
    const relayed = await relayDatabase(() => {
      asked += 1
      return asked === 1 ? fate : undefined
    })
    const isSound = openClockGuard({
      metrics: new Registry(),
      ...{ config: { ...host.config, databaseUrl: 'x' }, db: relayed.db, alarm: async () => {} },
      ...{ log: quiet, clock: Date.now },
    })
    await assert.rejects(isSound(), /Connection terminated|ECONNRESET|sent nothing/)
    assert.deepEqual([await isSound(), asked], [true, 2])
    relayed.stop()
  }
})

test('a connection that is lost during the checks of the start, or a migration, is an error like any other', async () => {
  for (const [question, work] of [
    ['current_setting', assertDurable],
    ['pg_try_advisory_lock', migrate],
  ] as const) {
    const relayed = await relayDatabase(() => 'break', { question })
    await assert.rejects(work(relayed.db.connectionString), /Connection terminated|ECONNRESET/)
    relayed.stop()
  }
})

test('a database that is gone after its answer holds up no comparison', async () => {
  const relayed = await relayDatabase(() => undefined, { isDeaf: true })
  const isSound = openClockGuard({
    metrics: new Registry(),
    ...{ config: { ...host.config, databaseUrl: 'x' }, db: relayed.db, alarm: async () => {} },
    ...{ log: quiet, clock: Date.now },
  })
  const answer = isSound()
  const inTime = sleep(8 * SECOND, 'no answer', { ref: false })
  assert.equal(await Promise.race([answer, inTime]), true)
  relayed.stop()
})

test('a clock that is wrong or not compared for minutes shows in a metric; the log says once that none is', async () => {
  const [metrics, said] = [new Registry(), [] as string[]]
  const note = (...words: unknown[]) => void said.push(String(words.at(-1)))
  const unsure = async () => Number(/^comptoir_clock_unsure_seconds (\d+)/m.exec(await metrics.metrics())?.[1])
  let fate: 'break' | undefined
  let [passedMs, aheadMs] = [0, 0]
  const relayed = await relayDatabase(() => fate)
  const isSound = openClockGuard({
    ...{ metrics, config: { ...host.config, databaseUrl: 'x' }, db: relayed.db, alarm: async () => {} },
    ...{ log: { error: note, info: () => {} }, clock: () => Date.now() + aheadMs, uptimeMs: () => passedMs },
  })
  assert.equal(await isSound(), true)
  fate = 'break'
  for (const minutes of [2, 4, 6]) {
    passedMs = minutes * MINUTE
    await assert.rejects(isSound())
    assert.equal(await unsure(), minutes * 60)
  }
  assert.deepEqual(said, ['ALARM: nothing is deleted and no order expires: the clocks cannot be compared'])
  fate = undefined
  assert.deepEqual([await isSound(), await unsure()], [true, 0])
  aheadMs = HOUR
  assert.equal(await isSound(), false)
  passedMs += 4 * MINUTE
  assert.deepEqual([await isSound(), await unsure()], [false, 240])
  relayed.stop()
})

test('an answer that took a minute proves no wrong clock: the question is asked again', async () => {
  for (const [isSlowEachTime, expected] of [
    [false, [true, 2]],
    [true, ['The database answers too slowly to compare its clock with ours.', 3]],
  ] as const) {
    let sinceMs = 64 * SECOND
    let asked = 0
    const relayed = await relayDatabase(() => {
      asked += 1
      sinceMs = 0
      return undefined
    })
    const isSound = openClockGuard({
      metrics: new Registry(),
      ...{ config: { ...host.config, databaseUrl: 'x' }, db: relayed.db, alarm: async () => {}, log: quiet },
      clock() {
        const at = Date.now() - sinceMs
        if (isSlowEachTime) sinceMs = 64 * SECOND
        return at
      },
    })
    assert.deepEqual([await isSound().catch((error: Error) => error.message), asked], expected)
    relayed.stop()
  }
})

test('the mail about a wrong clock is written as soon as it can be, and once a day', async () => {
  // the workers above have mailed today
  await host.db.run(sql`delete from notices_sent where key like 'alarm:%'`)
  let aheadMs = HOUR
  let mails = 0
  let fails = true
  const isSound = openClockGuard({
    metrics: new Registry(),
    ...{ config: { ...host.config, databaseUrl: 'x' }, db: host.db, log: quiet },
    async alarm() {
      if (fails) throw new Error('the mail cannot be written')
      mails += 1
    },
    // each leap of the clock causes another comparison
    clock: () => Date.now() + aheadMs,
  })
  await assert.rejects(isSound(), /the mail cannot be written/)
  fails = false
  for (const minutes of [1, 2, 3]) {
    aheadMs = HOUR + minutes * MINUTE
    assert.equal(await isSound(), false)
  }
  assert.equal(mails, 1)
  aheadMs += DAY
  assert.equal(await isSound(), false)
  assert.equal(mails, 2)
})

test('the embedded database has the same wrong clock: a leap of more than a day is not believed', async () => {
  const said: string[] = []
  const note = (line: unknown) => void said.push(String(line))
  let leapMs = 0
  const isSound = openClockGuard({
    metrics: new Registry(),
    ...{ config: { ...host.config, databaseUrl: null }, db: host.db, alarm: async () => {} },
    ...{ log: { error: note, info: note }, clock: Date.now },
    // the database’s own clock cannot be moved: what the machine counts is moved the other way
    uptimeMs: () => uptime() * 1000 - leapMs,
  })
  const answers: boolean[] = []
  for (const days of [0, 0.9, 2, 2, 0]) {
    leapMs = days * DAY
    answers.push(await isSound())
  }
  assert.deepEqual(answers, [true, true, false, false, true])
  assert.equal(said.length, 2)
  assert.match(said[0] ?? '', /This machine’s clock leapt by 2 days\. If it is right now, restart the service\./)
})
