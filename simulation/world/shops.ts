import { createHmac } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Db } from '../../src/db/db.ts'
import { sql } from '../../src/db/db.ts'
import type { Vault } from '../../src/kernel/vault.ts'
import { EVENTS } from '../../src/webhooks/outbox/events.ts'
import { insertMerchant, type Merchant } from '../../test/harness/service.ts'
import type { HttpAnswer, HttpRequest } from '../virtual/network.ts'
import type { Scheduler } from '../virtual/scheduler.ts'

/** A webhook as it reached the shop's server. */
export type Received = { id: string; event: string; body: string; atMs: number; status: number; isSigned: boolean }

export type Reply<Data> = { status: number; data: Data; code: string; text: string }

/** A quarter of an hour, with backoff: every trouble of a run is over by then. */
const MAX_TRIES = 100

/** The address of the service for everyone outside. */
export const SERVICE = 'http://pay.example'

/** A shop: a company, its server that creates orders, and its server that receives webhooks. */
export class Shop {
  readonly host: string
  readonly merchant: Merchant
  readonly settlementAddress: string
  /** Its webhook server fails until then. */
  downUntilMs = 0
  /** Answer time of its webhook server. */
  answerAfterMs = 0
  /** By order. */
  readonly received = new Map<string, Received[]>()
  orders = 0
  /** Orders that have come to rest. */
  ended = 0
  /** Since when all of them are at rest. */
  restsSinceMs = Number.POSITIVE_INFINITY
  isArchived = false
  readonly #scheduler: Scheduler

  constructor(number: number, merchant: Merchant, scheduler: Scheduler) {
    this.host = `shop-${number}.example`
    this.settlementAddress = `0x${number.toString(16).padStart(40, '5')}`
    this.merchant = merchant
    this.#scheduler = scheduler
  }

  /** Stores incoming webhooks, and refuses them while it is down. */
  async take({ body, headers }: HttpRequest): Promise<HttpAnswer> {
    const { _id, event } = JSON.parse(body) as { _id: string; event: string }
    const isDown = this.#scheduler.nowMs < this.downUntilMs
    const status = isDown ? 503 : 200
    const list = this.received.get(_id) ?? []
    const [stamp = '', given = ''] = (headers['service-signature'] ?? '').split(',')
    const right = createHmac('sha256', this.merchant.webhookSecret)
      .update(`${stamp.slice(2)}.${body}`)
      .digest('hex')
    const id = headers['service-webhook-id'] ?? ''
    list.push({ id, event, body, atMs: this.#scheduler.nowMs, status, isSigned: given === `v1=${right}` })
    this.received.set(_id, list)
    if (this.answerAfterMs > 0) await this.#scheduler.sleep(this.answerAfterMs)
    return { status, headers: {}, body: '' }
  }

  /** One request, repeated with its key until it is answered definitely. @throws Error when it never is */
  async call<Data = Record<string, unknown>>(
    method: 'GET' | 'POST',
    path: string,
    { body, token, each }: { body?: unknown; token?: string; each?(tries: number): void } = {},
  ): Promise<Reply<Data>> {
    const url = path.startsWith('/') ? SERVICE + path : `${SERVICE}/api/next/confirm_conversion/${path}`
    const headers: Record<string, string> = {
      ...(token === undefined ? this.merchant.headers : { authorization: `Bearer ${token}` }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...(method === 'POST' ? { 'idempotency-key': crypto.randomUUID() } : {}),
    }
    const init = { method, headers, body: body === undefined ? '' : JSON.stringify(body) }
    for (let tries = 0; ; tries += 1) {
      each?.(tries)
      const reply = await this.#ask<Data>(url, init)
      if (typeof reply !== 'string') return reply
      if (tries > MAX_TRIES) throw new Error(`${method} ${path} is never answered, the last time by: ${reply}`)
      await sleep(300 + 200 * tries)
    }
  }

  /** One request without retries. */
  async once<Data>(method: 'POST', path: string, body: unknown): Promise<Reply<Data> | null> {
    const headers = {
      ...this.merchant.headers,
      'content-type': 'application/json',
      'idempotency-key': crypto.randomUUID(),
    }
    const url = `${SERVICE}/api/next/confirm_conversion/${path}`
    const reply = await this.#ask<Data>(url, { method, headers, body: JSON.stringify(body) })
    return typeof reply === 'string' ? null : reply
  }

  /** @returns the text of the failure when the outcome of the request is unknown */
  async #ask<Data>(url: string, init: RequestInit): Promise<Reply<Data> | string> {
    const signal = AbortSignal.timeout(12_000)
    const answer = await fetch(url, { ...init, signal }).catch((error: Error) => error)
    if (answer instanceof Error) return answer.message
    const text = await answer.text()
    if (answer.status >= 500 || answer.status === 429) return text
    const { data, error } = JSON.parse(text) as { data: Data; error?: { code: string } }
    if (error && ['IDEMPOTENCY_IN_PROGRESS', 'BUSY'].includes(error.code)) return text
    return { status: answer.status, data, code: error?.code ?? '', text }
  }
}

/** A new company with its own settlement address, subscribed to every event. */
export async function openShop(deps: { db: Db; vault: Vault; scheduler: Scheduler; number: number }): Promise<Shop> {
  const { db, vault, scheduler, number } = deps
  const merchant = await insertMerchant(db, vault)
  const shop = new Shop(number, merchant, scheduler)
  await db.run(sql`
    update companies set optional_events = ${[...EVENTS]}, settlement_address = ${shop.settlementAddress},
      settlement_network = 31337,
      fee_bps = ${(number % 3) * 75}, version = version + 1
    where id = ${merchant.companyId}`)
  return shop
}
