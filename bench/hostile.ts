import { fork } from 'node:child_process'
import { once } from 'node:events'
import { constants, setPriority } from 'node:os'
import { join } from 'node:path'
import { type Facts, quantile, withService } from './service.ts'

/*
 * One company at full force, and what another company notices of it: p99 of creating and reading an order, quiet and
 * beside parallel reverts, exports, logins, live streams and slow clients. Goal: at most 3 times its quiet value.
 * Run: npm run bench -- hostile
 */

const SECONDS = 10
const CALLS_PER_SECOND = 40
const WARM_UP_SECONDS = 3

export type Headers = Record<string, string>

export const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

export async function call<Data>(
  url: string,
  headers: Headers,
  body?: unknown,
): Promise<{ status: number; data: Data }> {
  const answer = await fetch(url, {
    method: body === undefined ? 'GET' : 'POST',
    headers: { ...headers, ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  const text = await answer.text()
  const isJson = answer.headers.get('content-type')?.includes('json') === true
  return { status: answer.status, data: (isJson ? JSON.parse(text).data : text) as Data }
}

export const ORDERS = '/api/next/confirm_conversion'
const SALE = { amount: 50, fromAsset: 'EUR', merchantIdentifier: 'TILL-1' }

/** Another merchant of the same service, whose first token can sell at once in the sandbox. */
async function registerNeighbour({ baseUrl }: Facts): Promise<Headers> {
  const { data } = await call<{ token: string }>(
    `${baseUrl}/api/next/auth/register`,
    {},
    {
      ...{ email: 'neighbour@demo.invalid', password: 'Correct-Horse-7-Staple', firstName: 'N', lastName: 'B' },
      ...{ role: 'Manager', companyName: 'Neighbour' },
    },
  )
  return { authorization: `Bearer ${data.token}` }
}

type Measured = { create: number[]; read: number[]; failed: number }

/** The neighbour's workload: create an order and read it, at a constant rate whatever the response times. */
async function measure({ baseUrl }: Facts, neighbour: Headers, seconds: number): Promise<Measured> {
  const measured: Measured = { create: [], read: [], failed: 0 }
  const pending = new Set<Promise<void>>()
  const visit = async (): Promise<void> => {
    const begunAt = performance.now()
    const { status, data } = await call<{ code: string }>(`${baseUrl}${ORDERS}/request`, neighbour, SALE)
    const createdAt = performance.now()
    measured.create.push(createdAt - begunAt)
    if (status !== 200) {
      measured.failed += 1
      return
    }
    const read = await call(`${baseUrl}${ORDERS}/status/${data.code}`, neighbour)
    measured.read.push(performance.now() - createdAt)
    if (read.status !== 200) measured.failed += 1
  }
  const until = performance.now() + seconds * 1000
  while (performance.now() < until) {
    const one = visit()
      .catch(() => {
        measured.failed += 1
      })
      .finally(() => pending.delete(one))
    pending.add(one)
    await sleep(1000 / CALLS_PER_SECOND)
  }
  await Promise.all(pending)
  return measured
}

/** An order of the hostile company that is paid, so that it can be refunded. */
async function makePaid(facts: Facts, hostile: Headers): Promise<string> {
  const { baseUrl, providersUrl } = facts
  const { data } = await call<{ code: string }>(`${baseUrl}${ORDERS}/request`, hostile, SALE)
  const accepted = await call<{ providerReference: string }>(`${baseUrl}${ORDERS}/accept/${data.code}`, hostile, {
    paymentChannel: 'binance',
  })
  await call(`${providersUrl}/payments/${accepted.data.providerReference}/pay`, {}, {})
  for (let tries = 0; tries < 100; tries += 1) {
    const { data: order } = await call<{ status: string }>(`${baseUrl}${ORDERS}/status/${data.code}`, hostile)
    if (order.status === 'PAID') return data.code
    await sleep(100)
  }
  throw new Error('the order was not paid')
}

/**
 * The attacker is a separate process at the lowest priority: in reality it has its own machine, and here it must
 * neither slow down the clock that measures the neighbour nor take the core that the service needs.
 */
async function startAttack(facts: Facts, code: string): Promise<() => Promise<Record<string, number>>> {
  const attacker = fork(join(import.meta.dirname, 'hostile-attack.ts'), {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  })
  setPriority(attacker.pid as number, constants.priority.PRIORITY_LOW)
  attacker.send({ facts, code })
  await sleep(1000)
  return async () => {
    attacker.send('stop')
    const [done] = (await once(attacker, 'message')) as [Record<string, number>]
    return done
  }
}

function print(name: string, { create, read, failed }: Measured): void {
  const show = (times: number[]): string =>
    `p50 ${quantile(times, 0.5).toFixed(1)} ms, p99 ${quantile(times, 0.99).toFixed(1)} ms`
  console.log(
    `${name.padEnd(10)} create ${show(create)}   read ${show(read)}   ${create.length} orders, ${failed} failed`,
  )
}

export const run = (): Promise<void> =>
  withService(async (facts) => {
    const hostile = { 'x-api-key': facts.apiKey, 'x-api-secret': facts.apiSecret }
    const neighbour = await registerNeighbour(facts)
    const code = await makePaid(facts, hostile)
    await measure(facts, neighbour, WARM_UP_SECONDS)
    const quiet = await measure(facts, neighbour, SECONDS)
    print('quiet', quiet)
    const endAttack = await startAttack(facts, code)
    const beside = await measure(facts, neighbour, SECONDS)
    const done = await endAttack()
    print('beside', beside)
    const attacks = Object.entries(done).map(([name, count]) => `${count} ${name}`)
    console.log(`the hostile company: ${attacks.join(', ')}`)
    const times = (kind: 'create' | 'read'): string =>
      (quantile(beside[kind], 0.99) / quantile(quiet[kind], 0.99)).toFixed(1)
    console.log(`p99 beside / quiet: create ${times('create')}, read ${times('read')} (goal: at most 3)`)
  })
