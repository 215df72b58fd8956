import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { startProviders } from './providers/server.ts'
import { NO_WALLET } from './providers/wallet.ts'

/** After the initial rush of a start. */
const SETTLED_MS = 60_000

/** The sandbox: every external system, imitated on loopback ports. Started by the service, or by hand. */
const { values } = parseArgs({
  options: {
    'data-dir': { type: 'string', default: './data' },
    port: { type: 'string', default: '0' },
    'chain-port': { type: 'string', default: '0' },
    'known-block': { type: 'string', default: '0' },
    'refund-wallet': { type: 'string', default: '' },
    relayer: { type: 'string', default: '' },
    'callback-base': { type: 'string', default: '' },
    /** Providers alone: the service uses a chain that runs elsewhere. */
    'no-chain': { type: 'boolean', default: false },
  },
})

mkdirSync(values['data-dir'], { recursive: true })
const log = (line: string): void => void process.stderr.write(`${line}\n`)

/** What compiles contracts is loaded only where there is a chain: it comes with the development packages. */
async function startChain() {
  const [{ startSandboxChain }, { deploySanctionsOracle }] = await Promise.all([
    import('./chain/sandbox-chain.ts'),
    import('./chain/sanctions-oracle.ts'),
  ])
  const started = await startSandboxChain({
    stateFile: join(values['data-dir'], 'chain.json'),
    known: BigInt(values['known-block']),
    port: Number(values['chain-port']),
    refundWallet: values['refund-wallet'],
    relayer: values.relayer,
    log,
  })
  return { chain: started, oracle: await deploySanctionsOracle(started.rpcUrl) }
}

const own = values['no-chain'] ? null : await startChain()
const providers = await startProviders({
  port: Number(values.port),
  chain: own?.chain ?? NO_WALLET,
  oracle: own?.oracle ?? null,
  callbackBase: values['callback-base'] || null,
  file: join(values['data-dir'], 'providers.json'),
  log,
})

let stopping = false
async function stop(): Promise<void> {
  if (stopping) return
  stopping = true
  await Promise.allSettled([providers.stop(), own?.chain.stop()])
  process.exit(0)
}
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, stop)
process.on('disconnect', stop)

function chainFacts() {
  if (own === null) return null
  const { rpcUrl, chainId, usdcAddress, payerPrivateKey, payerAddress } = own.chain
  return { rpcUrl, chainId, usdcAddress, payerPrivateKey, payerAddress }
}
const { credentials, screening, url: providersUrl } = providers
const ready = { credentials, screening, providersUrl, chain: chainFacts() }

/** Frees what only the start needed; V8 would keep it until the heap is full. */
function collectGarbage(): void {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as (options: {
    type: 'major'
    execution: 'sync'
    flavor: 'last-resort'
  }) => void
  setFlagsFromString('--no-expose-gc')
  collect({ type: 'major', execution: 'sync', flavor: 'last-resort' })
}
setTimeout(collectGarbage, SETTLED_MS).unref()

if (process.send) process.send(ready)
else process.stdout.write(`${JSON.stringify(ready, null, 2)}\n`)
