import { type Comptoir, isComptoirError, type Order, type OrderStatus } from '../../sdk/index.ts'
import type { SandboxFile } from '../connection.ts'
import { openSandbox, type Sandbox, until } from '../sandbox.ts'

export type Channel = 'binance' | 'gatepay' | 'kucoinpay' | 'crypto' | 'cryptopay'

/** The context of a play: one order, and everyone who may act on it. */
export type Stage = {
  client: Comptoir
  sandbox: Sandbox
  say(line: string): void
  /** A new order, or the one that the caller named. */
  order(): Promise<Order>
  /** `maxRetries`: how often it is sent again where the answer says so; by default as often as a shop does. */
  accept(order: Order, channel: Channel, options?: { maxRetries: number }): Promise<string>
  /** Accepts even if the provider does not answer; a job, or the next try, finds out. */
  acceptSomehow(order: Order, channel: Channel): Promise<string>
  pay(reference: string): Promise<void>
  becomes(order: Order, status: OrderStatus | OrderStatus[]): Promise<Order>
  /** An order paid through a provider that refunds at once. */
  paid(): Promise<Order>
}

export type StageOptions = {
  code?: string | undefined
  webhookUrl?: string | undefined
  amount?: string
  currency?: string
}

export function openStage(
  client: Comptoir,
  file: SandboxFile,
  say: (line: string) => void,
  options: StageOptions = {},
): Stage {
  const sandbox = openSandbox(file)
  const becomes: Stage['becomes'] = async (order, status) => {
    const reached = await client.orders.waitUntil(order.code, status, { timeoutMs: 60_000, pollMs: 200 })
    say(`${order.code} is ${reached.status}`)
    return reached
  }
  const accept: Stage['accept'] = async (order, channel, options) => {
    const given = await client.orders.accept(order.code, { paymentChannel: channel }, options)
    say(`${order.code}: the payer chose ${channel}`)
    return channel === 'crypto' ? `${given.toAddress}` : `${given.providerReference}`
  }
  const order: Stage['order'] = async () => {
    if (options.code) return client.orders.get(options.code)
    const { amount = '12.50', currency = 'USD', webhookUrl } = options
    const body = { amount, fromAsset: currency, merchantIdentifier: file.merchantIdentifier }
    const made = await client.orders.create({ ...body, ...(webhookUrl ? { webhookUrl } : {}) })
    say(`${made.code} is INITIAL`)
    return made.order
  }
  const pay = async (reference: string): Promise<void> => {
    await sandbox.act(reference, 'pay')
    say(`${reference}: the payer paid`)
  }
  return {
    ...{ client, sandbox, say, becomes, accept, order, pay },
    acceptSomehow: (one, channel) =>
      until(
        'The channel’s answer',
        async () => {
          try {
            const { providerReference } = await client.orders.accept(
              one.code,
              { paymentChannel: channel },
              { maxRetries: 0 },
            )
            return providerReference ?? undefined
          } catch (error) {
            if (!isComptoirError(error, 'CHANNEL_UNAVAILABLE', 'CHANNEL_NOT_AVAILABLE', 'TIMED_OUT')) throw error
            say(`${one.code}: ${error.message}`)
            return undefined
          }
        },
        60_000,
      ),
    async paid() {
      const one = await order()
      await pay(await accept(one, 'binance'))
      return becomes(one, 'PAID')
    },
  }
}
