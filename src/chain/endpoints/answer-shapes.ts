/*
 * Valid shapes of a node's answer per method (Ethereum execution API, ethereum.github.io/execution-apis). An answer of
 * another shape, or about another block, counts as no answer: the next endpoint is asked.
 */
type Fits = (result: unknown) => boolean
type Call = { method: string; params: readonly unknown[] }

const NUMBER = /^0x[0-9a-f]{1,64}$/i
const BYTES = /^0x[0-9a-f]*$/i
const STATUS = /^0x[01]$/
const HASH = /^0x[0-9a-f]{64}$/i
const ADDRESS = /^0x[0-9a-f]{40}$/i

const text =
  (pattern: RegExp): Fits =>
  (value) =>
    typeof value === 'string' && pattern.test(value)
const list =
  (item: Fits): Fits =>
  (value) =>
    Array.isArray(value) && value.every(item)
/** Also accepts a missing value. */
const orNothing =
  (fits: Fits): Fits =>
  (value) =>
    value === null || value === undefined || fits(value)
const object =
  (fields: Readonly<Record<string, Fits>>): Fits =>
  (value) =>
    typeof value === 'object' &&
    value !== null &&
    Object.entries(fields).every(([name, fits]) => fits((value as Record<string, unknown>)[name]))

const number = text(NUMBER)
const below =
  (end: bigint): Fits =>
  (value) =>
    number(value) && BigInt(value as string) < end
/** A height, a time in seconds, an account's nonce, or gas: what a date and a column of a table can hold. */
const count = below(2n ** 40n)
/** The place of a log in its block, whose column is smaller. */
const index = below(2n ** 31n)
/** What one unit of gas costs: times the gas, its column still holds it. */
const price = below(2n ** 128n)
const any: Fits = () => true
const hash = text(HASH)
const place = { blockHash: hash, blockNumber: count }
const log = object({
  ...place,
  address: text(ADDRESS),
  topics: list(text(BYTES)),
  data: text(BYTES),
  transactionHash: hash,
  logIndex: index,
})
const receiptFields = { ...place, transactionHash: hash, logs: list(log) }
const receipt = object(receiptFields)
const ownReceipt = object({
  ...{ ...receiptFields, from: orNothing(text(ADDRESS)), status: text(STATUS) },
  ...{ gasUsed: orNothing(count), effectiveGasPrice: orNothing(price), l1Fee: orNothing(number) },
})
const block = object({
  ...{ number: count, hash, parentHash: hash, timestamp: count, logsBloom: orNothing(text(BYTES)) },
  ...{ baseFeePerGas: orNothing(number), transactions: orNothing(list(any)) },
})
const transaction = object({ value: number, to: orNothing(text(ADDRESS)), input: orNothing(text(BYTES)) })

const SHAPES: Readonly<Record<string, Fits>> = {
  eth_chainId: number,
  eth_blockNumber: count,
  eth_getBalance: number,
  eth_getTransactionCount: count,
  eth_estimateGas: number,
  eth_maxPriorityFeePerGas: number,
  eth_call: text(BYTES),
  eth_getLogs: list(log),
  eth_getBlockByNumber: orNothing(block),
  eth_getBlockByHash: orNothing(block),
  eth_getBlockReceipts: orNothing(list(receipt)),
  eth_getTransactionReceipt: orNothing(ownReceipt),
  eth_getTransactionByHash: orNothing(transaction),
  eth_sendRawTransaction: hash,
}

/**
 * Questions that a node need not answer: whoever asks judges the answer, and one without it is no worse for anything
 * else.
 */
const OPTIONAL = new Set(['eth_feeHistory'])
export const isOptional = ({ method }: Pick<Call, 'method'>): boolean => OPTIONAL.has(method)

/** Every node has a newest block; another one it may not know. */
const asksNewestBlock = ({ method, params }: Call): boolean =>
  method === 'eth_getBlockByNumber' && params[0] === 'latest'

const isSame = (left: string, right: string): boolean => left.toLowerCase() === right.toLowerCase()

/**
 * Whether a block is the one that was asked for, and logs are of that block. Whoever reads them relies on that: the
 * true header of another block would prove what is not in this one.
 */
function isAsked({ method, params: [which] }: Call, result: unknown): boolean {
  if (result === null || result === undefined) return true
  if (method === 'eth_getLogs') {
    const { blockHash } = (which ?? {}) as { blockHash?: string }
    return (
      blockHash === undefined || (result as { blockHash: string }[]).every((one) => isSame(one.blockHash, blockHash))
    )
  }
  if (typeof which !== 'string') return true
  const { hash: itsHash, number: itsNumber } = result as { hash: string; number: string }
  if (method === 'eth_getBlockByHash') return isSame(itsHash, which)
  if (method !== 'eth_getBlockByNumber' || !NUMBER.test(which)) return true
  return BigInt(itsNumber) === BigInt(which)
}

/** Whether the result is valid for this call; a method that is not listed may answer anything. */
export const canAnswer = (call: Call, result: unknown): boolean =>
  (SHAPES[call.method]?.(result) ?? true) && !(result === null && asksNewestBlock(call)) && isAsked(call, result)
