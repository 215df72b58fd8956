import { HDKey } from '@scure/bip32'
import { loadConfig } from '../src/config/config.ts'
import type { RunOptions } from './run-options.ts'
import { Broken, must } from './stories/acts.ts'
import { makeTrouble, type Repertoire, tellEach, tellStory } from './stories/journeys.ts'
import type { VirtualDatabase } from './virtual/database.ts'
import { runIn } from './virtual/scheduler.ts'
import { makeWeather, mineForever } from './weather.ts'
import { Archive } from './world/archive.ts'
import { buildWorld } from './world/build.ts'
import type { World } from './world/world.ts'

const SHOPS_AT_ONCE = 8
/** A company's books are recomputed before each of its refunds; small books prove as much in less time. */
const ORDERS_PER_SHOP = 60
const MINUTE = 60_000
const UPKEEP_EVERY = 1000
const ARCHIVE_EVERY = 500

/** A private key in the configuration, an operator's slip, must stop the start. */
function mustRefusePrivateKey(): void {
  const { privateExtendedKey } = HDKey.fromMasterSeed(Buffer.alloc(32, 3)).derive("m/44'/60'/0'")
  const start = (): unknown =>
    loadConfig({
      CHAIN_31337_RPC_URL: 'http://chain-0.example',
      CHAIN_31337_USDC: `0x${'7'.repeat(40)}`,
      CHAIN_31337_XPUB: privateExtendedKey,
    })
  try {
    start()
  } catch {
    return
  }
  throw new Broken('a private key as CHAIN_31337_XPUB does not stop the start')
}

/**
 * Does what autovacuum does in production, at moments that depend only on the run; often while the tables are small.
 */
async function keepTidy({ oracle }: World, number: number): Promise<void> {
  const isPowerOfTwo = number >= 32 && Number.isInteger(Math.log2(number))
  if (isPowerOfTwo || number % (50 * UPKEEP_EVERY) === 0) await oracle.many('vacuum (analyze)')
  else if (number % UPKEEP_EVERY === 0) await oracle.many('vacuum')
  // the log is kept in memory, like the tables
  if (number > 0 && number % UPKEEP_EVERY === 0) await oracle.many('checkpoint')
}

async function tellAll(world: World, options: RunOptions, archive: Archive): Promise<number> {
  const { scheduler, progress } = options
  const repertoire: Repertoire = options
  const running = new Set<Promise<void>>()
  const begin = (told: Promise<void>): void => {
    const story = told.catch((error: unknown) => scheduler.fail(error)).finally(() => running.delete(story))
    running.add(story)
  }
  // trouble strikes a shop, and the first may come at once
  await world.openShop()
  const trouble = makeTrouble(world, repertoire)
  for (let number = 0; number < options.orders; number += 1) {
    if (number > 0 && number % ARCHIVE_EVERY === 0)
      await archive.sweep([...world.everyShop].filter((shop) => !world.shops.slice(-SHOPS_AT_ONCE).includes(shop)))
    await keepTidy(world, number)
    if (number > 0 && number % UPKEEP_EVERY === 0) progress(number)
    if (number % ORDERS_PER_SHOP === 0 || world.shops.length < SHOPS_AT_ONCE) await world.openShop()
    begin(tellStory(world, world.random.pick(world.shops.slice(-SHOPS_AT_ONCE)), repertoire))
    await scheduler.sleep((-Math.log(1 - world.random.next()) * 1000) / options.rate)
  }
  await trouble.end()
  while (running.size > 0) await Promise.race(running)
  return options.orders
}

async function tellOfEach(world: World, { orders }: RunOptions): Promise<number> {
  for (let number = 0; number < SHOPS_AT_ONCE; number += 1) await world.openShop()
  return await tellEach(world, orders)
}

/** Invariants over everything together, once it has come to rest. */
async function checkTheEnd(world: World, archive: Archive): Promise<void> {
  const { chain, purse } = world
  await archive.sweep(
    [...world.everyShop].filter(({ isArchived }) => !isArchived),
    true,
  )
  const orders = world.counts.get('orders') ?? 0
  const { totals } = archive
  must(totals.orders === orders, `${orders} orders were made, and ${totals.orders} were found`)
  const paidOut = purse.units - chain.balanceAt(purse.address)
  const booked = totals.refunded + totals.settled
  must(paidOut === booked, `${paidOut} left the wallet, refunds and settlements say ${booked}`)
}

/** Of all statements: the world's own start, and what its people decide. */
const OWNERLESS_SHARE = 0.1

/** What a node starts and does not belong to it would run on after its death, and meet no fault of the database. */
function mustBelongToNodes({ ownerless, statements }: VirtualDatabase): void {
  must(ownerless <= statements * OWNERLESS_SHARE, `${ownerless} of ${statements} statements belong to no node`)
}

function sayFigures({ counts, cluster, webhooks: { latest } }: World, say: (line: string) => void): void {
  for (const [what, times] of [...counts].sort()) say(`  ${what}: ${times}`)
  say(`  kills: ${cluster.kills}`)
  const [first, repeated, takenOver] = [latest.first, latest.repeated, latest.takenOver].map((ms) => Math.round(ms))
  say(`  latest webhook: ${first} ms after its event, ${repeated} ms after a repetition was due,`)
  say(`    ${takenOver} ms after the death of the node that was sending it`)
}

/** Runs all stories and checks everything. @returns the number of stories told, each of which makes an order */
export async function simulate(options: RunOptions): Promise<number> {
  const { scheduler, weather, say } = options
  let told = 0
  let isDone = false
  void runIn(null, async () => {
    try {
      mustRefusePrivateKey()
      const world = await buildWorld(options)
      mineForever(world)
      for (let number = 0; number < options.nodes; number += 1) await world.cluster.add()
      say(`nodes are up after ${scheduler.steps} steps`)
      weather.isBad = !options.isCalm
      makeWeather(world)
      const archive = new Archive(world)
      told = await (options.isEach ? tellOfEach(world, options) : tellAll(world, options, archive))
      weather.isBad = false
      weather.isNoisy = false
      await scheduler.sleep(options.isShort ? MINUTE / 6 : MINUTE)
      await checkTheEnd(world, archive)
      mustBelongToNodes(options.database)
      sayFigures(world, say)
      isDone = true
    } catch (error) {
      scheduler.fail(error)
    }
  })
  await scheduler.run(() => isDone)
  return told
}
