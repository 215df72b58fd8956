import { spawn } from 'node:child_process'
import { join } from 'node:path'
import type { SandboxCredentials } from './sandbox-credentials.ts'

/** What the sandbox tells when it is ready. */
export type SandboxProcess = {
  providersUrl: string
  rpcUrl: string
  chainId: number
  usdcAddress: string
  payerPrivateKey: string
  payerAddress: string
  stop(): Promise<void>
}

const START_TIMEOUT_MS = 60_000
const STOP_TIMEOUT_MS = 3000

/**
 * Starts the imitations of what is not ours (chain, providers) as a process of its own; it ends with this one.
 * @throws Error with its last words when it does not get ready
 */
export function startSandboxProcess(options: {
  dataDir: string
  port: number
  chainPort: number
  /** Gets test money to pay refunds with. */
  refundWallet: string
  /** Gets native coin to pay gas with. */
  relayer: string
  /** Of the imitated providers. */
  credentials: SandboxCredentials
  log(line: string): void
}): Promise<SandboxProcess> {
  const entry = join(import.meta.dirname, '../sandbox/main.ts')
  const args = [
    entry,
    '--data-dir',
    options.dataDir,
    '--port',
    String(options.port),
    '--chain-port',
    String(options.chainPort),
    '--refund-wallet',
    options.refundWallet,
    '--relayer',
    options.relayer,
    '--credentials',
    JSON.stringify(options.credentials),
  ]
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe', 'ipc'] })
  let words = ''
  const keep = (chunk: Buffer): void => {
    words = (words + chunk.toString('utf8')).slice(-4000)
  }
  child.stdout?.on('data', keep)
  child.stderr?.on('data', keep)
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  const stop = async (): Promise<void> => {
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
      void ended.then(() => options.log('the sandbox ended'))
      resolve({ ...(message as Omit<SandboxProcess, 'stop'>), stop })
    })
  })
}
