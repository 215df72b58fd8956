import { keccak256, parseTransaction, recoverTransactionAddress, toHex } from 'viem'
import type { Random } from '../virtual/random.ts'
import { answerCall, decodeAuthorized, type Hex, TOPICS, wordOf } from './token.ts'

/** A transaction that moves the token. */
export type ChainTransaction = {
  hash: Hex
  from: Hex
  to: Hex
  token: Hex
  units: bigint
  /**
   * An authorization that a relayer submits, or one that only uses up an account nonce (`nonce` is null); null for a
   * payer's own transfer.
   */
  authorization: { nonce: Hex | null; relayer: Hex; accountNonce: number } | null
}

type Log = {
  address: Hex
  topics: Hex[]
  data: Hex
  blockHash: Hex
  blockNumber: Hex
  transactionHash: Hex
  logIndex: Hex
}

export type SimulatedBlock = {
  number: number
  hash: Hex
  parentHash: Hex
  timestamp: number
  logs: Log[]
  logsBloom: Hex
  transactions: ChainTransaction[]
}

type Moved = { block: number; units: bigint }

const BLOOM_BYTES = 256
/**
 * Older blocks keep only their header, and their transfers are in the balances. No reorganisation reaches that deep.
 */
const KEPT_BODIES = 4000

/** The bits of a header's bloom that one item sets (Yellow Paper, 4.3.1). */
function bitsOf(item: Hex): number[] {
  const hash = Buffer.from(keccak256(item).slice(2), 'hex')
  return [0, 2, 4].map((at) => hash.readUInt16BE(at) & 2047)
}

const FIXED_BITS = new Map<Hex, number[]>()
const fixedBits = (item: Hex): number[] => {
  const known = FIXED_BITS.get(item) ?? bitsOf(item)
  FIXED_BITS.set(item, known)
  return known
}

/**
 * A chain in memory, as its nodes see it: blocks with blooms, a pool of transactions, balances at every block, and the
 * reorganisations that the run draws. It holds the truth about money that the books are compared with.
 */
export class SimulatedChain {
  readonly chainId = 31337
  readonly token: Hex = '0x700b6a60ce7eaaea56f065753d8dcb9653dbad35'
  readonly blocks: SimulatedBlock[] = []
  readonly #byHash = new Map<string, SimulatedBlock>()
  readonly #random: Random
  readonly #now: () => number
  #pool: ChainTransaction[] = []
  /** Inflows and outflows of each address, in the order of blocks. */
  readonly #moves = new Map<string, Moved[]>()
  readonly #places = new Map<Hex, { block: number; transaction: ChainTransaction }>()
  readonly #usedAuthorizations = new Map<string, Hex>()
  readonly #accountNonces = new Map<string, number>()
  /** An address's balance before the retained moves. */
  readonly #purses = new Map<string, bigint>()
  readonly #endowed = new Set<string>()
  /** Transfers of payers who do not check whether a reorganisation dropped them. */
  readonly careless = new Set<string>()
  /** Destinations of such transfers that are lost for good. */
  readonly abandoned = new Set<string>()
  reorganisations = 0
  /** Reorganisations deeper than finality. */
  losses = 0

  constructor(random: Random, now: () => number) {
    this.#random = random
    this.#now = now
    for (let number = 0; number < 5; number += 1) this.mine()
  }

  get head(): SimulatedBlock {
    const head = this.blocks.at(-1)
    if (!head) throw new Error('the chain is empty')
    return head
  }

  /** Test money for a wallet, before its first transfer. */
  fund(address: string, units: bigint): void {
    this.#purses.set(address.toLowerCase(), units)
  }

  /** A wallet that can pay for its transactions. */
  endow(address: string): void {
    this.#endowed.add(address.toLowerCase())
  }

  isEndowed(address: string): boolean {
    return this.#endowed.has(address.toLowerCase())
  }

  /** A payer sends the token; it waits for the next block. */
  pay(to: string, units: bigint, from?: string): Hex {
    const hash = toHex(this.#random.bytes(32))
    const sender = (from ?? toHex(this.#random.bytes(20))) as Hex
    const transaction = { hash, from: sender, to: to.toLowerCase() as Hex, token: this.token, units }
    this.#pool.push({ ...transaction, authorization: null })
    return hash
  }

  /** Submits signed bytes, as `eth_sendRawTransaction` does. @throws Error with geth's wording */
  async submit(raw: Hex): Promise<Hex> {
    const hash = keccak256(raw)
    if (this.#places.has(hash) || this.#pool.some((one) => one.hash === hash)) throw new Error('already known')
    const { nonce: accountNonce = 0, data = '0x' } = parseTransaction(raw)
    const relayer = await recoverTransactionAddress({ serializedTransaction: raw as `0x02${string}` })
    if (accountNonce < this.accountNonce(relayer)) throw new Error('nonce too low')
    const { from, to, units, nonce } =
      data === '0x' ? { from: relayer, to: relayer, units: 0n, nonce: null } : decodeAuthorized(data)
    const same = (one: ChainTransaction): boolean =>
      one.authorization?.relayer === relayer && one.authorization.accountNonce === accountNonce
    this.#pool = this.#pool.filter((one) => !same(one))
    this.#pool.push({ hash, from, to, token: this.token, units, authorization: { nonce, relayer, accountNonce } })
    return hash
  }

  accountNonce(address: string): number {
    return this.#accountNonces.get(address.toLowerCase()) ?? 0
  }

  isUsed(from: string, nonce: string): boolean {
    return this.#usedAuthorizations.has(`${from.toLowerCase()} ${nonce.toLowerCase()}`)
  }

  /** Units at an address after a block. */
  balanceAt(address: string, block = this.head.number): bigint {
    const key = address.toLowerCase()
    let sum = this.#purses.get(key) ?? 0n
    for (const move of this.#moves.get(key) ?? []) if (move.block <= block) sum += move.units
    return sum
  }

  blockOf(hash: string): SimulatedBlock | undefined {
    return this.#byHash.get(hash)
  }

  find(hash: string): { block: SimulatedBlock | null; transaction: ChainTransaction } | null {
    const place = this.#places.get(hash as Hex)
    if (place) return { block: this.blocks[place.block] ?? null, transaction: place.transaction }
    const waiting = this.#pool.find((one) => one.hash === hash)
    return waiting ? { block: null, transaction: waiting } : null
  }

  /** Transfers to an address, each with its block; null: it waits. */
  transfersTo(address: string): { hash: Hex; units: string; block: number | null; blockHash: Hex | null }[] {
    const to = address.toLowerCase()
    const mined = this.blocks.flatMap(({ number, hash: blockHash, transactions }) =>
      transactions.map((transaction) => ({ transaction, block: number, blockHash })),
    )
    const waiting = this.#pool.map((transaction) => ({ transaction, block: null, blockHash: null }))
    return [...mined, ...waiting]
      .filter(({ transaction }) => transaction.to === to)
      .map(({ transaction: { hash, units }, ...place }) => ({ hash, units: String(units), ...place }))
  }

  mine(): SimulatedBlock {
    const waiting = this.#pool
    this.#pool = []
    return this.#add(waiting, Math.floor(this.#now() / 1000))
  }

  #add(transactions: readonly ChainTransaction[], timestamp: number): SimulatedBlock {
    const number = this.blocks.length
    const block: SimulatedBlock = {
      number,
      hash: toHex(this.#random.bytes(32)),
      parentHash: this.blocks.at(-1)?.hash ?? `0x${'0'.repeat(64)}`,
      timestamp: Math.max(timestamp, (this.blocks.at(-1)?.timestamp ?? 0) + 1),
      logs: [],
      logsBloom: '0x',
      transactions: [],
    }
    for (const transaction of transactions) this.#include(block, transaction)
    block.logsBloom = this.#bloomOf(block.logs)
    this.blocks.push(block)
    this.#byHash.set(block.hash, block)
    this.#settle(this.blocks[number - KEPT_BODIES])
    return block
  }

  /** Forgets an old block's body, so that a long run needs no more memory than a short one. */
  #settle(block: SimulatedBlock | undefined): void {
    if (!block) return
    for (const { hash, from, to, authorization } of block.transactions) {
      this.#places.delete(hash)
      if (authorization?.nonce)
        this.#usedAuthorizations.delete(`${from.toLowerCase()} ${authorization.nonce.toLowerCase()}`)
      for (const address of [from, to]) this.#sumUp(address.toLowerCase(), block.number)
    }
    Object.assign(block, { transactions: [], logs: [] })
  }

  #sumUp(key: string, block: number): void {
    const moves = this.#moves.get(key) ?? []
    const kept = moves.filter((move) => move.block > block)
    const settled = moves.reduce((sum, move) => (move.block > block ? sum : sum + move.units), 0n)
    this.#purses.set(key, (this.#purses.get(key) ?? 0n) + settled)
    if (kept.length === 0) this.#moves.delete(key)
    else this.#moves.set(key, kept)
  }

  /** An address that will not be queried any more. */
  forget(address: string): void {
    this.#purses.delete(address.toLowerCase())
    this.#moves.delete(address.toLowerCase())
  }

  /** A relayer's transaction waits for its turn; one whose authorization is used does nothing. */
  #include(block: SimulatedBlock, transaction: ChainTransaction): void {
    const { authorization, from, to, units, hash } = transaction
    if (authorization) {
      const { relayer, accountNonce, nonce } = authorization
      const next = this.accountNonce(relayer)
      if (accountNonce > next) return void this.#pool.push(transaction)
      if (accountNonce < next) return
      this.#accountNonces.set(relayer.toLowerCase(), next + 1)
      if (nonce === null) {
        this.#places.set(hash, { block: block.number, transaction })
        block.transactions.push(transaction)
        return
      }
      const key = `${from.toLowerCase()} ${nonce.toLowerCase()}`
      const fails = this.#usedAuthorizations.has(key) || this.balanceAt(from) < units
      this.#places.set(hash, { block: block.number, transaction })
      block.transactions.push(transaction)
      if (fails) return
      this.#usedAuthorizations.set(key, hash)
      this.#log(block, transaction, [TOPICS.authorizationUsed, wordOf(from), nonce], '0x')
    } else {
      this.#places.set(hash, { block: block.number, transaction })
      block.transactions.push(transaction)
    }
    this.#log(block, transaction, [TOPICS.transfer, wordOf(from), wordOf(to)], toHex(units, { size: 32 }))
    this.#move(from, { block: block.number, units: -units })
    this.#move(to, { block: block.number, units })
  }

  #log(block: SimulatedBlock, { hash, token }: ChainTransaction, topics: Hex[], data: Hex): void {
    const { number, hash: blockHash, logs } = block
    const place = { blockHash, blockNumber: toHex(number), transactionHash: hash, logIndex: toHex(logs.length) }
    logs.push({ address: token, topics, data, ...place })
  }

  #move(address: string, moved: Moved): void {
    const key = address.toLowerCase()
    const moves = this.#moves.get(key) ?? []
    moves.push(moved)
    this.#moves.set(key, moves)
  }

  #bloomOf(logs: readonly Log[]): Hex {
    const bloom = Buffer.alloc(BLOOM_BYTES)
    const set = (bits: readonly number[]): void => {
      for (const bit of bits) {
        const at = BLOOM_BYTES - 1 - (bit >> 3)
        bloom[at] = (bloom[at] ?? 0) | (1 << (bit & 7))
      }
    }
    for (const { address, topics } of logs) {
      set(fixedBits(address))
      for (const [index, topic] of topics.entries()) set(index === 0 ? fixedBits(topic) : bitsOf(topic))
    }
    return toHex(bloom)
  }

  /**
   * Replaces the newest blocks. Their transactions wait again, or are lost for good.
   * @returns the transactions that are lost
   */
  reorganise(depth: number, losesShare: number): ChainTransaction[] {
    const dropped = this.#drop(this.blocks.length - depth)
    const lost: ChainTransaction[] = []
    for (const transaction of dropped.flatMap((block) => block.transactions)) {
      if (transaction.authorization === null && this.#random.chance(losesShare)) lost.push(transaction)
      else this.#pool.push(transaction)
    }
    for (const _ of dropped) this.mine()
    this.mine()
    this.reorganisations += 1
    return lost
  }

  #undo({ hash, from, to, authorization }: ChainTransaction): void {
    const place = this.#places.get(hash)
    this.#places.delete(hash)
    for (const address of [from, to]) {
      const key = address.toLowerCase()
      this.#moves.set(
        key,
        (this.#moves.get(key) ?? []).filter(({ block }) => block < (place?.block ?? 0)),
      )
    }
    if (!authorization) return
    const { relayer, nonce, accountNonce } = authorization
    const key = nonce === null ? '' : `${from.toLowerCase()} ${nonce.toLowerCase()}`
    if (this.#usedAuthorizations.get(key) === hash) this.#usedAuthorizations.delete(key)
    this.#accountNonces.set(relayer.toLowerCase(), Math.min(accountNonce, this.accountNonce(relayer)))
  }

  /** A reorganisation as deep as one transfer, which is lost; everything else stays. */
  lose(hash: string): ChainTransaction {
    const place = this.#places.get(hash as Hex)
    if (!place) throw new Error(`${hash} is in no block`)
    for (const { transactions, timestamp } of this.#drop(place.block))
      this.#add(
        transactions.filter((one) => one.hash !== hash),
        timestamp,
      )
    this.mine()
    this.reorganisations += 1
    this.losses += 1
    return place.transaction
  }

  /** @returns the blocks from there on, with all their effects removed */
  #drop(from: number): SimulatedBlock[] {
    const dropped = this.blocks.splice(Math.max(1, from))
    for (const { hash } of dropped) this.#byHash.delete(hash)
    for (const transaction of dropped.flatMap(({ transactions }) => transactions)) this.#undo(transaction)
    return dropped
  }

  /** A transfer that a reorganisation lost comes back. */
  resend(transaction: ChainTransaction): void {
    this.#pool.push(transaction)
  }

  /** Logs of one block, or of a range; `null` topics match all. */
  logs(where: { blockHash?: string; from: number; to: number }, filter: { topics?: (Hex | Hex[] | null)[] }): Log[] {
    const named = where.blockHash === undefined ? undefined : this.#byHash.get(where.blockHash)
    const blocks = where.blockHash === undefined ? this.blocks.slice(where.from, where.to + 1) : named ? [named] : []
    const wanted = (filter.topics ?? []).map((topic) =>
      topic === null ? null : new Set((Array.isArray(topic) ? topic : [topic]).map((one) => one.toLowerCase())),
    )
    const fits = (log: Log): boolean => wanted.every((set, index) => set === null || set.has(log.topics[index] ?? ''))
    return blocks.flatMap(({ logs }) => logs.filter(fits))
  }

  /** The token's answer to a call, at a block. */
  call(question: { to: string; data: Hex; from?: string }, block: number): Hex {
    return answerCall(this, question, block)
  }
}
