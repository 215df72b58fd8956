import { createHash } from 'node:crypto'
import { type Comptoir, EVENT_TYPES, isTemporary, signTestWebhook } from '../../sdk/index.ts'
import { type Command, type Run, textOf, UsageError, type Values } from '../command.ts'
import { connect } from '../connection.ts'
import { openKycNews } from '../kyc-news.ts'
import { pause } from '../sandbox.ts'

const POLL_MS = 500

type News = { id: string; event: string; body: string; cursor: string | null }

/** The same when the event is read again, like the id of a real delivery. */
const idOf = (...parts: string[]): string => createHash('sha256').update(parts.join('|')).digest('hex').slice(0, 32)

function readEvents(flags: Values): Set<string> | null {
  const text = textOf(flags, 'events')
  if (text === undefined) return null
  const names = text.split(',')
  const unknown = names.filter((name) => !(EVENT_TYPES as readonly string[]).includes(name))
  if (unknown.length > 0)
    throw new UsageError(`There is no event ${unknown.join(', ')}. There are: ${EVENT_TYPES.join(', ')}.`)
  return new Set(names)
}

/** The company's events since the last call that succeeded, oldest first; `start` for everything kept. */
async function openNews(client: Comptoir, after = 'latest'): Promise<() => Promise<News[]>> {
  let cursor = after === 'latest' ? (await client.api.listEvents({ after })).nextCursor : after
  const readKyc = await openKycNews(client)
  return async () => {
    const page = await client.api.listEvents({ limit: 100, ...(cursor === 'start' ? {} : { after: cursor }) })
    const checks = await readKyc()
    cursor = page.nextCursor
    const orders = page.events.map(({ event, order, cursor: place, createdAt }) => ({
      id: idOf(order._id, event, createdAt),
      event,
      body: JSON.stringify({ ...order, event }),
      cursor: place,
    }))
    const kyc = checks.map((payload) => ({
      id: idOf(payload.kycId, payload.orderId, payload.event, payload.updatedAt),
      event: payload.event,
      body: JSON.stringify(payload),
      cursor: null,
    }))
    return [...orders, ...kyc]
  }
}

async function forward(url: string, secret: string, { id, body }: News): Promise<string> {
  const { headers } = await signTestWebhook(body, secret, { id })
  try {
    const answer = await fetch(url, {
      method: 'POST',
      headers,
      body,
      redirect: 'manual',
      signal: AbortSignal.timeout(10_000),
    })
    await answer.body?.cancel()
    return String(answer.status)
  } catch (error) {
    return (error as Error).name === 'TimeoutError' ? 'no answer within 10 s' : 'no connection'
  }
}

/** Nothing where the service does not answer for now. @throws ComptoirError for a refusal */
const readOrWait = (read: () => Promise<News[]>, say: Run['say']): Promise<News[]> =>
  read().catch((error: unknown) => {
    if (!isTemporary(error)) throw error
    say(`${error.message} Trying again.`)
    return []
  })

export const listen: Command = {
  name: 'listen',
  summary: 'Send the events of your account, signed as webhooks, to a local server',
  flags: {
    'forward-to': {
      type: 'string',
      value: 'URL',
      description: 'your server, for example http://localhost:4000/webhooks',
    },
    events: { type: 'string', value: 'a,b', description: 'only these events; default: all 16' },
    after: {
      type: 'string',
      value: 'CURSOR',
      description: 'replay what came after this event; `start` for everything kept',
    },
    secret: {
      type: 'string',
      value: 'whsec_…',
      description: 'sign with this secret; default: the sandbox’s, or a new one',
    },
  },
  examples: ['comptoir listen --forward-to http://localhost:4000/webhooks --events order.paid,order.refunded'],
  async run({ flags, say, show, isJson }) {
    const { client, sandbox } = connect(flags)
    const url = textOf(flags, 'forward-to')
    if (url === undefined) throw new UsageError('--forward-to is required.')
    if (!URL.canParse(url)) throw new UsageError(`"${url}" is not a URL.`)
    const wanted = readEvents(flags)
    const made = `whsec_${Buffer.from(crypto.getRandomValues(new Uint8Array(32))).toString('base64')}`
    const known = textOf(flags, 'secret') ?? sandbox?.webhookSigningSecret
    const secret = known ?? made
    // a secret that cannot sign is refused before the first event
    await signTestWebhook('{}', secret).catch((error: Error) => {
      throw new UsageError(`--secret: ${error.message}`)
    })
    const read = await openNews(client, textOf(flags, 'after'))
    // a cursor that the service refuses ends here; where it only does not answer yet, the loop goes on asking
    let first: News[] | null = await readOrWait(read, say)
    // for a program that waits for it; without a new secret its server could verify nothing
    if (isJson) show({ listening: true, ...(known === undefined && { secret }) }, [])
    say(`Listening. Your server verifies with the secret ${secret}`)
    for (;;) {
      const news = first ?? (await readOrWait(read, say))
      first = null
      for (const one of news.filter(({ event }) => wanted === null || wanted.has(event))) {
        const answer = await forward(url, secret, one)
        const { code } = JSON.parse(one.body) as { code: string }
        show({ ...one, code, answer }, `${one.event.padEnd(32)} ${code}  ${answer}`)
      }
      await pause(POLL_MS)
    }
  },
}
