import { HDKey } from '@scure/bip32'
import { privateKeyToAccount } from 'viem/accounts'
import { buildProviders } from '../sandbox/providers/server.ts'
import { loadConfig } from '../src/config/config.ts'
import { openDb } from '../src/db/db.ts'
import { openVault } from '../src/kernel/vault.ts'
import { describeVerdict, verifyLedger } from '../src/ledger/ledger-verify.ts'
import { TEST_MASTER_KEY } from '../test/harness/service.ts'
import { TEST_XPUB } from '../test/harness/shop.ts'
import { Broken, must } from './stories/acts.ts'
import { tellStory } from './stories/journeys.ts'
import type { VirtualDatabase } from './virtual/database.ts'
import type { Network } from './virtual/network.ts'
import { runIn, type Scheduler } from './virtual/scheduler.ts'
import { SimulatedChain } from './world/chain.ts'
import { ChainNode } from './world/chain-node.ts'
import { openDesk } from './world/desk.ts'
import { Market } from './world/market.ts'
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
  /** Only this story. */
  only: string | null
  say(line: string): void
}

const KEYS = { refund: `0x${'11'.repeat(32)}`, relayer: `0x${'22'.repeat(32)}` } as const
const ORDERS_PER_SHOP = 400
const MINUTE = 60_000
const UPKEEP_EVERY = 1000

/** An operator's slip of the hand stops the start. */
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

async function buildWorld(options: RunOptions): Promise<World> {
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
  const hanging = new Set<string>()
  network.listen('providers.example', async ({ method, url, headers, body }) => {
    if ([...hanging].some((path) => url.pathname.startsWith(path))) return null
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
  const market = new Market(random)
  network.listen('market.example', (request) => market.answer(request))
  const account = privateKeyToAccount(KEYS.refund)
  const purse = { address: account.address, units: 10n ** 18n }
  chain.fund(purse.address, purse.units)
  const config = loadConfig({
    ...{ BASE_URL: SERVICE, PORT: '80', LOG_LEVEL: 'warn', DATABASE_URL: 'postgresql://node@database/simulation' },
    ...{ LIMIT_ACCOUNT_PER_MINUTE: '0', LIMIT_ADDRESS_PER_MINUTE: '0', LIMIT_PUBLIC_PER_MINUTE: '0' },
    ...{ LIMIT_COMPANY_PER_MINUTE: '0', LIMIT_PAGE_PER_MINUTE: '0' },
    ...{ RATE_SOURCES: 'kraken,coinbase', RATE_MIN_SOURCES: '2' },
    ...{ RATE_KRAKEN_BASE_URL: 'http://market.example', RATE_COINBASE_BASE_URL: 'http://market.example' },
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
    const shop = shops[Number(/^shop-(\d+)\./.exec(name)?.[1] ?? -1)]
    return shop && ((request) => shop.take(request))
  })
  return {
    ...{ scheduler, random, chain, endpoints, cluster, shops, oracle, weather, counts, market, hanging },
    ...{ providers: built.payerConsole, purse },
    async verifyBooks() {
      const verdict = await verifyLedger(db)
      return verdict.difference === null ? null : describeVerdict(verdict)
    },
    desk: openDesk({ config, db, vault, clock: now }),
    async openShop() {
      const shop = await openShop({ db, vault, scheduler, number: shops.length })
      shops.push(shop)
      return shop
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

/** What autovacuum does in life, at moments that depend on the run alone. */
async function keepTidy({ oracle, scheduler }: World, number: number, say: (line: string) => void): Promise<void> {
  await oracle.many('vacuum (analyze) delivery_due, jobs, idempotency_keys, payments, chain_blocks')
  const isPowerOfTwo = Number.isInteger(Math.log2(number / UPKEEP_EVERY))
  if (isPowerOfTwo || number % (50 * UPKEEP_EVERY) === 0) await oracle.many('vacuum (analyze)')
  if (number > 0) say(`${number} orders, ${new Date(scheduler.nowMs).toISOString()}`)
}

async function tellAll(world: World, options: RunOptions): Promise<void> {
  const { scheduler } = options
  const running = new Set<Promise<void>>()
  for (let number = 0; number < options.orders; number += 1) {
    if (number % UPKEEP_EVERY === 0) await keepTidy(world, number, options.say)
    if (number % ORDERS_PER_SHOP === 0 || world.shops.length < 8) await world.openShop()
    const recent = world.shops.slice(-8)
    const story = tellStory(world, world.random.pick(recent), options)
      .catch((error: unknown) => scheduler.fail(error))
      .finally(() => running.delete(story))
    running.add(story)
    await scheduler.sleep((-Math.log(1 - world.random.next()) * 1000) / options.rate)
  }
  while (running.size > 0) await Promise.race(running)
}

const TOTALS = `select
  (select count(*) from orders)::text as orders,
  (select count(*) from (
    select 1 from deliveries group by company_id, order_id, event, refund_id having count(*) > 1) d)::text as twice,
  (select coalesce(sum(units), 0) from refunds where channel = 'crypto' and status = 'settled')::text as refunded,
  (select coalesce(sum(units), 0) from settlements where status = 'paid')::text as settled`

/** What must hold of everything together, when it has come to rest. */
async function checkTheEnd(world: World): Promise<void> {
  const { oracle, chain, purse } = world
  const orders = world.counts.get('orders') ?? 0
  const row = await oracle.one<Record<'orders' | 'twice' | 'refunded' | 'settled', string>>(TOTALS)
  must(Number(row.orders) === orders, `${orders} orders were made, and ${row.orders} are there`)
  must(row.twice === '0', `${row.twice} events have several deliveries`)
  const paidOut = purse.units - chain.balanceAt(purse.address)
  const booked = BigInt(row.refunded) + BigInt(row.settled)
  must(paidOut === booked, `${paidOut} left the wallet, refunds and settlements say ${booked}`)
  const difference = await world.verifyBooks()
  must(difference === null, difference ?? '')
}

/** Tells all stories and checks everything. @returns lines of figures */
export async function simulate(options: RunOptions): Promise<void> {
  const { scheduler, weather, say } = options
  let isDone = false
  void runIn(null, async () => {
    try {
      mustRefusePrivateKey()
      const world = await buildWorld(options)
      mineForever(world)
      for (let number = 0; number < options.nodes; number += 1) await world.cluster.add()
      say(`nodes are up after ${scheduler.steps} steps`)
      await makeWeather(world)
      weather.isBad = !options.isCalm
      await tellAll(world, options)
      weather.isBad = false
      await scheduler.sleep(MINUTE)
      await checkTheEnd(world)
      for (const [what, times] of [...world.counts].sort()) say(`  ${what}: ${times}`)
      say(`  kills: ${world.cluster.kills}`)
      isDone = true
    } catch (error) {
      scheduler.fail(error)
    }
  })
  await scheduler.run(() => isDone)
}
