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
 * scratch.
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
