import { mkdir, readFile, rename, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { RpcCall } from './rpc.ts'

/**
 * Writes the whole chain (accounts, blocks, receipts; not pending transactions) to a new file and renames it, so that
 * the file is always complete. About 190 bytes per block; anvil 1.7.1 returns it compressed, as hex.
 */
export async function saveState(call: RpcCall, file: string): Promise<void> {
  const dump = await call<string>('anvil_dumpState')
  const draft = `${file}.tmp`
  await mkdir(dirname(file), { recursive: true })
  await writeFile(draft, Buffer.from(dump.slice(2), 'hex'), { mode: 0o600 })
  await rename(draft, file)
}

/**
 * Loads the saved state into a fresh node. An unreadable file is kept under another name, and the chain starts from
 * scratch. @returns whether the saved chain goes on
 */
export async function loadState(call: RpcCall, file: string, log: (message: string) => void): Promise<boolean> {
  const bytes = await readFile(file).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined
    throw error
  })
  if (bytes === undefined) return false
  try {
    await call('anvil_loadState', `0x${bytes.toString('hex')}`)
  } catch {
    const aside = `${file}.unreadable`
    await rename(file, aside)
    log(`chain: the saved state could not be read; it is now ${aside}, and a new chain begins`)
    return false
  }
  await keepFirstBlock(call)
  return true
}

/** More blocks than this are no loss of a moment: the database knows another chain. Mined in a few seconds. */
const MOST_LOST = 10_000n

/**
 * Mines the empty blocks that were not saved before a kill or a backup, and that the service has read: a chain that
 * ends below them would look like a node that lags.
 */
export async function mineUpTo(call: RpcCall, known: bigint, log: (message: string) => void): Promise<void> {
  const missing = known - BigInt(await call<string>('eth_blockNumber'))
  if (missing <= 0n) return
  if (missing > MOST_LOST) log(`chain: the database knows block ${known}, ${missing} above the saved chain`)
  else await call('anvil_mine', `0x${missing.toString(16)}`)
}

type Block = { hash: string; parentHash: string; number: string }

/**
 * Each start of anvil creates its own block 0, and the saved state contains all of them. After loading, any of them may
 * answer to the number 0, and the service would take the chain for another one. The last one loaded answers, so the
 * block that block 1 was built on is loaded again, alone.
 */
async function keepFirstBlock(call: RpcCall): Promise<void> {
  const [first, second, latest] = await Promise.all(
    ['0x0', '0x1', 'latest'].map((place) => call<Block | null>('eth_getBlockByNumber', place, false)),
  )
  if (!second || !latest || first?.hash === second.parentHash) return
  const header = await call<Block>('eth_getBlockByHash', second.parentHash, false)
  const state = {
    block: null,
    accounts: {},
    best_block_number: Number(latest.number),
    blocks: [{ header, transactions: [], ommers: [] }],
    transactions: [],
  }
  await call('anvil_loadState', `0x${Buffer.from(JSON.stringify(state)).toString('hex')}`)
}
