import { createHmac } from 'node:crypto'
import { type Providers, startProviders } from '../../sandbox/providers/server.ts'
import type { Wallet } from '../../sandbox/providers/wallet.ts'
import type { Channel, PaymentRequest } from '../../src/channels/channel.ts'
import { type ChannelContext, type ChannelKind, readSettings, settingsOfEnv } from '../../src/channels/kind.ts'
import { openProviderHttp } from '../../src/channels/provider-http.ts'
import type { Callback } from '../../src/kernel/callback.ts'
import { type Receiver, startReceiver } from './receiver.ts'

/** The sandbox's providers, somebody who takes their callbacks, and the real adapters. */
export type ProviderWorld = {
  providers: Providers
  receiver: Receiver
  open(kind: ChannelKind, options?: { values?: Record<string, string>; wallet?: Channel; live?: boolean }): Channel
  /** What a person at the provider, or the payer, does. */
  act(path: string, body?: Record<string, unknown>): Promise<Response>
  /** The callbacks that arrived below `channels/<channel>/callback`, oldest first, as an adapter gets them. */
  callbacks(channel: string, count: number): Promise<Callback[]>
  /** Moves the clock of providers and adapters. */
  pass(ms: number): void
  now(): number
  stop(): Promise<void>
}

const NO_CHAIN: Wallet = {
  chainId: 31337,
  usdcAddress: `0x${'1'.repeat(40)}`,
  payerAddress: `0x${'2'.repeat(40)}`,
  pay: () => Promise.reject(new Error('there is no chain here')),
}

export async function startProviderWorld({ chain = NO_CHAIN }: { chain?: Wallet } = {}): Promise<ProviderWorld> {
  const receiver = await startReceiver()
  let aheadMs = 0
  const now = (): number => Date.now() + aheadMs
  const providers = await startProviders({ port: 0, chain, callbackBase: receiver.url, now })
  const { http, close } = openProviderHttp({ secrets: [] })
  return {
    providers,
    receiver,
    open(kind, { values = {}, wallet, live = false } = {}) {
      const reading = readSettings(kind, { ...settingsOfEnv(kind, providers.credentials), ...values })
      if (reading.outcome !== 'set') throw new Error(`${kind.id} is ${JSON.stringify(reading)}`)
      const context: ChannelContext = { http, clock: now, live, ...(wallet ? { wallet } : {}) }
      return kind.open(reading.values, context)
    },
    act: (path, body = {}) =>
      fetch(providers.url + path, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      }),
    async callbacks(channel, count) {
      const path = `/api/next/channels/${channel}/callback`
      for (let tries = 0; tries < 200 && receiver.at(path).length < count; tries += 1)
        await new Promise((resolve) => setTimeout(resolve, 25))
      return receiver.at(path).map(({ headers, body }) => ({ headers, rawBody: Buffer.from(body) }))
    },
    pass: (ms) => {
      aheadMs += ms
    },
    now,
    async stop() {
      await close()
      await providers.stop()
      await receiver.close()
    },
  }
}

let attempts = 0

/** A payment nobody asked for before. */
export function newRequest(fields: Partial<PaymentRequest> = {}): PaymentRequest {
  attempts += 1
  const merchantReference = createHmac('sha256', 'attempt')
    .update(`${attempts} ${Date.now()}`)
    .digest('hex')
    .slice(0, 26)
  return {
    companyId: 'a'.repeat(24),
    merchantReference,
    providerReference: null,
    network: null,
    due: { asset: 'USDC', units: 54_210_000n },
    fiat: { asset: 'EUR', units: 5025n },
    expiresAt: new Date(Date.now() + 300_000),
    description: 'Two chairs',
    goods: null,
    returnUrl: 'https://shop.example/thanks',
    cancelUrl: 'https://shop.example/basket',
    payerEmail: null,
    payerIp: null,
    userAddress: null,
    callbackUrl: 'https://pay.example/api/next/channels/x/callback',
    ...fields,
  }
}
