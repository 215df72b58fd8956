import { ConfigError } from '../config/config.ts'
import type { Db, Queryable } from '../db/db.ts'
import { withoutHolding } from '../db/held.ts'
import { type Clock, isYounger, SECOND } from '../kernel/clock.ts'
import type { Vault } from '../kernel/vault.ts'
import {
  type ChannelAccount,
  listAccountsSealedOtherwise,
  listChannelAccounts,
  updateSealedAccount,
} from './account-queries.ts'
import { type Channel, type ChannelId, ON_CHAIN_CHANNELS } from './channel.ts'
import { type ChannelSet, type Channels, channelSet, type PaymentAccount, type ShownPayment } from './channel-set.ts'
import { ownWallet } from './crypto/own-wallet.ts'
import type { OwnWallets } from './crypto/own-wallets.ts'
import {
  accountMarkOf,
  type ChannelContext,
  type ChannelKind,
  readSettings,
  type SettingsReading,
  settingsOfEnv,
} from './kind.ts'
import { CHANNEL_KINDS } from './kinds.ts'
import { ProviderRefusal } from './provider-errors.ts'
import { openProviderHttp } from './provider-http.ts'
import { listChannelRules } from './rule-queries.ts'
import { HEALTHY, type Supervised, type Supervision, supervise } from './supervised.ts'

export type AccountDeps = {
  db: Db
  vault: Vault
  clock: Clock
  live: boolean
  /** Variables `CHANNEL_…` of the environment. */
  provider: Readonly<Record<string, string>>
  wallet: Channel | undefined
  /** Companies' own wallets; undefined if no chain is configured. */
  ownWallets?: OwnWallets | undefined
  /** Whether any node reads a chain, also one that this node's settings do not name. */
  isChainRead(chainId: number, q?: Queryable): Promise<boolean>
  supervision: Supervision
  /** How many companies without accounts or rules are cached; default 10 000. */
  mostPlain?: number
  /** Reports a company's account that cannot be opened to the operator. */
  onFault(companyId: string, channel: ChannelId, error: unknown): void
}

/**
 * Anyone can call back with a made-up company in the path, so the cache of companies without their own accounts is
 * limited.
 */
const MOST_PLAIN = 10_000

/** How long another node may keep using a company's previous accounts and rules. */
const CACHE_MS = 5 * SECOND

export const accountContext = (companyId: string, channel: ChannelId): string =>
  `company:${companyId}:channel:${channel}`

type Opened = { supervised: Supervised; own: boolean; accountMarks: readonly string[]; close(): Promise<void> }

/** The wallet's channel, which no provider can disturb. */
const openedWallet = (channel: Channel, own: boolean): Opened => ({
  ...{ supervised: { channel, health: () => HEALTHY }, own, accountMarks: [] },
  close: async () => {},
})

/** Providers that deliver to the wallet's deposit addresses need a chain; without one they are not offered. */
const needsWallet = (channel: ChannelId): boolean => channel !== ownWallet.id && isReadWithoutAccount(channel)

/** Whether a company's payments are still read and refunded once the account is gone: at a wallet. */
export const isReadWithoutAccount = (channel: ChannelId): boolean => ON_CHAIN_CHANNELS.includes(channel)

function openKind(
  deps: AccountDeps,
  kind: ChannelKind,
  account: {
    values: Readonly<Record<string, string>>
    secrets: readonly string[]
    own: boolean
    marks: readonly string[]
  },
): Opened[] {
  if (!deps.wallet && needsWallet(kind.id)) return []
  const { clock, live, wallet } = deps
  const { http, clockAheadMs, close } = openProviderHttp({ ...account, clock })
  const context: ChannelContext = { http, clock, live, ...(wallet && { wallet }) }
  const channel = kind.open(account.values, context)
  const named = account.own ? accountMarkOf(kind, account.values) : null
  const accountMarks = named === null ? account.marks : [named]
  return [{ supervised: supervise(channel, deps.supervision, clockAheadMs), own: account.own, accountMarks, close }]
}

/** @throws ConfigError with one line per wrong or missing variable */
function openOperator(deps: AccountDeps): Opened[] {
  const faults: string[] = []
  const opened = CHANNEL_KINDS.flatMap((kind) => {
    const reading = readSettings(kind, settingsOfEnv(kind, deps.provider))
    if (reading.outcome === 'faulty')
      faults.push(...reading.faults.map(({ name, message }) => `CHANNEL_${kind.env}_${name}: ${message}`))
    return reading.outcome === 'set' ? openKind(deps, kind, { ...reading, own: false, marks: [] }) : []
  })
  if (faults.length > 0) throw new ConfigError([...new Set(faults)])
  return opened
}

/** A company's values, plus the operator's for settings that a company may not choose (URLs). */
export function settingsOfAccount(
  kind: Omit<ChannelKind, 'open'>,
  own: Readonly<Record<string, string>>,
  provider: Readonly<Record<string, string>>,
): Readonly<Record<string, string | undefined>> {
  const operator = settingsOfEnv(kind, provider)
  const names = Object.keys(kind.settings)
  return Object.fromEntries(names.map((name) => [name, kind.settings[name]?.operatorOnly ? operator[name] : own[name]]))
}

/** Opens what a company saved. @throws Error if it was sealed with an unknown master key */
export function readAccount(
  { vault, provider }: Pick<AccountDeps, 'vault' | 'provider'>,
  companyId: string,
  { kind, sealed }: { kind: Omit<ChannelKind, 'open'>; sealed: string },
): SettingsReading {
  const own = JSON.parse(vault.open(sealed, accountContext(companyId, kind.id))) as Record<string, string>
  return readSettings(kind, settingsOfAccount(kind, own, provider))
}

const faultsOf = (reading: SettingsReading): string =>
  reading.outcome === 'faulty' ? reading.faults.map(({ name }) => name).join(', ') : 'required ones are missing'

/** @returns undefined if it cannot be opened: then the channel is not offered, least of all with the operator's */
function openAccount(deps: AccountDeps, companyId: string, account: ChannelAccount): Opened[] | undefined {
  const { channel, sealed, accountMarks: marks } = account
  const provider = CHANNEL_KINDS.find(({ id }) => id === channel)
  const kind = channel === ownWallet.id ? ownWallet : provider
  if (!kind) return []
  try {
    const reading = readAccount(deps, companyId, { kind, sealed })
    if (reading.outcome !== 'set') throw new Error(`its settings are not complete any more: ${faultsOf(reading)}`)
    if (provider) return openKind(deps, provider, { ...reading, own: true, marks })
    const wallet = deps.ownWallets?.open(reading.values)
    return wallet ? [openedWallet(wallet, true)] : []
  } catch (error) {
    // an account that cannot be opened must not disable the other channels
    deps.onFault(companyId, channel, error)
    return undefined
  }
}

function openAll(
  deps: AccountDeps,
  companyId: string,
  accounts: readonly ChannelAccount[],
): Pick<Cached, 'opened' | 'shut'> {
  const all = accounts.map((account) => ({ account, found: openAccount(deps, companyId, account) }))
  return {
    opened: all.flatMap(({ found }) => found ?? []),
    shut: all.flatMap(({ account, found }) => (found ? [] : [account.channel])),
  }
}

/** Re-seals, in batches, rows sealed with an older master key. @returns the number of rows */
export async function resealAccounts({ db, vault }: Pick<AccountDeps, 'db' | 'vault'>): Promise<number> {
  const rows = await listAccountsSealedOtherwise(db, vault.sealPrefix, 100)
  for (const row of rows) {
    const context = accountContext(row.companyId, row.channel)
    await updateSealedAccount(db, row, vault.seal(vault.open(row.sealed, context), context))
  }
  return rows.length
}

type Cached = {
  mark: string
  ruleMark: string
  readAt: number
  opened: Opened[]
  /** The company's accounts that cannot be opened. */
  shut: readonly ChannelId[]
  set: ChannelSet
}

const markOf = (rows: readonly { channel: ChannelId; updatedAt: Date }[]): string =>
  rows.map(({ channel, updatedAt }) => `${channel}@${updatedAt.getTime()}`).join()

/** A company's own account replaces the operator's at the same provider, also one that is shut. */
function withOwn(operators: readonly Opened[], { opened: own, shut }: Pick<Cached, 'opened' | 'shut'>): Opened[] {
  const idOf = ({ supervised }: Opened): ChannelId => supervised.channel.id
  const places = [ownWallet, ...CHANNEL_KINDS].map(({ id }) => id)
  const taken = [...own.map(idOf), ...shut]
  const rest = operators.filter((one) => !taken.includes(idOf(one)))
  return [...rest, ...own].toSorted((a, b) => places.indexOf(idOf(a)) - places.indexOf(idOf(b)))
}

/** A channel that still reads and refunds old payments but takes no new ones. */
const readOnly = (channel: Channel): Channel => ({
  ...channel,
  async createPayment() {
    throw new ProviderRefusal('account', 'The account at the provider was removed.')
  },
})

/** All channels: the payer's wallet, the operator's accounts at providers, and the companies' own. */
export function openChannelAccounts(deps: AccountDeps): Channels & { close(): Promise<void> } {
  const { clock, db, wallet, mostPlain = MOST_PLAIN } = deps
  const base = wallet ? [openedWallet(wallet, false)] : []
  const operators = [...base, ...openOperator(deps)]
  const operator = channelSet(operators)
  const cache = new Map<string, Cached>()
  const plain = new Map<string, Cached>()
  const isFresh = ({ readAt }: Cached): boolean => isYounger(readAt, CACHE_MS, clock())
  const find = (companyId: string): Cached | undefined => cache.get(companyId) ?? plain.get(companyId)
  const keep = (companyId: string, isPlain: boolean, next: Cached): void => {
    if (isPlain) cache.delete(companyId)
    else plain.delete(companyId)
    if (plain.size >= mostPlain) plain.clear()
    const kept = isPlain ? plain : cache
    kept.set(companyId, next)
  }

  /** Purchases through such a provider arrive at our deposit addresses, even after the account there is gone. */
  const delivered = wallet && readOnly(wallet)
  const readerOf = (channel: ChannelId): Channel | undefined => (needsWallet(channel) ? delivered : undefined)

  async function load(companyId: string, q: Queryable = db): Promise<Cached> {
    const known = find(companyId)
    return known && isFresh(known) ? known : reload(companyId, q)
  }

  /** Unchanged accounts keep their circuits when the table is read again. */
  async function reload(companyId: string, q: Queryable = db): Promise<Cached> {
    const known = find(companyId)
    const accounts = await listChannelAccounts(q, companyId)
    const rules = await listChannelRules(q, companyId)
    const [mark, ruleMark] = [markOf(accounts), markOf(rules)]
    const isSame = known?.mark === mark
    const { opened, shut } = isSame ? known : openAll(deps, companyId, accounts)
    const isPlain = opened.length + shut.length + rules.length === 0
    const fresh = (): ChannelSet => (isPlain ? operator : channelSet(withOwn(operators, { opened, shut }), rules))
    const set = isSame && known.ruleMark === ruleMark ? known.set : fresh()
    const next = { mark, ruleMark, readAt: clock(), opened, shut, set }
    if (known && !isSame) for (const { close } of known.opened) setTimeout(() => void close(), 60_000).unref()
    keep(companyId, isPlain, next)
    return next
  }

  const ofOperator = (channel: ChannelId): Channel | undefined => operator.find(channel) ?? readerOf(channel)
  const ofCompany = (set: ChannelSet, { channel, accountMark }: PaymentAccount): Channel | undefined => {
    const isSame = accountMark === null || set.accountMarks(channel).includes(accountMark)
    if (set.isOwn(channel) && isSame) return set.find(channel)
    return channel === ownWallet.id ? deps.ownWallets?.reader : readerOf(channel)
  }

  async function forPayment(payment: PaymentAccount, q?: Queryable): Promise<Channel | undefined> {
    const { companyId, channel, ownAccount } = payment
    if (!ownAccount) return ofOperator(channel)
    const known = find(companyId)
    const found = known && ofCompany(known.set, payment)
    // another node may have saved it in the last seconds
    if (!found) return ofCompany((await reload(companyId, q)).set, payment)
    // answers from the cache and refreshes it in the background
    if (!isFresh(known)) void withoutHolding(() => load(companyId)).catch(() => {})
    return found
  }

  const isUnread = async ({ channel, network }: ShownPayment, q?: Queryable): Promise<boolean> =>
    isReadWithoutAccount(channel) && network !== null && !(await deps.isChainRead(network, q))

  return {
    operator,
    of: async (companyId, q) => (await load(companyId, q)).set,
    forPayment,
    async forPayer(payment, q) {
      if (await isUnread(payment, q)) return undefined
      if (!payment.ownAccount || payment.channel !== ownWallet.id) return forPayment(payment, q)
      const { set } = await load(payment.companyId, q)
      const wallet = set.isOwn(ownWallet.id) ? set.find(ownWallet.id) : undefined
      const { instructions, network } = payment
      const address = instructions?.toAddress?.toLowerCase()
      return address === undefined || (await wallet?.hasPlace?.({ address, network }, q)) ? wallet : undefined
    },
    healths() {
      const companies = [...cache.values()].flatMap(({ opened }) => opened)
      return [...operators, ...companies].map(({ supervised, own }) => ({
        channel: supervised.channel.id,
        account: own ? ('company' as const) : ('operator' as const),
        health: supervised.health(),
      }))
    },
    forget(companyId) {
      cache.delete(companyId)
      plain.delete(companyId)
    },
    async close() {
      const own = [...cache.values()].flatMap(({ opened }) => opened)
      await Promise.all([...operators, ...own].map(({ close }) => close()))
    },
  }
}
