import { setTimeout as sleep } from 'node:timers/promises'
import type { OrderFacts } from '../world/oracle.ts'
import type { Reply, Shop } from '../world/shops.ts'
import { count, type World } from '../world/world.ts'
import { providerPayment, unitsOf } from './truth.ts'
import { type Expected, judge } from './verdict.ts'

const SECOND = 1000
const MINUTE = 60 * SECOND
/** Everything that was started must have ended after this many looks; the clock may jump between them. */
const LOOKS = 60
const LOOK_MS = 40 * SECOND

type OrderData = { code: string; order: { _id: string; toAmount: string; fromAmount: string } }
export type Instructions = {
  toAddress: string | null
  tokenAmount: string | null
  checkoutUrl: string | null
  providerReference: string | null
  status: string
}

/** One order and its payer, from the shop's request to the last webhook. */
export class OrderStory {
  readonly world: World
  shop: Shop
  readonly kind: string
  code = ''
  id = ''
  due = 0n
  fromAmount = ''
  expected: Expected = 'either'
  /** The provider was paid in another currency: the amount in USDC is its own conversion. */
  isConverted = false

  constructor(world: World, shop: Shop, kind: string) {
    this.world = world
    this.shop = shop
    this.kind = kind
  }

  /** @returns false when sales are stopped */
  async create(units: number, fromAsset: 'EUR' | 'XPF' = 'EUR', alias?: string): Promise<boolean> {
    const amount = fromAsset === 'XPF' ? String(units) : (units / 100).toFixed(2)
    const { merchantIdentifier } = this.shop.merchant
    const body = {
      amount,
      fromAsset,
      merchantIdentifier,
      anonymous: true,
      webhookUrl: `http://${this.shop.host}/`,
      ...(alias === undefined ? {} : { alias }),
    }
    const reply = await this.shop.call<OrderData>('POST', 'request', { body })
    if (reply.code === 'INVALID_EXCHANGE_RATE') return false
    if (reply.status !== 200) throw new Error(`create: ${reply.text}`)
    this.code = reply.data.code
    this.id = reply.data.order._id
    this.fromAmount = reply.data.order.fromAmount
    this.due = unitsOf(reply.data.order.toAmount)
    this.shop.orders += 1
    this.shop.restsSinceMs = Number.POSITIVE_INFINITY
    count(this.world, 'orders')
    return true
  }

  /** Moves to another order, in a shop without other buyers; the first order is cancelled and checked separately. */
  async moveToOwnShop(cents: number, alias?: string): Promise<void> {
    await this.leaveUnpaid()
    this.shop = await this.world.openPrivateShop()
    await this.createSold(cents, 'EUR', alias)
  }

  /** Ends the present order, so that the story can go on with another one. */
  async leaveUnpaid(): Promise<void> {
    const first = new OrderStory(this.world, this.shop, this.kind)
    Object.assign(first, { code: this.code, id: this.id, due: this.due, expected: 'unpaid' })
    await first.post('cancel')
    await first.end()
  }

  /** Retries until there is a rate. */
  async createSold(units: number, fromAsset: 'EUR' | 'XPF' = 'EUR', alias?: string): Promise<void> {
    while (!(await this.create(units, fromAsset, alias))) await sleep(20 * SECOND)
  }

  accept(channel: string, more: Record<string, unknown> = {}): Promise<Reply<Instructions>> {
    const { chain, random } = this.world
    const userAddress = `0x${random.bytes(20).toString('hex')}`
    const own = channel === 'crypto' ? { network: chain.chainId, userAddress } : {}
    return this.shop.call('POST', `accept/${this.code}`, { body: { paymentChannel: channel, ...own, ...more } })
  }

  post(what: 'cancel' | 'expire' | 'confirm' | 'revert', body?: unknown): Promise<Reply<null>> {
    return this.shop.call('POST', `${what}/${this.code}`, body === undefined ? {} : { body })
  }

  /** The shop asks for this order's failed webhooks again. @returns how many are sent again */
  async redeliver(): Promise<number> {
    const path = '/api/next/webhook-deliveries/redeliver'
    const { data } = await this.shop.call<{ redelivered: number }>('POST', path, {
      body: { code: this.code },
      each: (tries) => this.world.webhooks.replay(this.id, tries),
    })
    return data.redelivered
  }

  facts(): Promise<OrderFacts> {
    return this.world.oracle.facts(this.shop.merchant.companyId, this.id)
  }

  async status(): Promise<string> {
    return (await this.facts()).order.status
  }

  /** @returns whether the order got there in time; clock jumps do not count */
  async reaches(statuses: readonly string[], withinMs = 10 * MINUTE): Promise<boolean> {
    for (let waitedMs = 0; waitedMs < withinMs; waitedMs += 2 * SECOND) {
      if (statuses.includes(await this.status())) return true
      await sleep(2 * SECOND)
    }
    return false
  }

  /** Checks for anything that must never be. */
  async check(): Promise<string[]> {
    const facts = await this.facts()
    const { broken, missing } = judge(this.world, this.shop, {
      ...{ facts, orderId: this.id, expected: this.expected, isConverted: this.isConverted },
    })
    if (broken.length > 0) throw new Error(this.#report(facts, broken))
    return missing
  }

  /** Waits until everything is as it must be, and forgets the order. @throws Error when it never is */
  async end(): Promise<void> {
    for (let looks = 1; ; looks += 1) {
      const missing = await this.check()
      if (missing.length === 0) break
      if (looks > LOOKS) throw new Error(this.#report(await this.facts(), missing))
      await this.#askAgain()
      await sleep(LOOK_MS)
    }
    const facts = await this.facts()
    count(this.world, `ended ${facts.order.status}`)
    this.shop.received.delete(this.id)
    this.shop.ended += 1
    if (this.shop.ended === this.shop.orders) this.shop.restsSinceMs = this.world.scheduler.nowMs
    this.world.webhooks.forget(this.id)
    for (const payment of facts.payments) {
      const kept = providerPayment(this.world, payment)
      if (kept) this.world.providers.forget(kept)
    }
  }

  /** As a shop does that was down for four attempts, when the network then loses the fifth. */
  async #askAgain(): Promise<void> {
    const failed = (await this.facts()).deliveries.filter(({ status }) => status === 'failed')
    if (failed.length === 0 || !failed.every(({ id }) => this.world.webhooks.hasUsedUp(id))) return
    count(this.world, 'webhooks that a shop asked for again', await this.redeliver())
  }

  /** The fault that a story found, with everything known about its order. */
  async explain(error: unknown): Promise<unknown> {
    if (!(error instanceof Error) || this.id === '') return error
    const facts = await this.facts()
    const addresses = facts.payments.flatMap(({ deposit_address: address }) => (address === null ? [] : [address]))
    const there = addresses.flatMap((address) => this.world.chain.transfersTo(address))
    const known = 'select to_jsonb(t) as row from chain_transfers t where to_address = any($1)'
    const recorded = await this.world.oracle.many<{ row: unknown }>(known, [addresses])
    const owed = 'select to_jsonb(r) as row from refunds r where company_id = $1 and order_id = $2'
    const refunds = await this.world.oracle.many<{ row: unknown }>(owed, [this.shop.merchant.companyId, this.id])
    error.message += [
      ...(error.message.includes('\n  history: ') ? [''] : ['', this.#report(facts, [])]),
      `  attempts: ${JSON.stringify(facts.attempts)}`,
      `  rows of refunds: ${JSON.stringify(refunds.map(({ row }) => row))}`,
      `  on the chain: ${JSON.stringify(there)}`,
      `  recorded: ${JSON.stringify(recorded.map(({ row }) => row))}`,
    ].join('\n')
    return error
  }

  #report(facts: OrderFacts, faults: readonly string[]): string {
    const { name, companyId } = { name: this.kind, companyId: this.shop.merchant.companyId }
    const history = facts.events.map(({ trigger, at }) => `${trigger} ${at}`).join(', ')
    return [
      `The order ${this.id} of ${companyId}, story "${name}":`,
      ...faults.map((fault) => `  - ${fault}`),
      `  history: ${history}`,
      `  payments: ${JSON.stringify(facts.payments)}`,
      `  refunds: ${JSON.stringify(facts.refunds)}`,
      `  records: ${JSON.stringify(facts.mispayments)}`,
      `  accounts: ${JSON.stringify(facts.accounts)}`,
      `  deliveries: ${JSON.stringify(facts.deliveries.map(({ event, status }) => `${event} ${status}`))}`,
    ].join('\n')
  }
}
