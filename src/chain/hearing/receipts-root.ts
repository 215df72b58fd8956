import { keccak256, toRlp } from 'viem/utils'
import type { Hex } from '../endpoints/rpc.ts'
import type { RpcBlock, RpcLog } from '../transfer-logs.ts'
import { toBytes } from './header-proof.ts'

/** Of all that a node says in a receipt, the block's hash holds what is named here, and no more. */
export type RpcReceipt = {
  blockHash: string
  type?: string | null
  status?: string | null
  /** Instead of a status, before Byzantium. */
  root?: string | null
  cumulativeGasUsed?: string
  logsBloom?: string
  logs: RpcLog[]
  /** Of OP chains, in the receipt of a deposit. */
  depositNonce?: string | null
  depositReceiptVersion?: string | null
}

type Nested = Hex | readonly Nested[]

/** The root of a trie that holds nothing. */
export const EMPTY_ROOT = keccak256('0x80')

const LEGACY = 0
const OP_DEPOSIT = 0x7e

/**
 * Whole bytes, and nothing else: whoever shows a topic without its first zero would show another text under the same
 * bytes, so that a log is in its receipts and fits no filter.
 * @throws RangeError
 */
function bytes(value: unknown): Hex {
  if (typeof value !== 'string' || !/^0x([0-9a-f]{2})*$/i.test(value)) throw new RangeError('these are not whole bytes')
  return value as Hex
}

const encodeLog = ({ address, topics, data }: RpcLog): Nested => [bytes(address), topics.map(bytes), bytes(data)]

/**
 * Those of a deposit hold two more fields since Canyon (OP specification, "Deposit Receipt").
 * @throws RangeError, TypeError, SyntaxError
 */
function depositFields(receipt: RpcReceipt): Hex[] {
  const { depositNonce, depositReceiptVersion } = receipt
  if (depositReceiptVersion == null || depositNonce == null) return []
  return [toBytes(depositNonce), toBytes(depositReceiptVersion)]
}

/**
 * A receipt as its chain hashes it: EIP-658, and EIP-2718 for all types, whose payloads are the same (EIP-2930, 1559,
 * 4844, 7702), except for the deposits of OP chains.
 * @throws an error if a field is no such value
 */
function encode(receipt: RpcReceipt): Hex {
  const type = Number(receipt.type ?? LEGACY)
  const { status, root, cumulativeGasUsed = '', logs } = receipt
  const outcome = status == null ? bytes(root) : toBytes(status)
  const fields: Nested[] = [outcome, toBytes(cumulativeGasUsed), bytes(receipt.logsBloom), logs.map(encodeLog)]
  const payload = toRlp(type === OP_DEPOSIT ? [...fields, ...depositFields(receipt)] : fields)
  return type === LEGACY ? payload : (`${toBytes(String(type))}${payload.slice(2)}` as Hex)
}

/** Under which half-bytes a trie keeps a value. */
type Entry = { path: string; value: Hex }

/** The half-bytes that remain, and whether they end at a value (Yellow Paper, appendix C). */
function compact(path: string, isLeaf: boolean): Hex {
  const flag = (isLeaf ? 2 : 0) + (path.length % 2)
  return `0x${flag}${path.length % 2 === 0 ? '0' : ''}${path}`
}

/** A node that is shorter than a hash stands in its parent itself. */
function refer(node: Nested): Nested {
  const encoded = toRlp(node as Hex)
  return encoded.length < 2 + 2 * 32 ? node : keccak256(encoded)
}

/** @param entries at least one; no path is the beginning of another */
function nodeOf(entries: readonly Entry[], from: number): Nested {
  const [first] = entries as [Entry]
  if (entries.length === 1) return [compact(first.path.slice(from), true), first.value]
  let end = from
  while (entries.every(({ path }) => path[end] === first.path[end])) end += 1
  if (end > from) return [compact(first.path.slice(from, end), false), refer(nodeOf(entries, end))]
  const byDigit = Map.groupBy(entries, ({ path }) => path[from])
  const children = [...'0123456789abcdef'].map((digit): Nested => {
    const below = byDigit.get(digit)
    return below ? refer(nodeOf(below, from + 1)) : '0x'
  })
  return [...children, '0x']
}

/** The root of a Merkle Patricia trie of values by their place, as of the receipts of a block (Yellow Paper, 4.3.2). */
export function rootOf(values: readonly Hex[]): Hex {
  if (values.length === 0) return EMPTY_ROOT
  const entries = values.map((value, index) => ({ path: toRlp(toBytes(String(index))).slice(2), value }))
  return keccak256(toRlp(nodeOf(entries, 0) as Hex))
}

/**
 * Whether these are the receipts that the block's hash holds, each with all its logs. False proves nothing: some chains
 * encode theirs otherwise, or keep some outside of the root.
 * @param header one that its hash proves (`isProven`)
 * @param receipts all of the block, in its order
 */
export function areProven(header: RpcBlock, receipts: readonly RpcReceipt[]): boolean {
  const { receiptsRoot, transactionsRoot } = header as RpcBlock & Record<string, unknown>
  // a chain that has no such root may name that of nothing
  if (receipts.length === 0 && transactionsRoot !== EMPTY_ROOT) return false
  try {
    return rootOf(receipts.map(encode)) === String(receiptsRoot).toLowerCase()
  } catch {
    return false
  }
}
