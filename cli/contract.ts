import { request as requestHttp } from 'node:http'
import { request as requestHttps } from 'node:https'
import { setTimeout as sleep } from 'node:timers/promises'
import { signTestWebhook, type WebhookPayload } from '../sdk/index.ts'

/** What the receiver did instead; null: it passed; undefined: not testable, because it accepts no valid webhook. */
type Fault = string | null | undefined
/** A requirement for receivers, and its violation. */
export type Result = { name: string; fault: Fault }

/** `absent`: no connection was established. */
type Problem = 'timeout' | 'closed' | 'absent'
type Answer = { status: number; problem: Problem | null; location: string | null; reason?: string }
type Sent = { body: string; headers: Record<string, string> }
type Check = { name: string; send(world: World): Promise<Fault> }
type World = {
  secret: string
  post(sent: Sent): Promise<Answer>
  /** Sends a part of the body and closes the connection. */
  cutOff(sent: Sent): Promise<void>
  order(event: string, changes?: Record<string, unknown>): WebhookPayload
}

const STATUS: Record<string, string> = { 'order.awaiting': 'AWAITING', 'order.paid': 'PAID' }
const hex = (bytes: number): string => Buffer.from(crypto.getRandomValues(new Uint8Array(bytes))).toString('hex')

/** An order as webhooks carry it, unknown to any shop. */
function sampleOrder(event: string, changes: Record<string, unknown> = {}): WebhookPayload {
  const now = new Date().toISOString()
  const absent = {
    paymentChannel: 'crypto',
    webhookUrl: null,
    alias: `CONTRACT-TEST-${hex(4)}`,
    goods: null,
    metadata: null,
    anonymous: false,
  }
  const urls = { paymentUrl: 'https://pay.example/pay?code=test', websiteUrl: null, returnUrl: null, cancelUrl: null }
  return {
    ...{ _id: hex(12), code: `test${hex(8)}`, shortCode: 'TEST0000', fromAmount: '50.00', toAmount: '54.000000' },
    ...{
      fromAsset: 'EUR',
      toAsset: 'USDC',
      status: STATUS[event] ?? 'PAID',
      ...absent,
      createdAt: now,
      updatedAt: now,
    },
    ...{ expiresAt: now, paidAt: now, refundedAmount: '0.000000', rate: '1.08', merchantIdentifier: 'TILL-1', ...urls },
    ...changes,
    event,
  }
}

const isGood = ({ status }: Answer): boolean => status >= 200 && status < 300

const NO_ANSWER: Record<Problem, (what: string) => string> = {
  timeout: (what) => `It did not answer ${what} in time. Answer first, and work afterwards.`,
  closed: (what) => `It closed the connection on ${what}, without an answer.`,
  absent: (what) => `It could not be reached for ${what}. Did it crash?`,
}

const noAnswer = ({ problem }: Answer, what: string): string | undefined =>
  problem === null ? undefined : NO_ANSWER[problem](what)

const mustTake = (answer: Answer, what: string): string | null =>
  isGood(answer)
    ? null
    : (noAnswer(answer, what) ??
      `It answered ${answer.status} to ${what}; only 2xx counts, so it would be sent four more times.`)

const oneOf = (event: string) => async (world: World) => signTestWebhook(world.order(event), world.secret)

/** A receiver that refuses valid webhooks with the same answer has not checked the signature. */
async function mustRefuse(world: World, sent: Sent, what: string): Promise<Fault> {
  const answer = await world.post(sent)
  if (isGood(answer)) return `It answered ${answer.status} to ${what}. Refuse it with 400.`
  // closing the connection refuses too, unless the receiver crashed: then it does not answer a valid webhook either
  if (answer.problem === 'closed') return noAnswer(await world.post(await oneOf('order.paid')(world)), what) ?? null
  if (answer.status >= 400 && (await world.post(await oneOf('order.paid')(world))).status === answer.status)
    return undefined
  return noAnswer(answer, what) ?? null
}

const good: Check = {
  name: 'takes a good webhook',
  async send(world) {
    const answer = await world.post(await oneOf('order.paid')(world))
    if (answer.status >= 300 && answer.status < 400) return null
    if (answer.status < 400 || answer.status >= 500) return mustTake(answer, 'a good webhook')
    return `It answered ${answer.status} to a good webhook. Does it verify with this secret, which ends in ${world.secret.slice(-5)}?`
  },
}

const direct: Check = {
  name: 'answers itself, without a redirect',
  async send(world) {
    const answer = await world.post(await oneOf('order.paid')(world))
    const { status, location } = answer
    const isRedirect = status >= 300 && status < 400
    return isRedirect
      ? `It redirects to ${location ?? 'another address'}; redirects are not followed. Give the final address.`
      : (noAnswer(answer, 'a good webhook') ?? null)
  },
}

const quick: Check = {
  name: 'answers in time',
  async send(world) {
    const answer = await world.post(await oneOf('order.paid')(world))
    if (answer.problem === 'absent') throw new Error(`${answer.reason} Start the receiver, or check the address.`)
    return noAnswer(answer, 'a good webhook') ?? null
  },
}

const repeated: Check = {
  name: 'takes the same webhook twice',
  async send(world) {
    const id = hex(16)
    const body = JSON.stringify(world.order('order.paid'))
    const first = await world.post(await signTestWebhook(body, world.secret, { id }))
    if (!isGood(first)) return noAnswer(first, 'a good webhook')
    return mustTake(await world.post(await signTestWebhook(body, world.secret, { id })), 'a repeated webhook')
  },
}

const reordered: Check = {
  name: 'takes an older event after a newer one',
  async send(world) {
    const same = { _id: hex(12), code: `test${hex(8)}` }
    const first = await world.post(await signTestWebhook(world.order('order.paid', same), world.secret))
    if (!isGood(first)) return noAnswer(first, 'a good webhook')
    const older = { ...same, updatedAt: new Date(Date.now() - 60_000).toISOString(), paidAt: null }
    return mustTake(
      await world.post(await signTestWebhook(world.order('order.awaiting', older), world.secret)),
      'a late event',
    )
  },
}

const unknown: Check = {
  name: 'takes an event it does not know',
  async send(world) {
    const first = await world.post(await oneOf('order.paid')(world))
    if (!isGood(first)) return noAnswer(first, 'a good webhook')
    return mustTake(await world.post(await oneOf('order.some_future_event')(world)), 'an unknown event')
  },
}

const rawBody: Check = {
  name: 'verifies the bytes as they came',
  async send(world) {
    const first = await world.post(await oneOf('order.paid')(world))
    if (!isGood(first)) return noAnswer(first, 'a good webhook')
    const goods = { goodsName: 'Café \\u0301 / ☕' }
    const body = JSON.stringify(world.order('order.paid', { goods }), null, 3).replaceAll('/', '\\/')
    const answer = await world.post(await signTestWebhook(body, world.secret))
    if (isGood(answer)) return null
    return (
      noAnswer(answer, 'a good webhook with unusual spacing') ??
      `It refused a good webhook with unusual spacing (${answer.status}). Verify the raw body, not parsed JSON.`
    )
  },
}

const forged: Check = {
  name: 'refuses a signature of another secret',
  async send(world) {
    const other = `whsec_${Buffer.from(hex(32), 'hex').toString('base64')}`
    return mustRefuse(world, await signTestWebhook(world.order('order.paid'), other), 'a forged webhook')
  },
}

const changed: Check = {
  name: 'refuses a changed body',
  async send(world) {
    const { body, headers } = await oneOf('order.paid')(world)
    return mustRefuse(world, { body: body.replace('"50.00"', '"90.00"'), headers }, 'a changed body')
  },
}

const unsigned: Check = {
  name: 'refuses a webhook without a signature',
  async send(world) {
    const { body, headers } = await oneOf('order.paid')(world)
    const bare = Object.entries(headers).filter(([name]) => !name.endsWith('-signature'))
    return mustRefuse(world, { body, headers: Object.fromEntries(bare) }, 'a webhook without a signature')
  },
}

const at = (seconds: number, world: World): Promise<Sent> =>
  signTestWebhook(world.order('order.paid'), world.secret, { atSeconds: Math.floor(Date.now() / 1000) + seconds })

const old: Check = {
  name: 'refuses a replay that is older than five minutes',
  send: async (world) => mustRefuse(world, await at(-600, world), 'a webhook signed ten minutes ago'),
}

const future: Check = {
  name: 'refuses a timestamp in the future',
  send: async (world) => mustRefuse(world, await at(600, world), 'a webhook signed ten minutes from now'),
}

/** What a receiver that crashes needs at most until nothing listens any more. */
const CRASH_MS = 200

const cut: Check = {
  name: 'survives an upload that is cut off',
  async send(world) {
    await world.cutOff(await oneOf('order.paid')(world))
    await sleep(CRASH_MS)
    return (
      noAnswer(await world.post(await oneOf('order.paid')(world)), 'a good webhook after one that was cut off') ?? null
    )
  },
}

const CHECKS = [quick, good, direct, repeated, reordered, unknown, rawBody, forged, changed, unsigned, old, future, cut]

/** Error codes of an established connection: any other failure happened earlier. */
const CLOSED = new Set(['ECONNRESET', 'EPIPE', 'UND_ERR_SOCKET'])

function failureOf(error: Error, url: string): Answer {
  const { code = '', message = error.message } = (error.cause ?? {}) as { code?: string; message?: string }
  const failed = (problem: Problem): Answer => ({ status: 0, problem, location: null })
  if (error.name === 'TimeoutError') return failed('timeout')
  if (CLOSED.has(code) || code.startsWith('HPE_')) return failed('closed')
  const reason = code === 'ECONNREFUSED' ? `Nothing listens at ${url}.` : `${url} cannot be reached: ${message}.`
  return { ...failed('absent'), reason }
}

const cutOff = (url: string, { body, headers }: Sent, timeoutMs: number): Promise<void> =>
  new Promise((resolve) => {
    const open = url.startsWith('https:') ? requestHttps : requestHttp
    const length = { 'content-length': String(Buffer.byteLength(body)) }
    const request = open(url, { method: 'POST', headers: { ...headers, ...length }, timeout: timeoutMs })
    request.once('timeout', () => request.destroy())
    // it may answer and close before the rest
    request.on('error', () => {})
    request.once('close', resolve)
    request.write(body.slice(0, body.length / 2), () => request.destroy())
  })

/**
 * Tests a receiver. One that a shop uses gets orders unknown to the shop, under aliases CONTRACT-TEST-….
 * @throws Error when nothing listens there
 */
export async function testReceiver(url: string, secret: string, timeoutMs: number): Promise<Result[]> {
  const post = async ({ body, headers }: Sent): Promise<Answer> => {
    try {
      const signal = AbortSignal.timeout(timeoutMs)
      const answer = await fetch(url, { method: 'POST', body, headers, redirect: 'manual', signal })
      await answer.body?.cancel()
      return { status: answer.status, problem: null, location: answer.headers.get('location') }
    } catch (error) {
      return failureOf(error as Error, url)
    }
  }
  const world = { secret, post, cutOff: (sent: Sent) => cutOff(url, sent, timeoutMs), order: sampleOrder }
  const results: Result[] = []
  for (const { name, send } of CHECKS) {
    const fault = await send(world)
    results.push({ name, fault })
    // a receiver that never answers passes nothing
    if (name === quick.name && fault !== null) break
  }
  return results
}
