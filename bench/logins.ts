import { type Facts, quantile, withService } from './service.ts'

/*
 * What logins cost other requests: p99 of a status read while 200 logins arrive at once, and whether the time of a
 * refused login reveals that an address is known (400 samples). Run: npm run bench -- logins
 */

const LOGINS = 200
const SAMPLES = 400
const READS_PER_SECOND = 100

async function post(baseUrl: string, path: string, body: unknown, headers: Record<string, string> = {}) {
  const startedAt = performance.now()
  const answer = await fetch(`${baseUrl}/api/next/${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  })
  const text = await answer.text()
  return { status: answer.status, text, ms: performance.now() - startedAt }
}

/** Reads an order in a loop until stopped. */
function startReads(url: string): { stop(): Promise<number[]> } {
  const times: number[] = []
  let stopped = false
  const pending = new Set<Promise<void>>()
  const read = async (): Promise<void> => {
    const startedAt = performance.now()
    await (await fetch(url)).arrayBuffer()
    times.push(performance.now() - startedAt)
  }
  const timer = setInterval(() => {
    const one = read().finally(() => pending.delete(one))
    pending.add(one)
  }, 1000 / READS_PER_SECOND)
  return {
    async stop() {
      if (!stopped) clearInterval(timer)
      stopped = true
      await Promise.all(pending)
      return times
    },
  }
}

async function measureFlood({ baseUrl, manager, apiKey, apiSecret }: Facts): Promise<void> {
  const order = { amount: 5, fromAsset: 'EUR', merchantIdentifier: 'TILL-1' }
  const key = { 'x-api-key': apiKey, 'x-api-secret': apiSecret }
  const made = await post(baseUrl, 'confirm_conversion/request', order, key)
  const { code } = (JSON.parse(made.text) as { data: { code: string } }).data
  const url = `${baseUrl}/api/next/confirm_conversion/status/${code}`
  const calm = startReads(url)
  await new Promise((resolve) => setTimeout(resolve, 2000))
  const calmTimes = await calm.stop()
  const busy = startReads(url)
  const login = { ...manager, origin: 'dashboard' }
  const answers = await Promise.all(Array.from({ length: LOGINS }, () => post(baseUrl, 'auth/login/manager', login)))
  const busyTimes = await busy.stop()
  const count = (status: number): number => answers.filter((answer) => answer.status === status).length
  const slowest = Math.max(...answers.filter(({ status }) => status === 200).map(({ ms }) => ms))
  console.log(
    `status read, nobody logs in:    p50 ${quantile(calmTimes, 0.5).toFixed(1)} ms, p99 ${quantile(calmTimes, 0.99).toFixed(1)} ms`,
  )
  console.log(
    `status read, ${LOGINS} logins at once: p50 ${quantile(busyTimes, 0.5).toFixed(1)} ms, p99 ${quantile(busyTimes, 0.99).toFixed(1)} ms`,
  )
  console.log(`logins: ${count(200)} answered (slowest ${slowest.toFixed(0)} ms), ${count(503)} told to wait (503)`)
}

async function measureSecrecy({ baseUrl, manager }: Facts): Promise<void> {
  const times = { known: [] as number[], unknown: [] as number[] }
  const texts = new Set<string>()
  const sample = async (kind: 'known' | 'unknown', round: number): Promise<void> => {
    // a correct password clears the count of wrong ones, so that the address is not locked
    if (kind === 'known' && round % 9 === 0)
      await post(baseUrl, 'auth/login/manager', { ...manager, origin: 'dashboard' })
    const email = kind === 'known' ? manager.email : `nobody-${round}@demo.invalid`
    const body = { email, password: 'Wrong-Password-1!', origin: 'dashboard' }
    const { text, ms } = await post(baseUrl, 'auth/login/manager', body)
    times[kind].push(ms)
    texts.add(text.replace(/"requestId":"\w+"/, ''))
  }
  for (let round = 0; round < SAMPLES / 2; round += 1) {
    await sample(round % 2 === 0 ? 'known' : 'unknown', round)
    await sample(round % 2 === 0 ? 'unknown' : 'known', round)
  }
  const [known, unknown] = [quantile(times.known, 0.5), quantile(times.unknown, 0.5)]
  console.log(
    `refused login: known address ${known.toFixed(2)} ms, unknown ${unknown.toFixed(2)} ms (medians of ${SAMPLES / 2})`,
  )
  console.log(`bytes: ${texts.size === 1 ? 'the same' : `${texts.size} different answers`}`)
}

/** A flood of logins next to status reads, and whether a refused login reveals who has an account. */
export const run = (): Promise<void> =>
  withService(async (facts) => {
    await measureFlood(facts)
    await measureSecrecy(facts)
  })
