import { benchOrders } from './orders.ts'

const USAGE = `npm run bench                 all of them but growth, some minutes
npm run bench -- webhooks     one by name: orders, logins, hostile, chain, pages, webhooks, isolation, exports,
                              claims, nodes, office, start and growth
BENCH_ONLY                    of orders: create or read (both)
BENCH_CALLERS                 at once (1,16,64)
BENCH_ROUNDS, BENCH_SECONDS   how often and how long (5 and 3)
--flame                       with orders and webhooks: writes docs/flames/*.svg instead of measuring
BENCH_NODE_OPTIONS            for the service, for example "--cpu-prof --cpu-prof-dir=profiles"
BENCH_NODES, BENCH_PROCESSES  of nodes: how many at once (1,2,4), and how many processes of one service (1,2)
BENCH_EXPORT_ORDERS           orders in the files of exports (1000000)
BENCH_OFFICE_ORDERS           orders in the list of the back office (100000)
BENCH_GROWTH_ORDERS           orders that are stored at last in growth (10000000: about 10 GB, and half an hour)`

const BENCHES: Record<string, () => Promise<unknown>> = {
  orders: benchOrders,
  logins: async () => (await import('./logins.ts')).run(),
  office: async () => (await import('./office.ts')).run(),
  hostile: async () => (await import('./hostile.ts')).run(),
  chain: async () => (await import('./chain.ts')).run(),
  pages: async () => (await import('./pages.ts')).run(),
  exports: async () => (await import('./exports.ts')).run(),
  webhooks: async () => (await import('./webhooks.ts')).run(),
  nodes: async () => (await import('./nodes.ts')).run(),
  start: async () => (await import('./start.ts')).run(),
  growth: async () => (await import('./growth.ts')).run(),
  claims: async () => (await import('./claims.ts')).run(),
  isolation: async () => (await import('./webhooks.ts')).runIsolation(),
}

if (process.argv.includes('--help')) {
  console.log(USAGE)
  process.exit()
}
const names = process.argv.slice(2).filter((name) => name !== '--flame')
const unknown = names.find((name) => !Object.hasOwn(BENCHES, name))
if (unknown !== undefined) {
  process.stderr.write(`There is no measurement "${unknown}". Choose from: ${Object.keys(BENCHES).join(', ')}.\n`)
  process.exit(1)
}
/** Only on request: half an hour, and ten gigabytes. */
const LONG = ['growth']
const usual = Object.keys(BENCHES).filter((name) => !LONG.includes(name))
for (const name of names.length === 0 ? usual : names) await BENCHES[name]?.()
