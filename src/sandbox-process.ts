import { type ChildProcess, spawn } from 'node:child_process'
import { createRequire } from 'node:module'
import { join } from 'node:path'

/** What the sandbox reports when it is ready. */
export type SandboxProcess = {
  providersUrl: string
  /** Null: the settings name a chain that runs elsewhere. */
  chain: {
    rpcUrl: string
    chainId: number
    usdcAddress: string
    payerPrivateKey: string
    payerAddress: string
  } | null
  /** Variables that configure the imitated providers. */
  credentials: Record<string, string>
  /** The same for the imitated sources of screening. */
  screening: Record<string, string>
  stop(): Promise<void>
}

/** Needed to compile the sandbox's token; only the development packages include them. */
const NEEDED = ['solc', '@openzeppelin/contracts']

/** @throws Error in one line that says what is missing */
export function assertSandboxInstalled(): void {
  const { resolve } = createRequire(import.meta.url)
  const isMissing = (name: string): boolean => {
    try {
      resolve(`${name}/package.json`)
      return false
    } catch {
      return true
    }
  }
  const missing = NEEDED.filter(isMissing)
  if (missing.length === 0) return
  throw new Error(
    `The sandbox needs the development packages (${missing.join(', ')}): run "npm ci" without --omit=dev. For real money run "comptoir init".`,
  )
}

const START_TIMEOUT_MS = 60_000
const STOP_TIMEOUT_MS = 3000

/** Ctrl-C reaches the sandbox as well as us, so it may exit cleanly before anyone stops it. */
const endedWell = ({ exitCode, signalCode }: ChildProcess): boolean =>
  exitCode === 0 || signalCode === 'SIGINT' || signalCode === 'SIGTERM'

/**
 * Starts the imitations of external systems (chain, providers) in a separate process, which ends with this one.
 * @throws Error with its last output when it does not become ready
 */
export function startSandboxProcess(options: {
  dataDir: string
  port: number
  /** Otherwise the providers alone. */
  hasChain: boolean
  chainPort: number
  /** The last block of its chain that the database knows. */
  knownBlock: bigint
  /** Receives test money to pay refunds with. */
  refundWallet: string
  /** Receives native coin to pay gas with. */
  relayer: string
  /** Base URL for the imitated providers' callbacks. */
  callbackBase: string
  log(line: string): void
}): Promise<SandboxProcess> {
  const entry = join(import.meta.dirname, '../sandbox/main.ts')
  const args = [
    // short-lived objects get 6 MB instead of 48
    '--max-semi-space-size=2',
    entry,
    '--data-dir',
    options.dataDir,
    '--port',
    String(options.port),
    '--chain-port',
    String(options.chainPort),
    '--known-block',
    String(options.knownBlock),
    '--refund-wallet',
    options.refundWallet,
    '--relayer',
    options.relayer,
    '--callback-base',
    options.callbackBase,
    ...(options.hasChain ? [] : ['--no-chain']),
  ]
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe', 'ipc'] })
  let words = ''
  const keep = (chunk: Buffer): void => {
    words = (words + chunk.toString('utf8')).slice(-4000)
  }
  child.stdout?.on('data', keep)
  child.stderr?.on('data', keep)
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  let isStopping = false
  const stop = async (): Promise<void> => {
    isStopping = true
    if (child.exitCode !== null || child.signalCode !== null) return
    child.kill('SIGTERM')
    const timer = setTimeout(() => child.kill('SIGKILL'), STOP_TIMEOUT_MS)
    await ended
    clearTimeout(timer)
  }
  return new Promise((resolve, reject) => {
    const fail = (reason: string): void => {
      clearTimeout(timer)
      void stop()
      reject(new Error(`The sandbox did not start: ${reason}\n${words.trim()}`))
    }
    const timer = setTimeout(() => fail(`nothing heard for ${START_TIMEOUT_MS / 1000} s`), START_TIMEOUT_MS)
    child.once('error', (error) => fail(error.message))
    const onEarlyExit = (code: number | null): void => fail(`it ended with code ${code}`)
    child.once('exit', onEarlyExit)
    child.once('message', (message) => {
      clearTimeout(timer)
      child.off('exit', onEarlyExit)
      void ended.then(() => {
        if (!isStopping && !endedWell(child)) options.log('The sandbox ended by itself. Start Comptoir again.')
      })
      resolve({ ...(message as Omit<SandboxProcess, 'stop'>), stop })
    })
  })
}
