import { openAccounts } from '../assembly/accounts.ts'
import { forgetChain, listStandings } from '../chain/chain-queries.ts'
import { lockHead } from '../chain/deposits/deposit-audit-queries.ts'
import { createRpc } from '../chain/endpoints/rpc.ts'
import { updateOrphaned } from '../chain/transfer-queries.ts'
import type { ChainConfig, Config } from '../config/config.ts'
import type { Db } from '../db/db.ts'
import { systemContext } from '../http/request-context.ts'
import { systemClock } from '../kernel/clock.ts'
import type { Vault } from '../kernel/vault.ts'
import { askBefore } from './ask-before.ts'

/** Undefined if the node does not answer, or does not have its first block. */
async function readFirstBlock(url: string): Promise<string | undefined> {
  const rpc = createRpc({ url })
  try {
    return (await rpc.call<{ hash: string } | null>('eth_getBlockByNumber', '0x0', false))?.hash
  } catch {
    return undefined
  } finally {
    await rpc.close()
  }
}

/** @throws Error unless the nodes show that this is another chain than the one that was read */
async function refuseSameChain(db: Db, { chainId, rpcUrls }: ChainConfig): Promise<void> {
  const [standing] = await listStandings(db, [chainId])
  if (!standing?.genesisHash) throw new Error(`Chain ${chainId} was never read. There is nothing to forget.`)
  const hashes = (await Promise.all(rpcUrls.map(readFirstBlock))).filter((hash) => hash !== undefined)
  if (hashes.includes(standing.genesisHash)) {
    const way = `To read it again: comptoir rescan --chain ${chainId} --from <block>`
    throw new Error(`Chain ${chainId} was not reset: its first block is the same. Nothing was done. ${way}`)
  }
  if (hashes.length > 0) return
  throw new Error(`No node of chain ${chainId} shows its first block, so it may be the same chain. Nothing was done.`)
}

type Work = { config: Config; chain: ChainConfig; db: Db; vault: Vault; yes: boolean }

/**
 * Forgets a chain that was reset: its transfers are orphaned, and reading then restarts on its own.
 * @returns the number of transfers orphaned
 * @throws Error when it is the same chain, or the answer was not yes
 */
export async function startOver({ config, chain, db, vault, yes }: Work): Promise<number> {
  const { chainId } = chain
  await refuseSameChain(db, chain)
  const what = `All transfers of chain ${chainId} will be forgotten, and what they paid counts as gone.`
  // whoever skims past a question about money should have to run the command again
  if (config.mode === 'live' && !yes) throw new Error(`${what} Nothing was done: live mode wants --yes.`)
  await askBefore({ yes }, what)
  const { audit, keys } = openAccounts({ config, db, vault, clock: systemClock })
  await keys.prepare()
  return db.tx(async (tx) => {
    await lockHead(tx, chainId)
    const orphaned = await updateOrphaned(tx, chainId, -1n)
    await forgetChain(tx, chainId)
    const entry = { action: 'chain.forget', object: `chain:${chainId}`, detail: { orphaned } }
    await audit.write(tx, systemContext('operator'), entry)
    return orphaned
  })
}
