import { getAddress } from 'viem/utils'
import type { Db } from '../../db/db.ts'
import { formatDecimal } from '../../kernel/money.ts'
import { readDomain } from '../endpoints/network-check.ts'
import { type Hex, type Rpc, toWord } from '../endpoints/rpc.ts'
import { inToken, type Network, networkName, tokenOf } from '../networks.ts'
import { readChainView } from '../payout/payout-view.ts'
import { readGasPrice } from '../payout/relayer/gas-price.ts'
import { authorizationStateCall, balanceCall } from '../payout/usdc-token.ts'
import { FORMAT, type SweepBatch, type SweepDeposit, sweepIdOf, sweepNonceOf } from './sweep-batch.ts'
import { listSweepable, type Sweep, type Sweepable } from './sweep-queries.ts'

export type SweepChain = { network: Network; rpc: Rpc }

/** A deposit address that can be emptied now. */
export type PlannedDeposit = Sweepable & { id: string; nonce: Hex }

/** Money that is not swept, and why. */
export type HeldDeposit = { address: Hex; units: bigint; reason: string }

/** What a sweep of one chain would do. */
export type ChainPlan = {
  chain: SweepChain
  deposits: PlannedDeposit[]
  /** Units below the minimum: moving them costs more than they are worth. */
  dustUnits: bigint
  held: HeldDeposit[]
  /** At the current fee, in the chain's native coin. */
  feeWei: bigint
}

/**
 * Measured for transferWithAuthorization of Circle's own contract: 85,464 to an address that holds USDC, 102,718 to one
 * that never did.
 */
const GAS = 90_000n
const PAGE = 100

const pagesOf = <Item>(items: readonly Item[]): Item[][] =>
  Array.from({ length: Math.ceil(items.length / PAGE) }, (_, index) => items.slice(index * PAGE, (index + 1) * PAGE))

async function askEach(
  { rpc }: SweepChain,
  list: readonly Sweepable[],
  call: (one: Sweepable) => { to: string; data: Hex },
  read: (answer: Hex, one: Sweepable) => bigint = toWord,
): Promise<bigint[]> {
  const answers: bigint[] = []
  for (const page of pagesOf(list)) {
    const calls = page.map((one) => ({ method: 'eth_call', params: [call(one), 'latest'] }))
    const said = await rpc.batch<Hex>(calls)
    answers.push(...page.map((one, index) => read(said[index] ?? '0x', one)))
  }
  return answers
}

/**
 * Finds a number whose authorization the token has not seen, even after our tables were restored from an older backup.
 */
async function skipUsed(chain: SweepChain, list: readonly Sweepable[]): Promise<Sweepable[]> {
  const { network } = chain
  const fresh = new Map<string, Sweepable>()
  let rest = [...list]
  while (rest.length > 0) {
    const used = await askEach(chain, rest, ({ address, number }) => {
      const nonce = sweepNonceOf(sweepIdOf(network.chainId, address, number))
      return authorizationStateCall(network, { from: address, nonce })
    })
    const known = rest
    rest = []
    for (const [index, one] of known.entries()) {
      if (used[index] === 0n) fresh.set(one.address, one)
      else rest.push({ ...one, number: one.number + 1 })
    }
  }
  return list.flatMap(({ address }) => fresh.get(address) ?? [])
}

/** An earlier contract that is gone holds nothing; of the present one, no answer is no balance. */
const readBalances = (chain: SweepChain, list: readonly Sweepable[]): Promise<bigint[]> =>
  askEach(
    chain,
    list,
    ({ address, token }) => balanceCall(inToken(chain.network, token), address),
    (answer, { token }) => (answer === '0x' && token !== tokenOf(chain.network) ? 0n : toWord(answer)),
  )

const reasonOf = ({ heldBy, underWay, doubt, token }: Sweepable, { chainId, ...network }: Network): string | null => {
  if (token !== tokenOf(network))
    return `it is in the contract ${getAddress(token)}, which CHAIN_${chainId}_USDC does not name now`
  if (underWay) return 'a sweep of it is under way'
  if (heldBy === 'KYT_FAILED') return 'its screening failed: return it, or decide by hand'
  if (heldBy !== null) return `its order is ${heldBy}`
  if (doubt === 'listed') return 'a sender is listed: see Identity and screening in the back office'
  return doubt === 'waiting' ? 'the screening of a sender is not done' : null
}

/**
 * Which deposits of a chain can be swept now, what that costs at the current fee, and what stays. Only final money is
 * moved, and never more than the address holds.
 * @throws RpcError
 */
export async function planSweep(
  db: Db,
  chain: SweepChain,
  { minUnits, screenFromUnits, limit }: { minUnits: bigint; screenFromUnits: bigint; limit: number },
): Promise<ChainPlan> {
  const { network, rpc } = chain
  const known = await listSweepable(db, { chainId: network.chainId, token: network.usdcAddress, screenFromUnits })
  const balances = await readBalances(chain, known)
  const holding = known.flatMap((one, index) => {
    const balance = balances[index] ?? 0n
    return balance === 0n ? [] : [{ ...one, units: balance < one.units ? balance : one.units }]
  })
  const held = holding.flatMap((one): HeldDeposit[] => {
    const reason = reasonOf(one, network)
    return reason === null ? [] : [{ address: one.address, units: one.units, reason }]
  })
  const free = holding.filter((one) => reasonOf(one, network) === null)
  const worth = free.filter(({ units }) => units >= minUnits).slice(0, limit)
  const dust = free.filter(({ units }) => units < minUnits)
  const deposits = (await skipUsed(chain, worth)).map((one) => {
    const id = sweepIdOf(network.chainId, one.address, one.number)
    return { ...one, id, nonce: sweepNonceOf(id) }
  })
  const { baseFee, tip } = await readGasPrice(rpc)
  return {
    ...{ chain, deposits, held },
    dustUnits: dust.reduce((sum, { units }) => sum + units, 0n),
    feeWei: BigInt(deposits.length) * GAS * (baseFee + tip),
  }
}

const sum = (list: readonly { units: bigint }[]): bigint => list.reduce((total, { units }) => total + units, 0n)

/** The plan as the command prints it; amounts in USDC, fees in native coin. */
export function viewPlan(plans: readonly ChainPlan[]) {
  const networks = plans.map(({ chain, deposits, dustUnits, feeWei }) => ({
    network: chain.network.chainId,
    name: chain.network.name,
    deposits: deposits.length,
    total: formatDecimal(sum(deposits), 6),
    fee: formatDecimal(feeWei, 18),
    dust: formatDecimal(dustUnits, 6),
  }))
  const [only] = networks
  return {
    deposits: plans.flatMap(({ chain, deposits }) =>
      deposits.map(({ address, units }) => ({
        network: chain.network.chainId,
        address: getAddress(address),
        amount: formatDecimal(units, 6),
      })),
    ),
    total: formatDecimal(sum(plans.flatMap(({ deposits }) => deposits)), 6),
    // different chains pay in different coins: see `networks`
    fee: networks.length === 1 && only ? only.fee : null,
    dust: formatDecimal(
      plans.reduce((total, { dustUnits }) => total + dustUnits, 0n),
      6,
    ),
    held: plans.flatMap(({ chain, held }) =>
      held.map(({ address, units, reason }) => ({
        ...{ network: chain.network.chainId, address: getAddress(address), amount: formatDecimal(units, 6), reason },
      })),
    ),
    networks,
  }
}

/**
 * What came home, and what it cost, as the command reports it. `fee`: null for several networks, whose coins differ.
 * @param swept those that are done
 */
export function sumUp(
  swept: readonly Pick<Sweep, 'chainId' | 'units' | 'feeWei'>[],
  known: readonly Pick<Network, 'chainId' | 'name' | 'coin'>[],
) {
  const networks = [...Map.groupBy(swept, ({ chainId }) => chainId)].map(([network, own]) => {
    const { name = networkName(network), coin = 'native coin' } = known.find(({ chainId }) => chainId === network) ?? {}
    const fee = formatDecimal(
      own.reduce((total, { feeWei }) => total + (feeWei ?? 0n), 0n),
      18,
    )
    return { network, name, coin, done: own.length, total: formatDecimal(sum(own), 6), fee }
  })
  const [only = { fee: formatDecimal(0n, 18) }, other] = networks
  return { total: formatDecimal(sum(swept), 6), fee: other ? null : only.fee, networks }
}

/** @param to destination on each chain; `validSeconds` validity of the signatures */
export async function makeBatch(
  plans: readonly ChainPlan[],
  { to, validSeconds, now }: { to: (chainId: number) => string; validSeconds: number; now: Date },
): Promise<SweepBatch> {
  const networks: SweepBatch['networks'] = []
  const deposits: SweepDeposit[] = []
  for (const { chain, deposits: planned } of plans.filter((plan) => plan.deposits.length > 0)) {
    const { network, rpc } = chain
    const { timestamp } = await readChainView(rpc, network)
    const domain = await readDomain(rpc, network)
    const { chainId, name, usdcAddress: token } = network
    networks.push({ network: chainId, name, token, domain, to: to(chainId) })
    const validBefore = (timestamp + BigInt(validSeconds)).toString()
    for (const { id, nonce, address, keyId, keyIndex, units } of planned)
      deposits.push({
        ...{ id, network: chainId, address: getAddress(address), account: keyId, index: Number(keyIndex) },
        ...{ amount: formatDecimal(units, 6), units: units.toString(), nonce, validBefore, signature: null },
      })
  }
  return { format: FORMAT, createdAt: now.toISOString(), networks, deposits }
}
