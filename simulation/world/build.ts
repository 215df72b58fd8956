import { privateKeyToAccount } from 'viem/accounts'
import { buildProviders } from '../../sandbox/providers/server.ts'
import { type Config, loadConfig } from '../../src/config/config.ts'
import { openDb } from '../../src/db/db.ts'
import { openVault } from '../../src/kernel/vault.ts'
import { describeVerdict, verifyLedger } from '../../src/ledger/ledger-verify.ts'
import { TEST_MASTER_KEY } from '../../test/harness/service.ts'
import { TEST_XPUB } from '../../test/harness/shop.ts'
import type { RunOptions } from '../run-options.ts'
import { Broken } from '../stories/acts.ts'
import { unitsOf } from '../stories/truth.ts'
import type { HttpRequest } from '../virtual/network.ts'
import { SimulatedChain } from './chain.ts'
import { ChainNode } from './chain-node.ts'
import { openDesk } from './desk.ts'
import { Market } from './market.ts'
import { Cluster } from './nodes.ts'
import { watchRefunds } from './refund-watch.ts'
import { openShop, SERVICE, type Shop } from './shops.ts'
import { WebhookWatch } from './webhook-watch.ts'
import { count, type World } from './world.ts'

const KEYS = { refund: `0x${'11'.repeat(32)}`, relayer: `0x${'22'.repeat(32)}` } as const

function configOf(chain: SimulatedChain, credentials: Record<string, string>): Config {
  return loadConfig({
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
    CHANNEL_WHITEPAY_HOST_TO_HOST: 'true',
    ...credentials,
  })
}

/** Payers buy in the newest eight. */
const SHOPS_KEPT = 40

type Trouble = Pick<World, 'hanging' | 'slow' | 'memo' | 'deaf'>

const startsAny = (paths: Iterable<string>, { url }: HttpRequest): string | undefined =>
  [...paths].find((path) => url.pathname.startsWith(path))

/** The imitations of the sandbox, at `providers.example`. */
async function openProviders({ network, scheduler }: RunOptions, chain: SimulatedChain, trouble: Trouble) {
  const built = await buildProviders({
    url: 'http://providers.example',
    chain: {
      ...{ chainId: 31337, usdcAddress: chain.token, payerAddress: chain.token },
      pay: async ({ to, amount }) => ({ txHash: chain.pay(to, unitsOf(amount)) }),
    },
    callbackBase: SERVICE,
    now: () => Math.floor(scheduler.nowMs),
  })
  await built.app.ready()
  network.listen('providers.example', async (request) => {
    const { method, url, headers, body } = request
    if (startsAny(trouble.hanging, request)) return null
    await scheduler.sleep(trouble.slow.get(startsAny(trouble.slow.keys(), request) ?? '') ?? 0)
    const payload = body === '' ? {} : { payload: body }
    const named = { ...headers, host: url.host }
    const asked = { method: method as 'GET', url: url.pathname + url.search, headers: named, ...payload }
    const answer = await built.app.inject(asked)
    const texts = Object.entries(answer.headers).map(([name, value]) => [name, String(value)])
    const told = trouble.memo === null ? answer.payload : withMemo(answer.payload, trouble.memo)
    return { status: answer.statusCode, headers: Object.fromEntries(texts), body: told }
  })
  const staff: World['staff'] = async (provider, settings) => {
    const url = `/${provider}/console`
    const headers = { 'content-type': 'application/json' }
    const { statusCode } = await built.app.inject({ method: 'POST', url, headers, payload: JSON.stringify(settings) })
    if (statusCode !== 200) throw new Error(`POST ${url} answers ${statusCode}`)
  }
  return { credentials: built.credentials, providers: built.payerConsole, staff }
}

/** The chain, its two nodes and the paying wallets. */
function openChain({ network, scheduler }: RunOptions) {
  const chain = new SimulatedChain(scheduler.random, () => Math.floor(scheduler.nowMs))
  const endpoints = [new ChainNode(chain), new ChainNode(chain)]
  for (const [index, node] of endpoints.entries())
    network.listen(`chain-${index}.example`, (request) => node.answer(request))
  const purse = { address: privateKeyToAccount(KEYS.refund).address, units: 10n ** 18n }
  chain.fund(purse.address, purse.units)
  chain.endow(privateKeyToAccount(KEYS.relayer).address)
  return { chain, endpoints, purse }
}

/** Whitepay's answer with a memo next to the deposit address. */
function withMemo(text: string, memo: string): string {
  try {
    const body = JSON.parse(text) as { order?: Record<string, unknown> }
    if (!body.order) return text
    return JSON.stringify({ ...body, order: { ...body.order, memo } })
  } catch {
    return text
  }
}

/** Everything around the service, and the service's nodes, none of which is running yet. */
export async function buildWorld(options: RunOptions): Promise<World> {
  const { scheduler, database, network, oracle, weather, conditions } = options
  const { chain, endpoints, purse } = openChain(options)
  const trouble: Trouble = { hanging: new Set(), slow: new Map(), memo: null, deaf: new Set() }
  const { credentials, providers, staff } = await openProviders(options, chain, trouble)
  const market = new Market(scheduler.random)
  network.listen('market.example', (request) => market.answer(request))
  const config = configOf(chain, credentials)
  const vault = openVault(TEST_MASTER_KEY)
  const counts = new Map<string, number>()
  const onLog: ConstructorParameters<typeof Cluster>[0]['onLog'] = (line) => {
    const { level, msg, job, err } = line
    // the audit is a safety net: whatever it catches, the scan has missed
    if (/missed transfers/.test(msg))
      scheduler.fail(new Broken(`the scan passed over a transfer; the audit found it: ${JSON.stringify(line)}`))
    if (level < 40) return
    const cause = err?.message?.replaceAll(/\b[0-9a-f]{24}\b|\b\d+(?= (?:seconds|more)\b)/g, '…')
    count({ counts }, `log ${level}: ${msg}${job ? ` (${job})` : ''}${cause ? `: ${cause}` : ''}`)
  }
  const changed = (how: 'died' | 'joined'): void => {
    conditions.note('node')
    if (how === 'died') conditions.note('death')
  }
  const cluster = new Cluster({ scheduler, database, config, vault, onLog, changed })
  network.listen('pay.example', async (request) =>
    startsAny(trouble.deaf, request) ? { status: 503, headers: {}, body: '' } : cluster.serve(request),
  )
  const webhooks = new WebhookWatch(scheduler, conditions)
  const refundsOnce = watchRefunds(scheduler)
  network.observe = (request) => webhooks.observe(request) ?? refundsOnce(request)
  const db = openDb({ connectionString: 'postgresql://office@database/simulation?sslmode=disable' })
  const byHost = new Map<string, Shop>()
  const shops: Shop[] = []
  const everyShop = new Set<Shop>()
  let opened = 0
  network.listenFor((host) => {
    const shop = byHost.get(host)
    return shop && ((request) => shop.take(request))
  })
  const newShop = async (): Promise<Shop> => {
    opened += 1
    const shop = await openShop({ db, vault, scheduler, number: opened })
    for (const old of everyShop) {
      if (!old.isArchived) continue
      everyShop.delete(old)
      byHost.delete(old.host)
    }
    everyShop.add(shop)
    byHost.set(shop.host, shop)
    return shop
  }
  return Object.assign(trouble, {
    ...{ scheduler, random: scheduler.random, chain, endpoints, cluster, shops, oracle, weather, counts, market },
    ...{ providers, staff, purse, webhooks, conditions, everyShop },
    jump(ms: number) {
      const fromMs = scheduler.nowMs
      scheduler.jump(ms)
      conditions.noteJump(fromMs, ms)
    },
    async verifyBooks() {
      const verdict = await verifyLedger(db)
      return verdict.difference === null ? null : describeVerdict(verdict)
    },
    desk: openDesk({ config, db, vault, clock: () => Math.floor(scheduler.nowMs) }),
    async openShop() {
      const shop = await newShop()
      shops.push(shop)
      if (shops.length > SHOPS_KEPT) shops.splice(0, SHOPS_KEPT / 2)
      return shop
    },
    openPrivateShop: newShop,
  })
}
