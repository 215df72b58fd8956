import assert from 'node:assert/strict'
import { type Providers, startProviders } from '../../sandbox/providers/server.ts'
import type { Wallet } from '../../sandbox/providers/wallet.ts'
import { type ReceivedWebhook, type Receiver, startReceiver } from './receiver.ts'

/**
 * The sandbox's providers and a merchant's server that takes their callbacks, without any adapter of ours: requests are
 * written and signed by hand, as the provider's documentation says.
 */
export type ImitationWorld = Awaited<ReturnType<typeof startImitations>>

const NO_CHAIN: Wallet = {
  chainId: 31337,
  usdcAddress: `0x${'1'.repeat(40)}`,
  payerAddress: `0x${'2'.repeat(40)}`,
  pay: async () => ({ txHash: `0x${'a'.repeat(64)}` }),
}

type Start = Partial<Pick<Parameters<typeof startProviders>[0], 'oracle' | 'file'>> & { chain?: Wallet }

export async function startImitations({ chain = NO_CHAIN, oracle = null, file = null }: Start = {}) {
  const receiver: Receiver = await startReceiver()
  let aheadMs = 0
  const now = (): number => Date.now() + aheadMs
  const providers: Providers = await startProviders({ port: 0, chain, oracle, file, callbackBase: receiver.url, now })

  const post = (path: string, body: unknown = {}): Promise<Response> =>
    fetch(providers.url + path, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
  /** The callbacks to one channel that mention a text, as soon as there are so many. */
  const callbacks = async (channel: string, text: string, count: number): Promise<ReceivedWebhook[]> => {
    const find = () => receiver.at(`/api/next/channels/${channel}/callback`).filter(({ body }) => body.includes(text))
    for (let tries = 0; tries < 200 && find().length < count; tries += 1)
      await new Promise((resolve) => setTimeout(resolve, 25))
    assert.ok(find().length >= count, `${find().length} of ${count} callbacks came`)
    return find()
  }
  return {
    providers,
    receiver,
    post,
    callbacks,
    url: providers.url,
    now,
    pass: (ms: number) => {
      aheadMs += ms
    },
    credential: (name: string): string => {
      const value = providers.credentials[name] ?? providers.screening[name]
      assert.ok(value, `${name} is among the sandbox's credentials`)
      return value
    },
    /** What the payer, or staff of the provider, does. */
    act: async (reference: string, action: string, body: unknown = {}): Promise<void> => {
      const answer = await post(`/payments/${reference}/${action}`, body)
      assert.equal(answer.status, 200, await answer.text())
    },
    story: async (name: string, body: unknown = {}): Promise<void> =>
      assert.equal((await post(`/stories/${name}`, body)).status, 200),
    async stop() {
      await providers.stop()
      await receiver.close()
    },
  }
}
