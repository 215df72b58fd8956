import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { startProviders } from '../../sandbox/providers/server.ts'
import type { Channel, PaymentRequest, RefundRequest } from '../../src/channels/channel.ts'
import { type ChannelKind, readSettings, settingsOfEnv } from '../../src/channels/kind.ts'
import { openProviderHttp } from '../../src/channels/provider-http.ts'
import type { Callback } from '../../src/kernel/callback.ts'
import type { Money } from '../../src/kernel/money.ts'
import { type Receiver, startReceiver } from './receiver.ts'

type Created = { merchantReference: string; providerReference: string; request: PaymentRequest }

export type ChannelDesk = Awaited<ReturnType<typeof openChannelDesk>>

const NO_WALLET = {
  chainId: 0,
  usdcAddress: '',
  payerAddress: '',
  pay: async (): Promise<never> => {
    throw new Error('no chain here')
  },
}

/** One adapter against its provider's imitation over HTTP, and somebody who receives its callbacks. */
export async function openChannelDesk(kind: ChannelKind, settings: Record<string, string> = {}) {
  let shiftMs = 0
  const clock = (): number => Date.now() + shiftMs
  const receiver: Receiver = await startReceiver()
  const providers = await startProviders({ port: 0, chain: NO_WALLET, callbackBase: receiver.url, now: clock })
  const path = `/api/next/channels/${kind.id}/callback`
  const opened: { close(): Promise<void> }[] = []

  const open = (more: Record<string, string> = {}, live = false): Channel => {
    const reading = readSettings(kind, { ...settingsOfEnv(kind, providers.credentials), ...settings, ...more })
    assert.ok(reading.outcome === 'set', JSON.stringify(reading))
    const provider = openProviderHttp({ secrets: reading.secrets })
    opened.push(provider)
    return kind.open(reading.values, { http: provider.http, clock, live })
  }
  const channel = open()
  const { acknowledgement } = channel
  receiver.answer(path, (_request, response) => {
    response.writeHead(200, { 'content-type': acknowledgement?.contentType }).end(acknowledgement?.body)
  })

  /** As a person at the provider, or its script. */
  const act = async (reference: string, action: string, body: object = {}): Promise<void> => {
    const answer = await fetch(`${providers.url}/payments/${reference}/${action}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    assert.equal(answer.status, 200, `${action}: ${await answer.text()}`)
  }

  return {
    channel,
    open,
    act,
    clock,
    url: providers.url,
    credentials: providers.credentials,
    later: (ms: number) => {
      shiftMs += ms
    },
    story: (name: string) => fetch(`${providers.url}/stories/${name}`, { method: 'POST' }),
    request: (price: { due: bigint; fiat: Money }, more: Partial<PaymentRequest> = {}): PaymentRequest => ({
      companyId: 'company',
      merchantReference: randomBytes(13).toString('hex'),
      providerReference: null,
      network: null,
      due: { asset: 'USDC', units: price.due },
      fiat: price.fiat,
      expiresAt: new Date(clock() + 300_000),
      description: 'Order K7P2',
      goods: null,
      returnUrl: 'https://shop.test/return',
      cancelUrl: 'https://shop.test/cancel',
      payerEmail: null,
      payerIp: null,
      userAddress: null,
      callbackUrl: `${receiver.url}${path}`,
      ...more,
    }),
    async create(request: PaymentRequest): Promise<Created> {
      const { providerReference } = await channel.createPayment(request)
      return { merchantReference: request.merchantReference, providerReference, request }
    },
    fetch: ({ request, providerReference }: Created) => channel.fetchPayment({ ...request, providerReference }),
    refund: (
      { request, providerReference, merchantReference }: Created,
      more: Partial<RefundRequest>,
    ): RefundRequest => ({
      refundId: randomBytes(12).toString('hex'),
      companyId: 'company',
      merchantReference,
      providerReference,
      units: request.due.units,
      fiat: request.fiat,
      paidUnits: request.due.units,
      paidFiat: request.fiat,
      earlierUnits: 0n,
      earlierFiat: { asset: request.fiat.asset, units: 0n },
      reference: null,
      attempted: false,
      network: null,
      address: null,
      reason: 'wrong size',
      ...more,
    }),
    /** What arrived, as the service would hand it to the adapter. */
    callbacks: (): Callback[] =>
      receiver.at(path).map(({ headers, body }) => ({ headers, rawBody: Buffer.from(body) })),
    async close(): Promise<void> {
      for (const one of opened) await one.close()
      await providers.stop()
      await receiver.close()
    },
  }
}
