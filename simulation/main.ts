import pg from 'pg'
import { drill } from './drill.ts'
import { exitWhenRead } from './exit.ts'
import { tellWorlds } from './many/many-worlds.ts'
import { readOptions, USAGE } from './options.ts'
import { plant } from './plants/plants.ts'
import { VirtualDatabase } from './virtual/database.ts'
import { installGlobals } from './virtual/globals.ts'
import { Network } from './virtual/network.ts'
import { Scheduler } from './virtual/scheduler.ts'
import { describeSessions, keepDatabase, prepareDatabase } from './virtual/server.ts'
import { Conditions } from './world/conditions.ts'
import { GUARDS, guardWords } from './world/guards.ts'
import { Oracle } from './world/oracle.ts'

function ask(): ReturnType<typeof readOptions> {
  try {
    return readOptions(process.argv.slice(2))
  } catch (error) {
    console.error(`${(error as Error).message}\nSee: npm run simulate -- --help`)
    process.exit(2)
  }
}

const values = ask()
if (values.help) {
  process.stdout.write(USAGE)
  process.exit(0)
}
const { seed, orders } = values
const START_MS = Date.parse('2030-03-01T08:00:00Z')
const start = { atMs: START_MS, guards: GUARDS }
const say = (line: string): void => void process.stdout.write(`${line}\n`)
const realNow = performance.now.bind(performance)
const startedAt = realNow()

if (values.plants) {
  const only = values.plant?.split(',') ?? []
  await exitWhenRead((await drill({ seed, orders, only }, say)) ? 0 : 1)
}
say(`seed ${seed}, ${orders} orders`)
if (values.many) {
  const { folder, prepared } = values
  const keep = (place: string) => keepDatabase(place, start)
  const code = await tellWorlds({ ...values.many, seed, orders, folder, prepared, keep, say }).catch((error: Error) => {
    console.error(error.message)
    return 2
  })
  await exitWhenRead(code)
}
const prepared = await prepareDatabase({ folder: values.folder ?? null, prepared: values.prepared ?? null }, start)
say(`database after ${Math.round(realNow() - startedAt)} ms`)
/** Set once there are sessions that wait. */
let endWaits: () => void = () => {}
const drop = (): Promise<void> => {
  endWaits()
  return prepared.drop()
}
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.once(signal, () => void drop().finally(() => process.exit(1)))
let failure: unknown = null
/** Current troubles, and the activity of the database's sessions; set once these exist. */
let describe: () => Promise<string[]> = async () => []
try {
  const { connectionString } = prepared
  const client = new pg.Client({ connectionString })
  client.on('error', () => {})
  await client.connect()
  const scheduler = new Scheduler(seed, START_MS)
  const weather = { isBad: false, isNoisy: false, isDatabaseAway: false }
  const conditions = new Conditions(scheduler)
  const { random } = scheduler
  const isBad = (share: number): boolean => weather.isNoisy && random.chance(share)
  const database = new VirtualDatabase({
    refused: (answer) => {
      const words = guardWords(answer)
      if (words !== null) scheduler.fail(new Error(`Broken: ${words}`))
    },
    ...{ connectionString, scheduler, sessions: 6, isCounting: values.costs },
    fault({ scope }) {
      const isAway = scope !== null && weather.isDatabaseAway
      if (scope === null || !(isAway || isBad(0.0005))) return null
      conditions.note('database')
      if (isAway) return 'lost-before'
      return random.pick(['lost-before', 'lost-after', 'serialization', 'stall'])
    },
  })
  await database.open()
  endWaits = () => database.close()
  describe = async () => [...conditions.describe(), ...database.describe(), ...(await describeSessions(client))]
  const network = new Network({
    scheduler,
    fault: () => (isBad(0.003) ? random.pick(['refused', 'lost', 'unanswered', 'reset', 'slow', 'broken']) : null),
  })
  const planted = values.plant === undefined ? null : plant(values.plant)
  if (planted) say(`planted: ${planted.fault}`)
  installGlobals(scheduler)
  // an unhandled rejection would end the process that it belongs to
  process.on('unhandledRejection', (error) => scheduler.fail(error))
  process.on('uncaughtException', (error) => scheduler.fail(error))
  network.install()
  const { simulate } = await import('./run.ts')
  const loadedAt = realNow()
  const options = { scheduler, database, network, weather, conditions, orders, say }
  const progress = (told: number): void => {
    const perSecond = told / ((realNow() - loadedAt) / 1000)
    const left = new Date(((orders - told) / perSecond) * 1000).toISOString().slice(11, 16)
    const megabytes = Math.round(process.memoryUsage().rss / 2 ** 20)
    const at = new Date(scheduler.nowMs).toISOString().slice(11, 19)
    say(`${told} orders at ${at}, ${perSecond.toFixed(1)} a second, ${left} h left, ${megabytes} MB`)
  }
  const told = await simulate({
    ...options,
    oracle: new Oracle(client, scheduler),
    progress,
    nodes: values.nodes,
    rate: values.rate,
    isCalm: values.calm,
    isShort: values.short,
    isEach: values.each,
    only: values.story ?? planted?.story ?? null,
  })
  const seconds = (realNow() - loadedAt) / 1000
  const virtualSeconds = Math.round((scheduler.nowMs - START_MS) / 1000)
  const cpu = process.cpuUsage()
  const [own, server] = [(cpu.user + cpu.system) / 1e6, database.cpuSeconds()]
  const perOrder = (total: number): string => ((total / told) * 1000).toFixed(1)
  say(`processor time per order: ${perOrder(own)} ms here, ${perOrder(server)} ms in PostgreSQL`)
  say(
    `${told} orders in ${seconds.toFixed(1)} s, ${(told / seconds).toFixed(0)} a second, ${virtualSeconds} virtual seconds`,
  )
  say(
    `${scheduler.steps} steps, ${database.statements} statements (${database.ownerless} of no node), ${database.lockWaits} lock waits, ${network.requests} requests`,
  )
  if (values.costs) {
    const costs = [...database.costs].sort(([, one], [, other]) => other.ms - one.ms).slice(0, 40)
    for (const [text, { times, ms }] of costs)
      say(`  ${Math.round(ms)} ms, ${times} times: ${text.replaceAll(/\s+/g, ' ').slice(0, 150)}`)
  }
  say(`fingerprint ${scheduler.fingerprint()}`)
} catch (error) {
  failure = error
}
if (failure !== null) {
  say(failure instanceof Error ? (failure.stack ?? failure.message) : String(failure))
  for (const line of await describe().catch((error: unknown) => [String(error)])) say(`  ${line}`)
}
await drop().catch(() => {})
await exitWhenRead(failure === null ? 0 : 1)
