import { parseArgs } from 'node:util'
import pg from 'pg'
import { drill } from './drill.ts'
import { plant } from './plants.ts'
import { VirtualDatabase } from './virtual/database.ts'
import { installGlobals } from './virtual/globals.ts'
import { Network } from './virtual/network.ts'
import { Scheduler } from './virtual/scheduler.ts'
import { prepareDatabase } from './virtual/server.ts'
import { Oracle } from './world/oracle.ts'

/*
 * npm run simulate -- --orders 1000 --seed 7
 * npm run simulate -- --plants --orders 4 --seed 7     every planted fault is found, and nothing else
 */
const { values } = parseArgs({
  options: {
    orders: { type: 'string', default: '200' },
    seed: { type: 'string' },
    nodes: { type: 'string', default: '2' },
    rate: { type: 'string', default: '20' },
    calm: { type: 'boolean', default: false },
    folder: { type: 'string' },
    plant: { type: 'string' },
    plants: { type: 'boolean', default: false },
    story: { type: 'string' },
    // no story that waits for an order's end: a sample for tests
    short: { type: 'boolean', default: false },
  },
})

const START_MS = Date.parse('2030-03-01T08:00:00Z')
const seed = Number(values.seed ?? Math.floor(Math.random() * 1e9))
const orders = Number(values.orders)
const say = (line: string): void => void process.stdout.write(`${line}\n`)
const realNow = performance.now.bind(performance)
const startedAt = realNow()

if (values.plants) process.exit((await drill(seed, Number(values.orders), say)) ? 0 : 1)
say(`seed ${seed}, ${orders} orders`)
const prepared = await prepareDatabase({ folder: values.folder ?? null, atMs: START_MS })
say(`database after ${Math.round(realNow() - startedAt)} ms`)
let failure: unknown = null
try {
  const { connectionString } = prepared
  const client = new pg.Client({ connectionString })
  client.on('error', () => {})
  await client.connect()
  const scheduler = new Scheduler(seed, START_MS)
  const weather = { isBad: false }
  const { random } = scheduler
  const isBad = (share: number): boolean => weather.isBad && !values.calm && random.chance(share)
  const database = new VirtualDatabase({
    ...{ connectionString, scheduler, sessions: 6 },
    fault: ({ scope }) =>
      scope !== null && isBad(0.0005) ? random.pick(['lost-before', 'lost-after', 'serialization', 'stall']) : null,
  })
  await database.open()
  const network = new Network({
    scheduler,
    fault: () => (isBad(0.003) ? random.pick(['refused', 'lost', 'unanswered', 'reset', 'slow', 'broken']) : null),
  })
  const planted = values.plant === undefined ? null : plant(values.plant)
  if (planted) say(`planted: ${planted.fault}`)
  installGlobals(scheduler)
  // a rejection that nothing handles would end the process that it belongs to
  process.on('unhandledRejection', (error) => scheduler.fail(error))
  process.on('uncaughtException', (error) => scheduler.fail(error))
  network.install()
  const { simulate } = await import('./run.ts')
  const loadedAt = realNow()
  const options = { scheduler, database, network, weather, oracle: new Oracle(client, scheduler), orders, say }
  await simulate({
    ...options,
    nodes: Number(values.nodes),
    rate: Number(values.rate),
    isCalm: values.calm,
    isShort: values.short,
    only: values.story ?? planted?.story ?? null,
  })
  const seconds = (realNow() - loadedAt) / 1000
  const virtualSeconds = Math.round((scheduler.nowMs - START_MS) / 1000)
  say(
    `${orders} orders in ${seconds.toFixed(1)} s, ${(orders / seconds).toFixed(0)} a second, ${virtualSeconds} virtual seconds`,
  )
  say(
    `${scheduler.steps} steps, ${database.statements} statements, ${database.lockWaits} lock waits, ${network.requests} requests`,
  )
  say(`fingerprint ${scheduler.fingerprint()}`)
} catch (error) {
  failure = error
}
if (failure !== null) say(failure instanceof Error ? (failure.stack ?? failure.message) : String(failure))
await prepared.drop().catch(() => {})
process.exit(failure === null ? 0 : 1)
