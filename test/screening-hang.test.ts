import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { sql } from '../src/db/db.ts'
import { newId } from '../src/kernel/ids.ts'
import { type ImitationWorld, startImitations } from './harness/imitation.ts'
import { eventually, startTestService, type TestService } from './harness/service.ts'

/* One source hangs while fifty addresses wait, on two nodes. */
let world: ImitationWorld
let nodes: TestService[]
before(async () => {
  world = await startImitations()
  const env = { ...world.providers.screening }
  const first = await startTestService({ env })
  const { connectionString } = first.db
  nodes = [first, await startTestService({ env, workers: true, connectionString })]
  await first.service.startWorkers()
})
after(async () => {
  // the first one owns the database
  for (const node of nodes?.toReversed() ?? []) await node.stop()
  await world?.stop()
})

const COUNT = 50

test('fifty at once while a source hangs: all are held, none is lost, and all go on when it is back', async () => {
  const [{ db }] = nodes as [TestService]
  const fault = (name: string | null) => world.post('/screening/faults/trm', { fault: name })
  await fault('hang')
  for (let nth = 0; nth < COUNT; nth += 1) {
    const address = `0x${(nth + 1).toString(16).padStart(40, 'c')}`
    await db.run(sql`
      insert into screenings (company_id, id, purpose, subject_id, network, address, status, next_check_at, opened_at, updated_at)
      values (${newId()}, ${newId()}, 'sweep', ${newId()}, 31337, ${address}, 'checking', now(), now(), now())`)
  }
  const count = async (status: string): Promise<number> =>
    Number((await db.one<{ n: bigint }>(sql`select count(*) as n from screenings where status = ${status}`)).n)
  await eventually(
    () => count('held'),
    (held) => held === COUNT,
    30_000,
  )
  assert.equal(await count('clean'), 0)
  await fault(null)
  await eventually(
    async () => {
      await db.run(sql`update screenings set next_check_at = now() where next_check_at is not null`)
      return count('clean')
    },
    (clean) => clean === COUNT,
    30_000,
  )
  const twice = await db.many(sql`
    select 1 from screening_answers where verdict = 'clean' and source = 'trm' group by screening_id having count(*) > 1`)
  assert.deepEqual(twice, [], 'one node asked for each')
})
