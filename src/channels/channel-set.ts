import type { Queryable } from '../db/db.ts'
import { AppError } from '../kernel/errors.ts'
import type { Channel, ChannelId, Instructions } from './channel.ts'
import { type ChannelRule, plainRule, sortByRules } from './channel-rules.ts'
import { HEALTHY, type Health, type Supervised } from './supervised.ts'

/** The channels that one merchant can use, in the order for payers; a channel that is not configured is not offered. */
export type ChannelSet = {
  readonly available: readonly ChannelId[]
  find(id: ChannelId): Channel | undefined
  /** @throws CHANNEL_NOT_AVAILABLE */
  get(id: ChannelId): Channel
  health(id: ChannelId): Health
  /** Whether the company's own account at the provider is used instead of the operator's. */
  isOwn(id: ChannelId): boolean
  /** Marks of the company's own account; new payments get the first. None: the operator's, and a wallet. */
  accountMarks(id: ChannelId): readonly string[]
  /** The prices for which the company offers it, and its texts. */
  rule(id: ChannelId): ChannelRule
}

/** The account that a payment was opened with. */
export type PaymentAccount = {
  companyId: string
  channel: ChannelId
  ownAccount: boolean
  /** Null: unknown, any account of the company at the provider is taken for it. */
  accountMark: string | null
}

/** With what its payer was shown, if anything. */
export type ShownPayment = PaymentAccount & { network: number | null; instructions: Instructions | null }

export type Channels = {
  /** The operator's channels. */
  readonly operator: ChannelSet
  /** A company's channels: its own accounts take precedence over the operator's. */
  of(companyId: string, q?: Queryable): Promise<ChannelSet>
  /**
   * The channel with exactly the account that the payment was opened with; undefined when that was removed or replaced,
   * by a fresh read of the accounts, or is not set up on this node.
   * @param q the transaction, if the caller holds one
   */
  forPayment(payment: PaymentAccount, q?: Queryable): Promise<Channel | undefined>
  /**
   * The same, if its payer may still be sent there: undefined also for a place that is not in the company's present
   * wallet, whose payment is read all the same, and on a chain that no node reads.
   */
  forPayer(payment: ShownPayment, q?: Queryable): Promise<Channel | undefined>
  /** The health of every account that this node has opened, for the operator's metrics. */
  healths(): readonly { channel: ChannelId; account: 'operator' | 'company'; health: Health }[]
  /** Call it when a company's accounts or rules have changed. */
  forget(companyId: string): void
}

export function channelSet(
  channels: readonly { supervised: Supervised; own: boolean; accountMarks: readonly string[] }[],
  rules: readonly ChannelRule[] = [],
): ChannelSet {
  const sorted = sortByRules(channels, rules, ({ supervised }) => supervised.channel.id)
  const byId = new Map(sorted.map((one) => [one.supervised.channel.id, one]))
  const find = (id: ChannelId): Channel | undefined => byId.get(id)?.supervised.channel
  return {
    available: [...byId.keys()],
    find,
    get(id) {
      const channel = find(id)
      if (channel) return channel
      const offered = [...byId.keys()].join(', ') || 'none'
      throw new AppError('CHANNEL_NOT_AVAILABLE', {
        message: `The channel ${id} is not set up here. Available: ${offered}.`,
      })
    },
    health: (id) => byId.get(id)?.supervised.health() ?? HEALTHY,
    isOwn: (id) => byId.get(id)?.own === true,
    accountMarks: (id) => byId.get(id)?.accountMarks ?? [],
    rule: (id) => rules.find(({ channel }) => channel === id) ?? plainRule(id),
  }
}
