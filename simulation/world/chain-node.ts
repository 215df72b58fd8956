import { setTimeout as sleep } from 'node:timers/promises'
import { toHex } from 'viem'
import type { HttpAnswer, HttpRequest } from '../virtual/network.ts'
import type { ChainTransaction, SimulatedBlock, SimulatedChain } from './chain.ts'
import type { Hex } from './token.ts'

/** How a node misbehaves for a while. `slow`: six seconds per answer. `empty`: no logs. `foreign`: another chain. */
export type NodeTrouble = 'none' | 'down' | 'slow' | 'empty' | 'foreign'

type Call = { id: unknown; method: string; params: unknown[] }

const FOREIGN_ID = 999_331
const SLOW_MS = 6000

/** An endpoint of the chain: JSON-RPC over HTTP, some blocks behind, honest unless the run decides otherwise. */
export class ChainNode {
  readonly #chain: SimulatedChain
  trouble: NodeTrouble = 'none'
  /** Blocks that it has not heard of yet. */
  lag = 0

  constructor(chain: SimulatedChain) {
    this.#chain = chain
  }

  async answer({ body }: HttpRequest): Promise<HttpAnswer> {
    const headers = { 'content-type': 'application/json' }
    if (this.trouble === 'down') return { status: 503, headers: { 'content-type': 'text/html' }, body: '<h1>503</h1>' }
    if (this.trouble === 'slow') await sleep(SLOW_MS)
    const asked = JSON.parse(body) as Call | Call[]
    const answers = []
    for (const call of Array.isArray(asked) ? asked : [asked]) answers.push(await this.#one(call))
    return { status: 200, headers, body: JSON.stringify(Array.isArray(asked) ? answers : answers[0]) }
  }

  async #one({ id, method, params }: Call): Promise<unknown> {
    try {
      return { jsonrpc: '2.0', id, result: await this.#result(method, params) }
    } catch (error) {
      return { jsonrpc: '2.0', id, error: { code: 3, message: (error as Error).message } }
    }
  }

  get #head(): number {
    return Math.max(0, this.#chain.head.number - this.lag)
  }

  #numberOf(where: unknown): number {
    if (typeof where === 'object' && where !== null && 'blockHash' in where) {
      const block = this.#chain.blockOf(String(where.blockHash))
      if (!block || block.number > this.#head) throw new Error('header not found')
      return block.number
    }
    return typeof where === 'string' && where.startsWith('0x') ? Number(BigInt(where)) : this.#head
  }

  async #result(method: string, params: unknown[]): Promise<unknown> {
    const chain = this.#chain
    const isForeign = this.trouble === 'foreign'
    switch (method) {
      case 'eth_chainId':
        return toHex(isForeign ? FOREIGN_ID : chain.chainId)
      case 'eth_blockNumber':
        return toHex(this.#head)
      case 'eth_getBlockByNumber':
        return this.#show(chain.blocks[this.#numberOf(params[0])])
      case 'eth_getBlockByHash':
        return this.#show(chain.blockOf(String(params[0])))
      case 'eth_getLogs':
        return this.#logs(params[0] as Record<string, unknown>)
      case 'eth_getBlockReceipts':
        return this.#receipts(String(params[0]))
      case 'eth_call':
        return chain.call(params[0] as { to: string; data: Hex }, this.#numberOf(params[1]))
      case 'eth_getTransactionReceipt':
        return this.#receipt(String(params[0]))
      case 'eth_getTransactionByHash':
        return this.#transaction(String(params[0]))
      case 'eth_getTransactionCount':
        return toHex(chain.accountNonce(String(params[0])))
      case 'eth_getBalance':
        return this.#chain.isEndowed(String(params[0])) ? '0x56bc75e2d63100000' : '0x0'
      case 'eth_maxPriorityFeePerGas':
        return '0x3b9aca00'
      case 'eth_estimateGas':
        return '0x186a0'
      case 'eth_sendRawTransaction':
        return chain.submit(params[0] as Hex)
      default:
        throw new Error(`the simulated node does not know ${method}`)
    }
  }

  /** Another chain has other hashes at every height. */
  #foreignHash(hash: Hex): Hex {
    return this.trouble === 'foreign' ? (`0xf${hash.slice(3)}` as Hex) : hash
  }

  #show(block: SimulatedBlock | undefined): unknown {
    if (!block || block.number > this.#head) return null
    const { number, timestamp, logsBloom } = block
    return {
      number: toHex(number),
      hash: this.#foreignHash(block.hash),
      parentHash: this.#foreignHash(block.parentHash),
      timestamp: toHex(timestamp),
      logsBloom: this.trouble === 'foreign' ? `0x${'0'.repeat(512)}` : logsBloom,
      baseFeePerGas: '0x3b9aca00',
    }
  }

  #logs(filter: Record<string, unknown>): unknown {
    if (this.trouble === 'empty' || this.trouble === 'foreign') return []
    const where = {
      from: filter.fromBlock === undefined ? 0 : this.#numberOf(filter.fromBlock),
      to: Math.min(this.#head, filter.toBlock === undefined ? this.#head : this.#numberOf(filter.toBlock)),
      ...(typeof filter.blockHash === 'string' ? { blockHash: filter.blockHash } : {}),
    }
    return this.#chain.logs(where, filter as { topics?: (Hex | Hex[] | null)[] })
  }

  #receipts(hash: string): unknown {
    const block = this.#chain.blockOf(hash)
    if (!block || block.number > this.#head || this.trouble === 'empty') return null
    return block.transactions.map((transaction) => this.#receiptOf(block, transaction))
  }

  #receipt(hash: string): unknown {
    const found = this.#chain.find(hash)
    if (!found?.block || found.block.number > this.#head) return null
    return this.#receiptOf(found.block, found.transaction)
  }

  #receiptOf(block: SimulatedBlock, { hash, from, authorization }: ChainTransaction): unknown {
    const logs = block.logs.filter(({ transactionHash }) => transactionHash === hash)
    const { number, hash: blockHash } = block
    const status = logs.length > 0 || authorization?.nonce === null ? '0x1' : '0x0'
    return { transactionHash: hash, blockHash, blockNumber: toHex(number), status, logs, from }
  }

  #transaction(hash: string): unknown {
    const found = this.#chain.find(hash)
    if (!found) return null
    const { block, transaction } = found
    const place = block && block.number <= this.#head ? toHex(block.number) : null
    const { from, token: to } = transaction
    return { hash, from, to, value: '0x0', blockNumber: place, blockHash: place === null ? null : block?.hash }
  }
}
