import type { Audit } from '../../audit/audit.ts'
import { type AccountVerdict, probeAccount } from '../../channels/account-probe.ts'
import { deleteChannelAccount, listChannelAccounts, upsertChannelAccount } from '../../channels/account-queries.ts'
import { accountContext, isReadWithoutAccount, readAccount, settingsOfAccount } from '../../channels/accounts.ts'
import type { ChannelId } from '../../channels/channel.ts'
import { ownWallet, readOwnWallet } from '../../channels/crypto/own-wallet.ts'
import { type OwnWallets, ownPlacesOf } from '../../channels/crypto/own-wallets.ts'
import { accountMarkOf, type ChannelKind, readSettings, type SettingsReading } from '../../channels/kind.ts'
import { CHANNEL_KINDS } from '../../channels/kinds.ts'
import { listProviderCalls, type StoredProviderCall } from '../../channels/provider-call-queries.ts'
import { lockCompany } from '../../companies/company-queries.ts'
import { lockActor } from '../../companies/company-scope.ts'
import type { Tx } from '../../db/db.ts'
import type { Actor } from '../../http/actor.ts'
import type { RequestContext } from '../../http/request-context.ts'
import { AppError, invalid } from '../../kernel/errors.ts'
import { findReachableOrder } from '../../orders/order-service.ts'
import { callbackUrlOf } from '../accept/create-at-provider.ts'
import { listPaymentsOfOrder } from '../payment-queries.ts'
import type { PaymentDeps } from '../payment-service.ts'
import { chooseMarks, findUnnamed, newMark, recogniseAccount } from './account-identity.ts'
import {
  countOrdersElsewhere,
  countPaymentsOfAccount,
  type LeavingAccount,
  markPaymentsOfAccount,
  type SavedAccount,
  wakePaymentsOfAccount,
} from './account-queries.ts'
import { changeOf, type KnownAccount, walletOf } from './account-words.ts'

export type ChannelSettingsDeps = PaymentDeps & {
  audit: Audit
  /** `CHANNEL_…` of the environment. */
  provider: Readonly<Record<string, string>>
  live: boolean
  /** A company's account was saved: refunds through it that have no final answer are polled at once. */
  wakeRefunds(tx: Tx, account: SavedAccount, now: Date): Promise<unknown>
  /** Refunds that are not finished and need this account. */
  countRefunds(tx: Tx, account: LeavingAccount): Promise<number>
  /** Undefined if no chain is set up. */
  ownWallets?: OwnWallets | undefined
}

type Kind = Omit<ChannelKind, 'open'>

/** What a company can own: a wallet, and accounts at providers. */
const listKinds = ({ ownWallets }: ChannelSettingsDeps): Kind[] =>
  ownWallets ? [ownWallet, ...CHANNEL_KINDS] : [...CHANNEL_KINDS]

const kindOf = (deps: ChannelSettingsDeps, id: string): Kind => {
  const kind = listKinds(deps).find((one) => one.id === id)
  if (kind) return kind
  throw new AppError('OBJECT_NOT_FOUND', { message: `There are no credentials for ${id}.` })
}

/** Enough to recognise a secret, too little to use it. */
const hintOf = (value: string, isSecret: boolean): string =>
  isSecret ? `…${value.length >= 16 ? value.slice(-4) : ''}` : value.slice(0, 80)

export type AccountView = {
  channel: ChannelId
  own: boolean
  hints: Record<string, string>
  callbackUrl: string
  settings: { name: string; means: string; required: boolean; secret: boolean }[]
  updatedAt: string | null
}

/** What a company can configure, and what it has configured. Never a secret. */
export async function listAccounts(deps: ChannelSettingsDeps, companyId: string): Promise<AccountView[]> {
  const accounts = await listChannelAccounts(deps.db, companyId)
  return listKinds(deps).map((kind) => {
    const account = accounts.find(({ channel }) => channel === kind.id)
    const settings = Object.entries(kind.settings)
      .filter(([, setting]) => !setting.operatorOnly)
      .map(([name, { description: means, secret, fallback }]) => ({
        name,
        means,
        required: fallback === undefined,
        secret: secret === true,
      }))
    return {
      channel: kind.id,
      own: account !== undefined,
      hints: account?.hints ?? {},
      callbackUrl: callbackUrlOf(deps.config.baseUrl, { channel: kind.id, companyId, ownAccount: true }),
      settings,
      updatedAt: account?.updatedAt.toISOString() ?? null,
    }
  })
}

type Leaving = KnownAccount & {
  /** None if it cannot be told. */
  accountMarks: readonly string[]
}

/**
 * The account that is saved until now. Nobody else changes it before the transaction ends. Payments of earlier versions
 * were opened with it, if it is older.
 */
async function readLeaving(
  deps: ChannelSettingsDeps,
  tx: Tx,
  companyId: string,
  kind: Kind,
): Promise<Leaving | undefined> {
  await lockCompany(tx, companyId)
  const account = (await listChannelAccounts(tx, companyId)).find(({ channel }) => channel === kind.id)
  if (!account) return undefined
  const reading = readIfPossible(deps, companyId, { kind, sealed: account.sealed })
  const named = reading?.outcome === 'set' ? accountMarkOf(kind, reading.values) : null
  const unnamed = account.accountMarks.length > 0 ? account.accountMarks : [newMark()]
  const accountMarks = named === null ? (findUnnamed(kind) ? unnamed : []) : [named]
  const [accountMark] = accountMarks
  if (accountMark) await markPaymentsOfAccount(tx, { companyId, channel: kind.id, accountMark }, account.updatedAt)
  return { reading, hints: account.hints, accountMarks }
}

type Uses = { openPayments: number; unfinishedRefunds: number }

async function countUses(deps: ChannelSettingsDeps, tx: Tx, account: LeavingAccount): Promise<Uses> {
  return {
    openPayments: await countPaymentsOfAccount(tx, account),
    unfinishedRefunds: await deps.countRefunds(tx, account),
  }
}

const isUsed = ({ openPayments, unfinishedRefunds }: Uses): boolean => openPayments + unfinishedRefunds > 0

/**
 * Before the account goes.
 * @returns what the audit log says about it
 * @throws ACCOUNT_IN_USE unless forced
 */
async function checkUnused(deps: ChannelSettingsDeps, tx: Tx, account: LeavingAccount, isForced: boolean) {
  if (isReadWithoutAccount(account.channel)) return {}
  const uses = await countUses(deps, tx, account)
  if (!isUsed(uses)) return {}
  if (isForced) return { forced: true, ...uses }
  throw new AppError('ACCOUNT_IN_USE', {
    message:
      `This account is still needed (open payments: ${uses.openPayments}, unfinished refunds: ${uses.unfinishedRefunds}). ` +
      'Wait until they have ended, or send force=true: then the payers choose again how to pay, and what was paid ' +
      'there already and refunds that the provider has wait until this account is saved again.',
  })
}

/** What cannot be opened must not keep a company from replacing it. */
function readIfPossible(...args: Parameters<typeof readAccount>): SettingsReading | undefined {
  try {
    return readAccount(...args)
  } catch {
    return undefined
  }
}

/** What the person learns who saved or removed an account. */
export type AccountChange = { movedOrders: number }

/** How many payers were shown an address that is not the company's any more: they are asked to choose again. */
async function countMoved(tx: Tx, companyId: string, kind: Kind, values?: Readonly<Record<string, string>>) {
  if (kind.id !== ownWallet.id) return 0
  return countOrdersElsewhere(tx, companyId, values ? ownPlacesOf(readOwnWallet(values)) : null)
}

/** Addresses that a company only named are anybody's again once its wallet does not have them. */
async function releaseLeft(
  { ownWallets }: ChannelSettingsDeps,
  tx: Tx,
  companyId: string,
  kind: Kind,
  { before, after }: { before: KnownAccount | undefined; after: KnownAccount | undefined },
): Promise<void> {
  const wallet = walletOf(kind, before)
  if (wallet) await ownWallets?.release(tx, companyId, wallet, walletOf(kind, after))
}

type Target = { companyId: string; channel: string; isForced: boolean }

/**
 * Stores a company's own credentials, encrypted.
 * @throws VALIDATION_FAILED naming each setting that is wrong, ACCOUNT_IN_USE if they name another account
 */
export async function saveAccount(
  deps: ChannelSettingsDeps,
  context: RequestContext,
  { companyId, channel, values, isForced }: Target & { values: Record<string, string> },
): Promise<AccountChange> {
  const { actor } = context
  const kind = kindOf(deps, channel)
  for (const name of Object.keys(values)) {
    const setting = Object.hasOwn(kind.settings, name) ? kind.settings[name] : undefined
    if (!setting || setting.operatorOnly) throw invalid(`settings.${name}`, 'is not a setting of this channel')
  }
  const reading = readSettings(kind, settingsOfAccount(kind, values, deps.provider))
  if (reading.outcome === 'absent') throw invalid('settings', 'name at least the required ones')
  if (reading.outcome === 'faulty') {
    const details = reading.faults.map(({ name, message }) => ({ path: `settings.${name}`, message }))
    throw new AppError('VALIDATION_FAILED', { details })
  }
  const shown = Object.entries(values).map(([name, value]) => [
    name,
    hintOf(value, kind.settings[name]?.secret === true),
  ])
  const unnamed = findUnnamed(kind)
  const recognition = unnamed && (await recogniseAccount(deps, companyId, unnamed, reading.values))
  const sealed = deps.vault.seal(JSON.stringify(values), accountContext(companyId, kind.id))
  const by = `${actor.kind}:${actor.id}`
  const change = await deps.db.tx(async (tx) => {
    await lockActor(tx, actor, companyId)
    const hints = Object.fromEntries(shown) as Record<string, string>
    const at = new Date(deps.clock())
    const before = await readLeaving(deps, tx, companyId, kind)
    if (kind.id === ownWallet.id) await deps.ownWallets?.claim(tx, { companyId, values: reading.values, by, at })
    const accountMarks = chooseMarks({ kind, values: reading.values, before, recognition, isForced })
    const account = { companyId, channel: kind.id, accountMarks }
    const left = before?.accountMarks.filter((mark) => !accountMarks.includes(mark)) ?? []
    const isLeft = left.length > 0 || before?.accountMarks.length === 0
    const leaving = { ...account, accountMarks: left, nextMarks: accountMarks }
    const inUse = isLeft ? await checkUnused(deps, tx, leaving, isForced) : {}
    const after = { reading, hints }
    await releaseLeft(deps, tx, companyId, kind, { before, after })
    await upsertChannelAccount(tx, { ...account, sealed, hints, by, at })
    await wakePaymentsOfAccount(tx, account, at)
    await deps.wakeRefunds(tx, account, at)
    const movedOrders = await countMoved(tx, companyId, kind, reading.values)
    await context.remember(tx, { movedOrders })
    const facts = { ...changeOf(kind, { before, after }), movedOrders, ...inUse }
    const action = 'channel.account_saved'
    await deps.audit.write(tx, context, { companyId, action, detail: { channel: kind.id, ...facts } })
    return { movedOrders }
  })
  deps.channels.forget(companyId)
  return change
}

/**
 * Switches back to the operator's account. Payments opened with the company's own account can no longer be polled until
 * it is put back, except those to one of our deposit addresses.
 * @throws OBJECT_NOT_FOUND, ACCOUNT_IN_USE
 */
export async function removeAccount(
  deps: ChannelSettingsDeps,
  context: RequestContext,
  { companyId, channel, isForced }: Target,
): Promise<AccountChange> {
  const kind = kindOf(deps, channel)
  const change = await deps.db.tx(async (tx) => {
    await lockActor(tx, context.actor, companyId)
    const before = await readLeaving(deps, tx, companyId, kind)
    const { accountMarks = [] } = before ?? {}
    if (!(await deleteChannelAccount(tx, companyId, kind.id))) throw new AppError('OBJECT_NOT_FOUND')
    const inUse = await checkUnused(deps, tx, { companyId, channel: kind.id, accountMarks, nextMarks: [] }, isForced)
    await releaseLeft(deps, tx, companyId, kind, { before, after: undefined })
    const movedOrders = await countMoved(tx, companyId, kind)
    const facts = { ...changeOf(kind, { before, after: undefined }), movedOrders, ...inUse }
    const action = 'channel.account_removed'
    await deps.audit.write(tx, context, { companyId, action, detail: { channel: kind.id, ...facts } })
    return { movedOrders }
  })
  deps.channels.forget(companyId)
  return change
}

/** Asks the provider whether it accepts the stored credentials. @throws OBJECT_NOT_FOUND without own ones */
export async function checkAccount(
  deps: ChannelSettingsDeps,
  { companyId, channel }: { companyId: string; channel: string },
): Promise<AccountVerdict> {
  const kind = CHANNEL_KINDS.find(({ id }) => id === channel)
  const account = (await listChannelAccounts(deps.db, companyId)).find((one) => one.channel === channel)
  if (!kind || !account)
    throw new AppError('OBJECT_NOT_FOUND', { message: `There are no credentials of your own for ${channel}.` })
  const reading = readAccount(deps, companyId, { kind, sealed: account.sealed })
  if (reading.outcome !== 'set') return { outcome: 'refused', reason: 'The settings are not complete any more.' }
  return probeAccount(kind, reading.values, deps)
}

const MAX_EXCHANGES = 500

/** Calls to the providers of an order's payments, for support. */
export async function readProviderCalls(deps: PaymentDeps, actor: Actor, code: string): Promise<StoredProviderCall[]> {
  const order = await findReachableOrder(deps.db, actor, code)
  const payments = await listPaymentsOfOrder(deps.db, order.companyId, order.id)
  const references = payments.map(({ merchantReference }) => merchantReference)
  return listProviderCalls(deps.db, order.companyId, references, MAX_EXCHANGES)
}
