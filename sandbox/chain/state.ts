import { mkdir, readFile, rename, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { RpcCall } from './rpc.ts'

/**
 * Writes the whole chain (accounts, blocks, receipts; not the waiting transactions) beside the file and renames it, so
 * that the file is always whole. About 190 bytes a block; anvil 1.7.1 gives it compressed, as hex.
 */
export async function saveState(call: RpcCall, file: string): Promise<void> {
  const dump = await call<string>('anvil_dumpState')
  const draft = `${file}.tmp`
  await mkdir(dirname(file), { recursive: true })
  await writeFile(draft, Buffer.from(dump.slice(2), 'hex'), { mode: 0o600 })
  await rename(draft, file)
}

/**
 * Brings a fresh node to the saved state. A file that cannot be read is kept under another name; the chain starts
 * new.
 */
export async function loadState(call: RpcCall, file: string, log: (message: string) => void): Promise<void> {
  const bytes = await readFile(file).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined
    throw error
  })
  if (bytes === undefined) return
  try {
    await call('anvil_loadState', `0x${bytes.toString('hex')}`)
  } catch {
    const aside = `${file}.unreadable`
    await rename(file, aside)
    log(`chain: the saved state could not be read; it is now ${aside}, and a new chain begins`)
    return
  }
  await keepFirstBlock(call)
}

type Block = { hash: string; parentHash: string; number: string }

/**
 * Each start of anvil makes a block 0 of its own, and every one of them is in the saved state. After loading, any of
 * them may answer to the number 0, and the service would take the chain for another one. What is loaded last answers,
 * so the block that block 1 was built on is loaded again, by itself.
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
