import { privateKeyToAccount } from 'viem/accounts'
import { buildProviders } from '../sandbox/providers/server.ts'
import { loadConfig } from '../src/config/config.ts'
import { openDb } from '../src/db/db.ts'
import { openVault } from '../src/kernel/vault.ts'
import { TEST_MASTER_KEY } from '../test/harness/service.ts'
import { TEST_XPUB } from '../test/harness/shop.ts'
import { tellStory } from './stories/journeys.ts'
import type { VirtualDatabase } from './virtual/database.ts'
import type { Network } from './virtual/network.ts'
import { runIn, type Scheduler } from './virtual/scheduler.ts'
import { SimulatedChain } from './world/chain.ts'
import { ChainNode } from './world/chain-node.ts'
import { Cluster } from './world/nodes.ts'
import type { Oracle } from './world/oracle.ts'
import { openShop, SERVICE } from './world/shops.ts'
import { count, type World } from './world/world.ts'

export type RunOptions = {
  scheduler: Scheduler
  database: VirtualDatabase
  network: Network
  oracle: Oracle
  weather: { isBad: boolean }
  orders: number
  nodes: number
  /** Orders a second of virtual time. */
  rate: number
  /** No faults at all. */
  isCalm: boolean
  /** Only stories that end within seconds. */
  isShort: boolean
  say(line: string): void
}

const KEYS = { refund: `0x${'11'.repeat(32)}`, relayer: `0x${'22'.repeat(32)}` } as const
const ORDERS_PER_SHOP = 400
const MINUTE = 60_000

async function buildWorld(options: RunOptions): Promise<World & { open(): Promise<void> }> {
  const { scheduler, database, network, oracle, weather } = options
  const { random } = scheduler
  const now = (): number => Math.floor(scheduler.nowMs)
  const chain = new SimulatedChain(random, now)
  const endpoints = [new ChainNode(chain), new ChainNode(chain)]
  for (const [index, node] of endpoints.entries())
    network.listen(`chain-${index}.example`, (request) => node.answer(request))
  const built = await buildProviders({
    url: 'http://providers.example',
    chain: { chainId: 31337, usdcAddress: chain.token, payerAddress: chain.token, pay: async () => ({ txHash: '0x' }) },
    callbackBase: SERVICE,
    now,
  })
  await built.app.ready()
  network.listen('providers.example', async ({ method, url, headers, body }) => {
    const payload = body === '' ? {} : { payload: body }
    const answer = await built.app.inject({
      method: method as 'GET',
      url: url.pathname + url.search,
      headers,
      ...payload,
    })
    const texts = Object.entries(answer.headers).map(([name, value]) => [name, String(value)])
    return { status: answer.statusCode, headers: Object.fromEntries(texts), body: answer.payload }
  })
  const account = privateKeyToAccount(KEYS.refund)
  chain.fund(account.address, 10n ** 18n)
  const config = loadConfig({
    ...{ BASE_URL: SERVICE, PORT: '80', LOG_LEVEL: 'warn', DATABASE_URL: 'postgresql://node@database/simulation' },
    ...{ LIMIT_ACCOUNT_PER_MINUTE: '0', LIMIT_ADDRESS_PER_MINUTE: '0', LIMIT_PUBLIC_PER_MINUTE: '0' },
    ...{ LIMIT_COMPANY_PER_MINUTE: '0', LIMIT_PAGE_PER_MINUTE: '0' },
    CHAIN_31337_RPC_URL: 'http://chain-0.example,http://chain-1.example',
    CHAIN_31337_USDC: chain.token,
    CHAIN_31337_XPUB: TEST_XPUB,
    CHAIN_31337_REFUND_KEY: KEYS.refund,
    CHAIN_31337_RELAYER_KEY: KEYS.relayer,
    ...built.credentials,
  })
  const vault = openVault(TEST_MASTER_KEY)
  const counts = new Map<string, number>()
  const onLog: ConstructorParameters<typeof Cluster>[0]['onLog'] = ({ level, msg, job, err }) => {
    if (level >= 40) count({ counts }, `log ${level}: ${msg}${job ? ` (${job})` : ''}${err ? `: ${err.message}` : ''}`)
  }
  const cluster = new Cluster({ scheduler, database, config, vault, onLog })
  network.listen('pay.example', (request) => cluster.serve(request))
  const db = openDb({ connectionString: 'postgresql://office@database/simulation?sslmode=disable' })
  const shops: World['shops'] = []
  network.listenFor((name) => {
    const shop = shops.find(({ host }) => host === name)
    return shop && ((request) => shop.take(request))
  })
  const world = {
    ...{ scheduler, random, chain, endpoints, cluster, shops, oracle, weather, counts },
    providers: built.payerConsole,
  }
  return {
    ...world,
    async open() {
      shops.push(await openShop({ db, vault, scheduler, number: shops.length }))
    },
  }
}

/** Blocks, one a second. */
function mineForever({ scheduler, chain }: World): void {
  scheduler.after(
    1000,
    () => {
      chain.mine()
      mineForever({ scheduler, chain } as World)
    },
    null,
  )
}

/** Nodes die, the chain is reorganised, shops' servers are down, as long as the weather is bad. */
async function makeWeather(world: World): Promise<void> {
  const { scheduler, random, cluster, chain } = world
  const wait = (meanMs: number): Promise<void> => scheduler.sleep(-Math.log(1 - random.next()) * meanMs)
  const often = async (meanMs: number, work: () => Promise<void> | void): Promise<void> => {
    for (;;) {
      await wait(meanMs)
      if (world.weather.isBad) await work()
    }
  }
  void often(2 * MINUTE, async () => {
    cluster.kill()
    await wait(3000)
    await cluster.add()
  })
  void often(MINUTE, () => {
    count(world, 'reorganisations')
    for (const lost of chain.reorganise(1 + random.below(2), 0.3)) {
      if (random.chance(0.9)) scheduler.after(random.next() * 30_000, () => chain.resend(lost), null)
    }
  })
  void often(MINUTE, () => {
    const node = random.pick(world.endpoints)
    node.lag = random.below(3)
  })
  void often(MINUTE, () => {
    random.pick(world.shops).downUntilMs = scheduler.nowMs + random.next() * 20_000
  })
}

async function tellAll(world: World & { open(): Promise<void> }, options: RunOptions): Promise<void> {
  const { scheduler } = options
  const running = new Set<Promise<void>>()
  for (let number = 0; number < options.orders; number += 1) {
    if (number % ORDERS_PER_SHOP === 0 || world.shops.length < 8) await world.open()
    const recent = world.shops.slice(-8)
    const story = tellStory(world, world.random.pick(recent), options.isShort)
      .catch((error: unknown) => scheduler.fail(error))
      .finally(() => running.delete(story))
    running.add(story)
    await scheduler.sleep((-Math.log(1 - world.random.next()) * 1000) / options.rate)
  }
  while (running.size > 0) await Promise.race(running)
}

/** What must hold when everything has come to rest. */
async function checkTheEnd(world: World, orders: number): Promise<void> {
  const { oracle, chain } = world
  const row = await oracle.one<{ orders: string; held: string; twice: string }>(`select
    (select count(*) from orders)::text as orders,
    (select coalesce(sum(units), 0) from ledger_entries where account in ('payer_clearing', 'wallet'))::text as held,
    (select count(*) from (select 1 from deliveries group by company_id, order_id, event, refund_id having count(*) > 1) d)::text as twice`)
  if (Number(row.orders) !== orders) throw new Error(`${orders} orders were made, and ${row.orders} are there`)
  if (row.twice !== '0') throw new Error(`${row.twice} events have several deliveries`)
  void chain
}

/** Tells all stories and checks everything. @returns lines of figures */
export async function simulate(options: RunOptions): Promise<void> {
  const { scheduler, weather, say } = options
  let isDone = false
  void runIn(null, async () => {
    try {
      const world = await buildWorld(options)
      mineForever(world)
      for (let number = 0; number < options.nodes; number += 1) await world.cluster.add()
      say(`nodes are up after ${scheduler.steps} steps`)
      await makeWeather(world)
      weather.isBad = !options.isCalm
      await tellAll(world, options)
      weather.isBad = false
      await scheduler.sleep(MINUTE)
      await checkTheEnd(world, options.orders)
      for (const [what, times] of [...world.counts].sort()) say(`  ${what}: ${times}`)
      say(`  kills: ${world.cluster.kills}`)
      isDone = true
    } catch (error) {
      scheduler.fail(error)
    }
  })
  await scheduler.run(() => isDone)
}
