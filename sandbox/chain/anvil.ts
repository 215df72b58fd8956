import { type ChildProcess, spawn } from 'node:child_process'
import { accessSync, constants } from 'node:fs'
import { createRequire } from 'node:module'
import { createServer } from 'node:net'
import { delimiter, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Miner, startMiner } from './miner.ts'
import { openRpcClient, type RpcCall } from './rpc.ts'
import { loadState, mineUpTo, saveState } from './state.ts'

export const CHAIN_ID = 31337

export type Log = (message: string) => void

export type AnvilOptions = {
  /** A free port if absent or 0; always on 127.0.0.1. */
  port?: number
  /** Blocks are mined per transaction (default), on request by `evm_mine`, or every `blockTimeSeconds`. */
  mining?: 'instant' | 'manual' | 'interval'
  blockTimeSeconds?: number
  /** Keeps blocks, receipts, logs and balances across restarts. */
  stateFile?: string
  /** A saved chain comes at least this far before it is used. */
  known?: bigint
  log?: Log
}

export type Anvil = {
  rpcUrl: string
  call: RpcCall
  /** Only with mining 'interval'. */
  miner: Miner | undefined
  stop(): Promise<void>
}

/**
 * The number of states in memory limits how deep `anvil_reorg` and `anvil_rollback` reach; without a limit each goes to
 * disk.
 */
const KEPT_STATES = 64

/**
 * From Prague on each block stores the hash of its parent in a contract (EIP-2935), and the node copies all of them for
 * each new block: at block 8000 a block takes 10 ms instead of 0.05.
 */
const HARDFORK = 'cancun'

const FINAL_WAIT_MS = 3000

/**
 * Starts a local chain (id 31337) and waits until it answers. It ends with this process, even if that is killed. With a
 * state file the chain resumes from it; an unreadable file is set aside and a new chain starts.
 */
export async function startAnvil(options: AnvilOptions = {}): Promise<Anvil> {
  const mining = options.mining ?? 'instant'
  const { child, rpcUrl, call } = await launch(options.port ?? 0, mining !== 'instant')
  const kill = () => void child.kill('SIGKILL')
  process.once('exit', kill)
  let stopping: Promise<void> | undefined
  const { stateFile, known = 0n, log = () => {} } = options
  if (stateFile !== undefined && (await loadState(call, stateFile, log))) await mineUpTo(call, known, log)
  const persist = async () => {
    if (stateFile !== undefined) await saveState(call, stateFile)
  }
  const blockTimeMs = (options.blockTimeSeconds ?? 1) * 1000
  const miner = mining === 'interval' ? startMiner({ call, blockTimeMs, persist, log }) : undefined
  child.once('exit', () => {
    if (!stopping) log('chain: the local chain has ended by itself; restart the sandbox')
  })
  const stop = async () => {
    if (miner) await miner.stop()
    else if (child.exitCode === null)
      await persist().catch((error: Error) => log(`chain: state not saved: ${error.message}`))
    process.removeListener('exit', kill)
    await end(child)
  }
  return { rpcUrl, call, miner, stop: () => (stopping ??= stop()) }
}

/** The program itself instead of npm's wrapper, because killing the wrapper would leave the program running. */
function binaryPath(): string {
  const platform = { linux: 'linux', darwin: 'darwin', win32: 'win32' }[process.platform as string]
  const machine = { x64: 'amd64', arm64: 'arm64' }[process.arch as string]
  const name = `@foundry-rs/anvil-${platform}-${machine}`
  try {
    const require = createRequire(import.meta.url)
    const file = require.resolve(`${name}/bin/anvil${process.platform === 'win32' ? '.exe' : ''}`)
    accessSync(file, constants.X_OK)
    return file
  } catch {
    throw new Error(
      `The local chain needs the npm package ${name}, which is not installed here. Run npm ci, on Linux or macOS (x64, ` +
        'arm64); elsewhere set CHAIN_31337_RPC_URL to a chain of your own.',
    )
  }
}

function findSetpriv(): string | undefined {
  if (process.platform !== 'linux') return undefined
  const folders = [...(process.env.PATH ?? '').split(delimiter), '/usr/bin']
  return folders
    .map((folder) => join(folder, 'setpriv'))
    .find((file) => {
      try {
        accessSync(file, constants.X_OK)
        return true
      } catch {
        return false
      }
    })
}

async function choosePort(wanted: number): Promise<number> {
  const server = createServer()
  return await new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) =>
      reject(
        new Error(
          `The local chain cannot use port ${wanted} on 127.0.0.1 (${error.code}). Set CHAIN_PORT to a free one.`,
        ),
      ),
    )
    server.listen(wanted, '127.0.0.1', () => {
      const { port } = server.address() as { port: number }
      server.close(() => resolve(port))
    })
  })
}

async function launch(
  wantedPort: number,
  manual: boolean,
): Promise<{ child: ChildProcess; rpcUrl: string; call: RpcCall }> {
  for (let attempt = 1; ; attempt += 1) {
    const port = await choosePort(wantedPort)
    try {
      return await launchOn(port, manual)
    } catch (error) {
      if (attempt === 3 || wantedPort !== 0) throw error // another process took the port since our check
    }
  }
}

async function launchOn(
  port: number,
  manual: boolean,
): Promise<{ child: ChildProcess; rpcUrl: string; call: RpcCall }> {
  const args = ['--silent', '--host', '127.0.0.1', '--port', `${port}`, '--chain-id', `${CHAIN_ID}`]
  args.push('--hardfork', HARDFORK, '--prune-history', `${KEPT_STATES}`, '--no-request-size-limit')
  if (manual) args.push('--no-mining')
  const setpriv = findSetpriv()
  const command = setpriv === undefined ? [binaryPath()] : [setpriv, '--pdeathsig', 'KILL', binaryPath()]
  // detached: Ctrl-C in a terminal must reach us first, so that the state is saved before the chain ends
  const child = spawn(command[0] as string, [...command.slice(1), ...args], {
    stdio: ['ignore', 'ignore', 'pipe'],
    detached: true,
  })
  let complaint = ''
  child.stderr?.on('data', (chunk: Buffer) => {
    complaint = (complaint + chunk.toString()).slice(-2000)
  })
  child.once('error', (error) => {
    complaint = error.message
  })
  child.unref()
  const rpcUrl = `http://127.0.0.1:${port}`
  const call = openRpcClient(rpcUrl)
  for (let waitedMs = 0; waitedMs < 20_000; waitedMs += 5) {
    if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) break
    const chainId = await call<string>('eth_chainId').catch(() => undefined)
    if (chainId !== undefined && child.exitCode === null) return { child, rpcUrl, call }
    await sleep(5)
  }
  child.kill('SIGKILL')
  throw new Error(`The local chain did not start on port ${port}. ${complaint}`)
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const gone = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  child.ref()
  child.kill('SIGTERM')
  const timer = setTimeout(() => child.kill('SIGKILL'), FINAL_WAIT_MS)
  await gone
  clearTimeout(timer)
}
