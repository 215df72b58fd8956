/*
 * Valid shapes of a node's answer per method (Ethereum execution API, ethereum.github.io/execution-apis). An answer of
 * another shape counts as no answer: the next endpoint is asked.
 */
type Fits = (result: unknown) => boolean

const NUMBER = /^0x[0-9a-f]{1,64}$/i
const BYTES = /^0x[0-9a-f]*$/i
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
const ratio: Fits = (value) => typeof value === 'number'
const hash = text(HASH)
const place = { blockHash: hash, blockNumber: number }
const log = object({
  ...place,
  address: text(ADDRESS),
  topics: list(text(BYTES)),
  data: text(BYTES),
  transactionHash: hash,
  logIndex: number,
})
const receipt = object({ ...place, transactionHash: hash, logs: list(log) })
const block = object({ number, hash, parentHash: hash, timestamp: number, logsBloom: orNothing(text(BYTES)) })

const SHAPES: Readonly<Record<string, Fits>> = {
  eth_chainId: number,
  eth_blockNumber: number,
  eth_getBalance: number,
  eth_getTransactionCount: number,
  eth_estimateGas: number,
  eth_maxPriorityFeePerGas: number,
  eth_feeHistory: object({ gasUsedRatio: list(ratio), reward: orNothing(list(list(number))) }),
  eth_call: text(BYTES),
  eth_getLogs: list(log),
  eth_getBlockByNumber: orNothing(block),
  eth_getBlockByHash: orNothing(block),
  eth_getBlockReceipts: orNothing(list(receipt)),
  eth_getTransactionReceipt: orNothing(receipt),
  eth_getTransactionByHash: orNothing(object({ value: number })),
}

/** Whether the result is valid for this method; a method that is not listed may answer anything. */
export const canAnswer = (method: string, result: unknown): boolean => SHAPES[method]?.(result) ?? true
