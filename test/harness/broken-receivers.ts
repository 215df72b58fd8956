import type { IncomingMessage } from 'node:http'
import { verifyWebhook, type WebhookHeaders } from '../../sdk/index.ts'

export type Behaviour = (
  request: IncomingMessage,
  body: Buffer,
  world: { seen: Set<string>; paid: Set<string> },
) => Promise<number | 'hang' | 'redirect'>

export const SECRET = `whsec_${Buffer.alloc(32, 3).toString('base64')}`
const parse = (body: Buffer): { event: string; code: string; status: string } => JSON.parse(body.toString())

const verified = async (request: IncomingMessage, body: Buffer, toleranceSeconds = 300): Promise<boolean> =>
  verifyWebhook(body, request.headers as WebhookHeaders, SECRET, { toleranceSeconds }).then(
    () => true,
    () => false,
  )

/** Verifies as the guide says. */
export const good: Behaviour = async (request, body) => ((await verified(request, body)) ? 204 : 400)

/** Receivers with one fault each, and what finds it. */
export const BROKEN: Record<string, { behaves: Behaviour; finds: string[] }> = {
  'believes everything': {
    behaves: async () => 200,
    finds: [
      'refuses a signature of another secret',
      'refuses a changed body',
      'refuses a webhook without a signature',
      'refuses a replay that is older than five minutes',
      'refuses a timestamp in the future',
    ],
  },
  'checks only that a signature is there': {
    behaves: async (request) => (request.headers['service-signature'] ? 200 : 400),
    finds: [
      'refuses a signature of another secret',
      'refuses a changed body',
      'refuses a replay that is older than five minutes',
      'refuses a timestamp in the future',
    ],
  },
  'takes unsigned webhooks': {
    behaves: async (request, body) =>
      request.headers['service-signature'] ? good(request, body, { seen: new Set(), paid: new Set() }) : 200,
    finds: ['refuses a webhook without a signature'],
  },
  'ignores the time': {
    behaves: async (request, body) => ((await verified(request, body, 1e9)) ? 200 : 400),
    finds: ['refuses a replay that is older than five minutes', 'refuses a timestamp in the future'],
  },
  'checks the age but not the future': {
    behaves: async (request, body) => {
      const at = Number(request.headers['webhook-timestamp'] ?? 0)
      return (await verified(request, body, at > Date.now() / 1000 ? 1e9 : 300)) ? 200 : 400
    },
    finds: ['refuses a timestamp in the future'],
  },
  'verifies parsed JSON': {
    behaves: async (request, body) => ((await verified(request, Buffer.from(JSON.stringify(parse(body))))) ? 200 : 400),
    finds: ['verifies the bytes as they came'],
  },
  'fails on a repeated webhook': {
    behaves: async (request, body, { seen }) => {
      const id = String(request.headers['service-webhook-id'])
      if (!(await verified(request, body))) return 400
      if (seen.has(id)) return 409
      seen.add(id)
      return 200
    },
    finds: ['takes the same webhook twice'],
  },
  'fails on a late event': {
    behaves: async (request, body, { paid }) => {
      if (!(await verified(request, body))) return 400
      const { code, event } = parse(body)
      if (event === 'order.awaiting' && paid.has(code)) return 500
      paid.add(code)
      return 200
    },
    finds: ['takes an older event after a newer one'],
  },
  'fails on events it does not know': {
    behaves: async (request, body) => {
      if (!(await verified(request, body))) return 400
      return /^order\.(paid|awaiting)$/.test(parse(body).event) ? 200 : 422
    },
    finds: ['takes an event it does not know'],
  },
  'answers too late': { behaves: async () => 'hang', finds: ['answers in time'] },
  redirects: { behaves: async () => 'redirect', finds: ['answers itself, without a redirect'] },
  'refuses everything': { behaves: async () => 401, finds: ['takes a good webhook'] },
}
