import type { Db } from '../../db/db.ts'
import { findHead } from '../chain-queries.ts'
import type { Hex, Rpc } from '../endpoints/rpc.ts'
import type { Network } from '../networks.ts'
import {
  findAudited,
  listOwnTransactions,
  listRecorded,
  listWallets,
  type Recorded,
  upsertAudited,
} from './balance-audit-queries.ts'

type Chain = { db: Db; rpc: Rpc; network: Network }

/** An address whose balance is not what it should be; a wallet's company is ''. */
export type BalanceFault = { companyId: string; subject: string; what: string; booked: string; expected: string }

/** keccak256('Transfer(address,address,uint256)') */
const TRANSFER = '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef'
const PAGE = 100

const toHex = (number: bigint): Hex => `0x${number.toString(16)}`
const word = (address: string): string => address.slice(2).toLowerCase().padStart(64, '0')

const balanceCall = ({ network }: Chain, address: string, block: bigint) => ({
  method: 'eth_call',
  params: [{ to: network.usdcAddress, data: `0x70a08231${word(address)}` }, toHex(block)],
})

type Outgoing = { transactionHash: string; data: Hex }

/** Transfers of USDC from an address, both blocks included. */
const listOutgoing = ({ rpc, network }: Chain, address: string, from: bigint, to: bigint): Promise<Outgoing[]> =>
  rpc.call<Outgoing[]>('eth_getLogs', {
    address: network.usdcAddress,
    topics: [TRANSFER, `0x${word(address)}`],
    fromBlock: toHex(from),
    toBlock: toHex(to),
  })

const unitsOf = ({ data }: Outgoing): bigint => BigInt(data)

/** Balance plus outgoing transfers: what the owner moved on is not missing. */
async function arrivedAt(chain: Chain, recorded: Recorded, balance: bigint, block: bigint): Promise<bigint> {
  if (recorded.firstBlock === null) return balance
  const outgoing = await listOutgoing(chain, recorded.address, recorded.firstBlock, block)
  return outgoing.reduce((sum, log) => sum + unitsOf(log), balance)
}

async function comparePage(chain: Chain, page: readonly Recorded[], block: bigint): Promise<BalanceFault[]> {
  const { chainId } = chain.network
  const calls = page.map(({ address }) => balanceCall(chain, address, block))
  const balances = (await chain.rpc.batch<Hex>(calls)).map(BigInt)
  const faults: BalanceFault[] = []
  for (const [index, recorded] of page.entries()) {
    const balance = balances[index] ?? 0n
    if (balance === recorded.units) continue
    const arrived = await arrivedAt(chain, recorded, balance, block)
    if (arrived === recorded.units) continue
    const [booked, expected] = [recorded.units.toString(), arrived.toString()]
    const subject = `address ${recorded.address}`
    faults.push({ companyId: recorded.companyId, subject, what: `USDC received on chain ${chainId}`, booked, expected })
  }
  return faults
}

/** Compares each watched deposit address with the recorded transfers at one block; a difference is checked twice. */
export async function auditDeposits(chain: Chain): Promise<BalanceFault[]> {
  const { db, network } = chain
  const scope = { chainId: network.chainId, token: network.usdcAddress.toLowerCase(), limit: PAGE }
  const faults: BalanceFault[] = []
  let after = ''
  for (;;) {
    const head = await findHead(db, network.chainId)
    if (!head) return faults
    const page = await listRecorded(db, { ...scope, block: head.number, after, only: null })
    const last = page.at(-1)
    if (!last) return faults
    after = last.address
    const doubtful = await comparePage(chain, page, head.number)
    if (doubtful.length === 0) continue
    const now = (await findHead(db, network.chainId)) ?? head
    const only = doubtful.map(({ subject }) => subject.slice('address '.length))
    const again = await listRecorded(db, { ...scope, block: now.number, after: '', only })
    faults.push(...(await comparePage(chain, again, now.number)))
  }
}

/**
 * The wallets that pay refunds and settlements: every transfer out of them must be one of ours. Incoming money
 * is the operator's business.
 */
export async function auditWallets(chain: Chain): Promise<BalanceFault[]> {
  const { db, network, rpc } = chain
  const { chainId } = network
  const head = await findHead(db, chainId)
  if (!head) return []
  const faults: BalanceFault[] = []
  for (const address of await listWallets(db, chainId)) {
    const { method, params } = balanceCall(chain, address, head.number)
    const balance = BigInt(await rpc.call<Hex>(method, ...params))
    const audited = await findAudited(db, chainId, address)
    const outgoing = audited === undefined ? [] : await listOutgoing(chain, address, audited + 1n, head.number)
    const own = await listOwnTransactions(
      db,
      chainId,
      outgoing.map(({ transactionHash }) => transactionHash),
    )
    const foreign = outgoing.filter(({ transactionHash }) => !own.has(transactionHash))
    // an unexplained transfer is found again next time
    if (foreign.length === 0) await upsertAudited(db, { chainId, address, block: head.number, balance })
    for (const log of foreign) {
      const what = `transfer ${log.transactionHash} on chain ${chainId}`
      const expected = unitsOf(log).toString()
      faults.push({ companyId: '', subject: `wallet ${address}`, what, booked: '0', expected })
    }
  }
  return faults
}
