import type { Db } from '../../db/db.ts'
import { type BlockId, findHead } from '../chain-queries.ts'
import type { Endpoint } from '../endpoints/endpoint.ts'
import { type Endpoints, provenEndpoints } from '../endpoints/endpoints.ts'
import { type Hex, type RpcCall, RpcError, toWord } from '../endpoints/rpc.ts'
import type { Network } from '../networks.ts'
import { balanceCall } from '../payout/usdc-token.ts'
import { listOutgoing } from '../rescan.ts'
import { blockCall, type RpcBlock, type RpcLog, toHex } from '../transfer-logs.ts'
import { findAudited, listRecorded, listWallets, type Recorded, upsertAudited } from './balance-audit-queries.ts'
import { withoutOwn } from './own-transfers.ts'

type Chain = { db: Db; network: Network; endpoints: Endpoints }

/** An address with an unexpected balance; for a wallet the company is ''. */
export type BalanceFault = { companyId: string; subject: string; what: string; booked: string; expected: string }

/** `compared`: the subjects of the open differences that were looked at once more; the others stay open. */
export type BalanceAudit = { faults: BalanceFault[]; compared: string[] }

const PAGE = 100
const ADDRESS = 'address '
const WALLET = 'wallet '
const subjectOf = ({ address }: Recorded): string => ADDRESS + address

const balanceAt = ({ network }: Chain, address: string, block: bigint) => ({
  method: 'eth_call',
  params: [balanceCall(network, address), toHex(block)],
})

/**
 * What the first endpoint that answers says, and which one it is: what left until a block is asked of one that has it.
 * @throws RpcError if none answers
 */
async function askFirst(chain: Chain, calls: readonly RpcCall[]): Promise<{ endpoint: Endpoint; answers: bigint[] }> {
  let last: unknown
  for (const endpoint of await provenEndpoints(chain)) {
    try {
      return { endpoint, answers: (await endpoint.rpc.batch<Hex>(calls)).map(toWord) }
    } catch (error) {
      if (!(error instanceof RpcError)) throw error
      last = error
    }
  }
  throw last
}

type Sent = { address: string; from: bigint; to: bigint }

/** Transfers of USDC from an address, both blocks included. @throws RpcError */
const listSent = ({ network }: Chain, endpoint: Endpoint, { address, ...range }: Sent): Promise<RpcLog[]> =>
  listOutgoing(network, endpoint, { senders: [address], ...range })

const sumOf = (logs: readonly RpcLog[]): bigint => logs.reduce((sum, { data }) => sum + toWord(data), 0n)

/** Balance plus outgoing transfers: money that the owner moved on is not missing. */
async function arrivedAt(
  chain: Chain,
  endpoint: Endpoint,
  { recorded, balance, block }: { recorded: Recorded; balance: bigint; block: bigint },
): Promise<bigint> {
  const { address, firstBlock, outflowUnits, outflowTo } = recorded
  if (firstBlock === null) return balance + outflowUnits
  const from = outflowTo + 1n > firstBlock ? outflowTo + 1n : firstBlock
  return balance + outflowUnits + sumOf(await listSent(chain, endpoint, { address, from, to: block }))
}

async function comparePage(chain: Chain, page: readonly Recorded[], block: bigint): Promise<BalanceFault[]> {
  const { chainId } = chain.network
  const calls = page.map(({ address }) => balanceAt(chain, address, block))
  const { endpoint, answers: balances } = await askFirst(chain, calls)
  const faults: BalanceFault[] = []
  for (const [index, recorded] of page.entries()) {
    const balance = balances[index] ?? 0n
    if (balance + recorded.outflowUnits === recorded.units) continue
    const arrived = await arrivedAt(chain, endpoint, { recorded, balance, block })
    if (arrived === recorded.units) continue
    const [booked, expected] = [recorded.units.toString(), arrived.toString()]
    const subject = subjectOf(recorded)
    faults.push({ companyId: recorded.companyId, subject, what: `USDC received on chain ${chainId}`, booked, expected })
  }
  return faults
}

/**
 * Whether the chain still has the block up to which it was read. Until a reorganisation has been read, balances and
 * records describe different chains; a difference that remains is found by the next audit.
 */
async function isStillThere({ endpoints: { rpc } }: Chain, { number, hash }: BlockId): Promise<boolean> {
  const { method, params } = blockCall(number)
  return (await rpc.call<RpcBlock | null>(method, ...params))?.hash === hash
}

/**
 * Compares each watched deposit address with the recorded transfers at one block; checks a difference twice.
 * @param known subjects of the open differences on this chain: their addresses are compared, watched or not
 */
export async function auditDeposits(chain: Chain, known: readonly string[] = []): Promise<BalanceAudit> {
  const { db, network } = chain
  const open = known.filter((one) => one.startsWith(ADDRESS)).map((one) => one.slice(ADDRESS.length))
  const isOpen = ({ address }: Recorded): boolean => open.includes(address)
  const scope = { chainId: network.chainId, token: network.usdcAddress.toLowerCase(), limit: PAGE, open }
  const faults: BalanceFault[] = []
  const compared: string[] = []
  let after = ''
  for (;;) {
    const head = await findHead(db, network.chainId)
    if (!head) return { faults, compared }
    const page = await listRecorded(db, { ...scope, block: head.number, after, only: null })
    const last = page.at(-1)
    if (!last) return { faults, compared }
    after = last.address
    const doubtful = await comparePage(chain, page, head.number)
    const only = doubtful.map(({ subject }) => subject.slice(ADDRESS.length))
    compared.push(...page.filter((one) => isOpen(one) && !only.includes(one.address)).map(subjectOf))
    if (doubtful.length === 0) continue
    const now = (await findHead(db, network.chainId)) ?? head
    const again = await listRecorded(db, { ...scope, block: now.number, after: '', only })
    const found = await comparePage(chain, again, now.number)
    if (found.length > 0 && !(await isStillThere(chain, now))) continue
    faults.push(...found)
    compared.push(...again.filter(isOpen).map(subjectOf))
  }
}

/** A reorganisation may put a transfer into a block below the last one checked. */
const LOOK_BACK = 256n

/** Whether a person answers for a transfer that we cannot explain. */
export type IsAnsweredFor = (fault: BalanceFault, transaction: { chainId: number; txHash: string }) => Promise<boolean>

type Foreign = { fault: BalanceFault; block: bigint }

/** Transfers out of a wallet in these blocks that we did not make, one fault per transaction. */
async function listForeign(
  chain: Chain,
  endpoint: Endpoint,
  { sent, isAnsweredFor }: { sent: Sent; isAnsweredFor: IsAnsweredFor },
): Promise<Foreign[]> {
  const { chainId } = chain.network
  const shown = (await listSent(chain, endpoint, sent)).map((log) => ({ log }))
  const hashOf = ({ log }: { log: RpcLog }): string => log.transactionHash
  const whole = Map.groupBy(shown, hashOf)
  const unexplained = await withoutOwn({ ...chain, rpc: endpoint.rpc }, sent.address, shown)
  const foreign: Foreign[] = []
  for (const [txHash, rest] of Map.groupBy(unexplained, hashOf)) {
    const what = `transfer ${txHash} on chain ${chainId}`
    const faultOf = (some: typeof shown): BalanceFault => {
      const expected = sumOf(some.map(({ log }) => log)).toString()
      return { companyId: '', subject: WALLET + sent.address, what, booked: '0', expected }
    }
    const fault = faultOf(rest)
    // a person who named the transaction for all that it paid answers for our payouts in it as well
    const all = faultOf(whole.get(txHash) ?? rest)
    if (await isAnsweredFor(fault, { chainId, txHash })) continue
    if (all.expected !== fault.expected && (await isAnsweredFor(all, { chainId, txHash }))) continue
    foreign.push({ fault, block: BigInt(rest[0]?.log.blockNumber ?? sent.from) })
  }
  return foreign
}

/**
 * Audits the wallets that pay refunds and settlements: every transfer out of them must be ours. Incoming money is the
 * operator's business.
 */
export async function auditWallets(chain: Chain, isAnsweredFor: IsAnsweredFor): Promise<BalanceAudit> {
  const { db, network } = chain
  const { chainId } = network
  const head = await findHead(db, chainId)
  const faults: BalanceFault[] = []
  const compared: string[] = []
  if (!head) return { faults, compared }
  for (const address of await listWallets(db, chainId)) {
    const { endpoint, answers } = await askFirst(chain, [balanceAt(chain, address, head.number)])
    const [balance = 0n] = answers
    const audited = await findAudited(db, chainId, address)
    const sent = { address, from: (audited ?? head.number) + 1n, to: head.number }
    const foreign = await listForeign(chain, endpoint, { sent, isAnsweredFor })
    faults.push(...foreign.map(({ fault }) => fault))
    // an unexplained transfer is found again by the next audit
    const settled = foreign.reduce((least, { block }) => (block <= least ? block - 1n : least), head.number - LOOK_BACK)
    const block = audited === undefined ? head.number : settled > audited ? settled : audited
    await upsertAudited(db, { chainId, address, block, balance })
    compared.push(WALLET + address)
  }
  return { faults, compared }
}
