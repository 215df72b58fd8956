import { decidesAboutMoney } from '../http/actor.ts'
import { plainName, unlinkedName } from '../mail/alarm-words.ts'
import type { MoneyChangeTexts } from '../texts/mail-texts.ts'
import type { ActorsEntry } from './audit.ts'

/** A change to where money goes, or to what protects it, as its mail needs it. */
export type MoneyChange = {
  kind: keyof MoneyChangeTexts['kinds']
  companyIds: readonly string[]
  /** The operator gets it too. */
  tellsOperator: boolean
  /** The user whose access changed, who gets it too. */
  userId?: string
  /** Concerns all companies that this user may act for, beside those named. */
  isOfAccount?: boolean
  write(kinds: MoneyChangeTexts['kinds'], names: Names): { subject: string; text: string }
}

/** What only the database or the configuration knows. */
export type Names = { company: string; person: string; network(chainId: number): string }

type Detail = NonNullable<ActorsEntry['detail']>
type Reader = (facts: { entry: ActorsEntry; detail: Detail; own: readonly string[] }) => MoneyChange[]

const textOf = (value: Detail[string] | undefined): string | null => (typeof value === 'string' ? value : null)
const userIdOf = ({ object }: ActorsEntry): string => object?.replace(/^user:/, '') ?? ''

const targetOf = (address: string | null, network: Detail[string] | undefined, names: Names): string | null =>
  address && (typeof network === 'number' ? `${address} (${names.network(network)})` : address)

const company: Reader = ({ detail, own }) => {
  const changes: MoneyChange[] = []
  const base = { companyIds: own, tellsOperator: true }
  if (detail.settlement === true)
    changes.push({
      ...base,
      kind: 'payout',
      write: (kinds, names) => {
        const before = targetOf(textOf(detail.addressBefore), detail.networkBefore, names)
        const after = targetOf(textOf(detail.settlementAddress), detail.settlementNetwork, names)
        // the one of a backup, which its company has confirmed
        const isSame = after !== null && before?.toLowerCase() === after.toLowerCase()
        return isSame ? kinds.payoutConfirmed({ ...names, address: after }) : kinds.payout({ ...names, before, after })
      },
    })
  const operators = Array.isArray(detail.operators) ? (detail.operators as readonly string[]) : []
  const isAboutRefunds = operators.some((line) => /^refund(Approval|StepUpLimit):/.test(line))
  if (detail.refundLimits !== undefined || isAboutRefunds)
    changes.push({ ...base, kind: 'refundRules', write: (kinds, names) => kinds.refundRules(names) })
  return changes
}

const account =
  (isRemoved: boolean): Reader =>
  ({ detail, own }) => [
    {
      ...{ kind: 'account', companyIds: own, tellsOperator: true },
      write: (kinds, names) => {
        const placeOf = (text: string | null): string | null => (text === null ? null : unlinkedName(text))
        const [before, after] = [placeOf(textOf(detail.before)), placeOf(textOf(detail.after))]
        return kinds.account({ ...names, channel: textOf(detail.channel) ?? '', isRemoved, before, after })
      },
    },
  ]

/** Scopes with which a key moves money, or opens the account of a person who may. */
const MONEY_SCOPES: readonly string[] = ['refunds:write', 'passwords:write']

const apiKey: Reader = ({ detail, own }) => {
  const scopes = Array.isArray(detail.scopes) ? (detail.scopes as readonly string[]) : []
  if (!scopes.some((scope) => MONEY_SCOPES.includes(scope))) return []
  const facts = { key: plainName(textOf(detail.name) ?? ''), scopes: scopes.join(', ') }
  return [
    {
      ...{ kind: 'apiKey', companyIds: own, tellsOperator: false },
      write: (kinds, names) => kinds.apiKey({ ...names, ...facts }),
    },
  ]
}

const webhookSecret: Reader = ({ own }) => [
  {
    ...{ kind: 'webhookSecret', companyIds: own, tellsOperator: false },
    write: (kinds, names) => kinds.webhookSecret(names),
  },
]

/** Accounts that the operator opens for itself, or for a machine. */
const OPERATORS_ROLES: readonly string[] = ['SuperAdmin', 'SuperManager', 'Service']

const access: Reader = ({ entry, detail, own }) => {
  const [role, roleBefore] = [textOf(detail.role) ?? '', textOf(detail.roleBefore)]
  const isOperators = [role, roleBefore ?? ''].some((one) => OPERATORS_ROLES.includes(one))
  // whoever founds a company has nobody there to tell
  const isJoining = entry.action === 'user.register' && (detail.joins === true || isOperators)
  const isNew = entry.action === 'user.invite' || isJoining
  const isChanged = isNew || roleBefore !== null || detail.disabledBefore !== undefined
  if (!isChanged || ![role, roleBefore ?? role].some(decidesAboutMoney)) return []
  const isDisabled = detail.disabled === true
  const lost = (detail.lostCompanies ?? []) as readonly string[]
  return [
    {
      ...{ kind: 'access', companyIds: [...own, ...lost], tellsOperator: isOperators },
      ...{ userId: userIdOf(entry), isOfAccount: true },
      write: (kinds, names) => kinds.access({ ...names, role, isDisabled }),
    },
  ]
}

const attached: Reader = ({ entry, detail }) => [
  {
    ...{ kind: 'attached', companyIds: (detail.added ?? []) as readonly string[], tellsOperator: true },
    userId: userIdOf(entry),
    write: (kinds, names) => kinds.attached(names),
  },
]

/** Of another person: who removes the own one, or proved the mailbox, gets a mail about it anyway. */
const secondFactor: Reader = ({ entry, own }) => {
  const userId = userIdOf(entry)
  if (entry.actor === 'anyone' || entry.actor === entry.object) return []
  return [
    {
      ...{ kind: 'secondFactor', companyIds: own, tellsOperator: true, userId, isOfAccount: true },
      write: (kinds, names) => kinds.secondFactor(names),
    },
  ]
}

/** By action: whoever adds an action that directs money, or weakens what protects it, adds a line here. */
const READERS: Readonly<Record<string, Reader>> = {
  'company.change': company,
  'channel.account_saved': account(false),
  'channel.account_removed': account(true),
  'api-key.create': apiKey,
  'webhook.regenerate-secret': webhookSecret,
  'webhook.activate-secret': webhookSecret,
  'user.register': access,
  'user.invite': access,
  'user.change': access,
  'user.attach-companies': attached,
  'two-factor.remove': secondFactor,
}

/** What an entry of the audit log changed about money; most change nothing. */
export function moneyChangesOf(entry: ActorsEntry): MoneyChange[] {
  const read = entry.result === 'refused' || !Object.hasOwn(READERS, entry.action) ? undefined : READERS[entry.action]
  const own = entry.companyId ? [entry.companyId] : []
  return read?.({ entry, detail: entry.detail ?? {}, own }) ?? []
}
