import { isRecent, MINUTE } from '../kernel/clock.ts'
import { AppError } from '../kernel/errors.ts'
import { type Actor, type ApiScope, USER_ROLES, type UserRole } from './actor.ts'

export type Limit = 'credentials' | 'session' | 'public' | 'company' | 'none'

/** The cookies of ours that say who calls: a session's refresh token, a till's device token. */
export type CookieKind = 'session' | 'device'

export type Rule = {
  /** Roles that may call it; 'anyone' needs no credential (but an invalid one is refused). */
  roles: readonly UserRole[] | 'anyone'
  /** The scope that an API key needs. Absent: no API key may call it. */
  scope?: ApiScope
  /** Also for users that are not verified or not approved yet. */
  evenInvalid?: true
  /** The route reads cookies or its own token; an access token sent along, even an old one, is ignored. */
  ignoreCredential?: true
  /** A missing, expired or malformed credential is ignored (old clients send stale ones). */
  staleIsNone?: true
  /** A bearer token with this prefix is no access token: the route checks it, and it is valid for this route only. */
  ownToken?: string
  /** Also for a person who signed in at a till with a PIN. */
  till?: true
  /** Needs a second factor not older than five minutes. */
  stepUp?: true
  /** The call counts for the owner of this cookie, without one for its address. */
  byCookie?: CookieKind
  /** 'public': by address; a call for an active company counts for that instead, unless its credential is ignored. */
  limit: Limit
}

const STAFF: readonly UserRole[] = ['SuperAdmin', 'SuperManager', 'Manager', 'Association', 'Cashier']
const MANAGERS: readonly UserRole[] = ['SuperAdmin', 'SuperManager', 'Manager', 'Association']
const SELLERS: readonly UserRole[] = [...STAFF, 'SimpleUser', 'Service']
const READERS: readonly UserRole[] = [...SELLERS, 'Observer']
const EXPORTERS: readonly UserRole[] = [...MANAGERS, 'Service']
/** Who may sign in at a till. */
export const PIN_HOLDERS: readonly UserRole[] = ['Manager', 'Association', 'Cashier']
const EVERYBODY: readonly UserRole[] = USER_ROLES
const LOGIN = { roles: 'anyone', ignoreCredential: true, limit: 'credentials' } as const
const COOKIE = { roles: 'anyone', ignoreCredential: true, limit: 'session' } as const

/**
 * Who may call what: decided only here. A route names its row; a route without one makes the start fail. Rows say what
 * a role may do at all; which objects it may touch depends on the company of the object (404).
 */
export const PERMISSIONS = {
  'orders.create': { roles: SELLERS, scope: 'orders:write', till: true, limit: 'company' },
  'orders.status': { roles: 'anyone', staleIsNone: true, limit: 'public' },
  'orders.list': { roles: READERS, scope: 'orders:read', till: true, limit: 'company' },
  'orders.history': { roles: READERS, scope: 'orders:read', till: true, limit: 'company' },
  'orders.summary': { roles: [...MANAGERS, 'Cashier', 'Observer'], limit: 'company' },
  'orders.links': { roles: READERS, scope: 'orders:read', limit: 'company' },
  'orders.download': { roles: EXPORTERS, scope: 'orders:read', limit: 'company' },
  'orders.cancel': { roles: SELLERS, scope: 'orders:write', till: true, limit: 'company' },
  'orders.expire': { roles: SELLERS, scope: 'orders:write', till: true, limit: 'company' },
  'orders.payer': { roles: SELLERS, scope: 'orders:write', till: true, limit: 'company' },
  // in our name, to any address: not for accounts that anyone can open, nor at a till
  'orders.send': { roles: [...STAFF, 'Service'], scope: 'orders:write', limit: 'company' },
  // between colleagues, and they may name the payer: not for programs, nor for who may not know the payer
  'notes.read': { roles: STAFF, limit: 'company' },
  'notes.write': { roles: STAFF, limit: 'company' },
  'payers.read': { roles: MANAGERS, limit: 'company' },
  'payers.erase': { roles: MANAGERS, limit: 'company' },
  'orders.events': { roles: [...STAFF, 'Observer', 'Service'], scope: 'orders:read', limit: 'company' },
  'payments.accept': { roles: SELLERS, scope: 'orders:write', till: true, limit: 'company' },
  'payments.confirm': { roles: SELLERS, scope: 'orders:write', till: true, limit: 'company' },
  'payments.transaction': { roles: SELLERS, scope: 'orders:write', till: true, limit: 'company' },
  'refunds.revert': { roles: [...MANAGERS, 'Service'], scope: 'refunds:write', limit: 'company' },
  'requests.read': { roles: [...MANAGERS, 'Service'], scope: 'orders:read', limit: 'company' },
  'webhooks.deliveries': { roles: [...MANAGERS, 'Observer', 'Service'], scope: 'webhooks:read', limit: 'company' },
  'webhooks.curl': { roles: MANAGERS, limit: 'company' },
  'webhooks.redeliver': { roles: [...MANAGERS, 'Service'], scope: 'webhooks:write', limit: 'company' },
  'webhooks.test': { roles: [...MANAGERS, 'Service'], scope: 'webhooks:write', limit: 'company' },
  'webhooks.secret': { roles: MANAGERS, stepUp: true, limit: 'company' },
  'webhooks.regenerate': { roles: MANAGERS, stepUp: true, limit: 'company' },
  'webhooks.subscriptions': { roles: [...MANAGERS, 'Observer'], limit: 'company' },
  'webhooks.subscribe': { roles: ['SuperAdmin'], limit: 'company' },
  'refunds.read': { roles: [...MANAGERS, 'Observer', 'Service'], scope: 'orders:read', limit: 'company' },
  'refunds.decide': { roles: ['SuperAdmin'], stepUp: true, limit: 'company' },
  'refunds.record': { roles: ['SuperAdmin'], stepUp: true, limit: 'company' },
  'refunds.settle': { roles: MANAGERS, stepUp: true, limit: 'company' },
  'mispayments.read': { roles: [...MANAGERS, 'Observer', 'Service'], scope: 'orders:read', limit: 'company' },
  'mispayments.decide': { roles: MANAGERS, limit: 'company' },
  'mispayments.bear': { roles: MANAGERS, stepUp: true, limit: 'company' },
  'ledger.read': { roles: [...MANAGERS, 'Observer', 'Service'], scope: 'orders:read', limit: 'company' },
  'ledger.explain': { roles: ['SuperAdmin'], stepUp: true, limit: 'company' },
  'settlements.read': { roles: [...MANAGERS, 'Observer', 'Service'], scope: 'orders:read', limit: 'company' },
  'settlements.create': { roles: MANAGERS, limit: 'company' },
  'settlements.cancel': { roles: MANAGERS, limit: 'company' },
  'settlements.approve': { roles: ['SuperAdmin'], stepUp: true, limit: 'company' },
  'settlements.pay': { roles: ['SuperAdmin'], stepUp: true, limit: 'company' },
  'kyc.read': { roles: [...MANAGERS, 'Observer', 'Service'], scope: 'orders:read', limit: 'company' },
  'kyc.start': { roles: [...MANAGERS, 'Service'], scope: 'orders:write', limit: 'company' },
  'kyc.decide': { roles: ['SuperAdmin', 'Manager', 'Association'], limit: 'company' },
  'kyc.requestEdd': { roles: ['SuperAdmin', 'Manager', 'Association'], limit: 'company' },
  'kyc.completeEdd': { roles: ['SuperAdmin'], stepUp: true, limit: 'company' },
  'compliance.callback': { roles: 'anyone', ignoreCredential: true, limit: 'none' },
  'screenings.read': { roles: MANAGERS, limit: 'company' },
  'screenings.decide': { roles: MANAGERS, stepUp: true, limit: 'company' },
  'rates.read': { roles: 'anyone', staleIsNone: true, limit: 'public' },
  'channels.callback': { roles: 'anyone', ignoreCredential: true, limit: 'none' },
  'channels.read': { roles: READERS, scope: 'orders:read', till: true, limit: 'company' },
  'channels.accounts': { roles: MANAGERS, limit: 'company' },
  'channels.account': { roles: MANAGERS, stepUp: true, limit: 'company' },
  'channels.rules': { roles: MANAGERS, limit: 'company' },
  // payers act on these texts
  'channels.rule': { roles: MANAGERS, stepUp: true, limit: 'company' },
  'channels.exchanges': { roles: MANAGERS, limit: 'company' },
  'auth.register': { roles: 'anyone', limit: 'credentials' },
  'auth.login': LOGIN,
  'auth.otp': LOGIN,
  'auth.otpEmail': LOGIN,
  'auth.resetSend': LOGIN,
  'auth.resetChange': { roles: 'anyone', limit: 'credentials' },
  'auth.verifyEmail': LOGIN,
  'auth.refresh': { ...COOKIE, byCookie: 'session' },
  'auth.signOut': { ...COOKIE, byCookie: 'session' },
  'auth.sendVerification': { roles: EVERYBODY, evenInvalid: true, limit: 'company' },
  'auth.sessions': { roles: EVERYBODY, evenInvalid: true, limit: 'company' },
  'auth.password': { roles: EVERYBODY, evenInvalid: true, limit: 'credentials' },
  'auth.twoFactor': { roles: EVERYBODY, evenInvalid: true, limit: 'company' },
  'auth.twoFactorRemove': { roles: EVERYBODY, evenInvalid: true, stepUp: true, limit: 'company' },
  'users.me': { roles: EVERYBODY, evenInvalid: true, limit: 'company' },
  'users.list': { roles: MANAGERS, limit: 'company' },
  'users.invite': { roles: MANAGERS, limit: 'company' },
  'users.change': { roles: MANAGERS, limit: 'company' },
  'users.approve': { roles: MANAGERS, limit: 'company' },
  'users.companies': { roles: ['SuperAdmin'], limit: 'company' },
  'users.resetTwoFactor': { roles: ['SuperAdmin'], stepUp: true, limit: 'company' },
  'companies.read': { roles: MANAGERS, limit: 'company' },
  'companies.change': { roles: MANAGERS, limit: 'company' },
  'companies.approve': { roles: ['SuperAdmin'], limit: 'company' },
  'tills.read': {
    roles: [...MANAGERS, 'Cashier', 'Observer', 'Service'],
    scope: 'orders:read',
    till: true,
    limit: 'company',
  },
  'tills.write': { roles: MANAGERS, limit: 'company' },
  'tillDevices.read': { roles: MANAGERS, limit: 'company' },
  'tillDevices.create': { roles: MANAGERS, stepUp: true, limit: 'company' },
  'tillDevices.revoke': { roles: MANAGERS, limit: 'company' },
  'tillPins.read': { roles: PIN_HOLDERS, limit: 'company' },
  'tillPins.change': { roles: PIN_HOLDERS, stepUp: true, limit: 'credentials' },
  'till.shift': { roles: ['Cashier'], till: true, limit: 'company' },
  'till.enrol': LOGIN,
  'till.signIn': { ...LOGIN, byCookie: 'device' },
  'till.device': { ...COOKIE, byCookie: 'device' },
  'staticLinks.read': { roles: [...MANAGERS, 'Observer', 'Service'], scope: 'orders:read', limit: 'company' },
  'staticLinks.write': { roles: [...MANAGERS, 'Service'], scope: 'orders:write', limit: 'company' },
  'buttons.read': { roles: [...MANAGERS, 'Observer', 'Service'], scope: 'sessions:write', limit: 'company' },
  'buttons.write': { roles: MANAGERS, limit: 'company' },
  'buttonSessions.read': { roles: [...MANAGERS, 'Observer', 'Service'], scope: 'sessions:write', limit: 'company' },
  'buttonSessions.write': { roles: [...MANAGERS, 'Service'], scope: 'sessions:write', limit: 'company' },
  'buttonSessions.end': {
    roles: [...MANAGERS, 'Service'],
    scope: 'sessions:write',
    ownToken: 'bst_',
    limit: 'company',
  },
  'apiKeys.read': { roles: MANAGERS, limit: 'company' },
  'apiKeys.create': { roles: MANAGERS, stepUp: true, limit: 'company' },
  'apiKeys.revoke': { roles: MANAGERS, limit: 'company' },
  'apiKeys.revokeOwn': { roles: 'anyone', ignoreCredential: true, limit: 'public' },
  'deviceLogins.start': LOGIN,
  'deviceLogins.claim': { roles: 'anyone', ignoreCredential: true, limit: 'public' },
  'deviceLogins.read': { roles: MANAGERS, limit: 'company' },
  'deviceLogins.approve': { roles: MANAGERS, stepUp: true, limit: 'company' },
  'deviceLogins.deny': { roles: MANAGERS, limit: 'company' },
  'operator.status': { roles: ['SuperAdmin'], limit: 'company' },
  'audit.verify': { roles: ['SuperAdmin'], limit: 'company' },
  'announcements.read': { roles: EVERYBODY, limit: 'company' },
  'announcements.write': { roles: ['SuperAdmin'], limit: 'company' },
  'audit.read': { roles: MANAGERS, limit: 'company' },
} as const satisfies Record<string, Rule>

export type PermissionName = keyof typeof PERMISSIONS

export const isPermission = (name: string): name is PermissionName => Object.hasOwn(PERMISSIONS, name)

export const ruleOf = (name: PermissionName): Rule => PERMISSIONS[name]

/** The rows of the table that a person's role grants; a fresh second factor may still be required. */
export function listPermissions({ role, valid, tillDeviceId }: Actor): PermissionName[] {
  const names = Object.keys(PERMISSIONS).filter(isPermission)
  return names.filter((name) => {
    const { roles, evenInvalid, till } = ruleOf(name)
    if (tillDeviceId !== undefined && roles !== 'anyone' && !till) return false
    return roles === 'anyone' || (roles.includes(role) && (valid || evenInvalid === true))
  })
}

const STEP_UP_MS = 5 * MINUTE

/** Whether this session proved a second factor within the last five minutes. */
export const hasFreshFactor = (actor: Actor, nowMs: number): boolean =>
  actor.secondFactorAt !== null && isRecent(actor.secondFactorAt, STEP_UP_MS, nowMs)

/**
 * Whether a refusal may be late: a node keeps what it read of a session for some seconds, and meanwhile another may
 * have taken the code, the confirmation of the address, or the approval. What takes a right away ends the session.
 */
export const mayBeLate = (name: PermissionName, actor: Actor | null, nowMs: number): boolean =>
  actor?.kind === 'user' && (!actor.valid || (ruleOf(name).stepUp === true && !hasFreshFactor(actor, nowMs)))

const NO_API_KEYS = 'API keys may not do this; log in instead.'

/** @throws UNAUTHORIZED without a credential, FORBIDDEN or STEP_UP_REQUIRED with an insufficient one */
export function checkPermission(name: PermissionName, actor: Actor | null, nowMs: number): void {
  const rule = ruleOf(name)
  if (rule.roles === 'anyone') return
  if (!actor) throw new AppError('UNAUTHORIZED')
  if (!rule.roles.includes(actor.role)) {
    throw new AppError('FORBIDDEN', {
      message:
        actor.kind === 'apiKey'
          ? NO_API_KEYS
          : `The role ${actor.role} may not do this. It needs one of: ${rule.roles.join(', ')}.`,
    })
  }
  if (actor.kind === 'apiKey' && (rule.scope === undefined || !(actor.scopes ?? []).includes(rule.scope))) {
    const missing = rule.scope === undefined ? NO_API_KEYS : `This API key lacks the scope ${rule.scope}.`
    throw new AppError('FORBIDDEN', { message: missing })
  }
  if (actor.tillDeviceId !== undefined && !rule.till) {
    throw new AppError('FORBIDDEN', { message: 'A till cannot do this. Log in to the back office.' })
  }
  if (!actor.valid && !rule.evenInvalid) {
    throw new AppError('FORBIDDEN', {
      message: `This account is not active yet. ${(actor.missing ?? ['Verify the e-mail address, and wait for approval.']).join(' ')}`,
    })
  }
  if (rule.stepUp && actor.kind === 'user' && !hasFreshFactor(actor, nowMs)) throw new AppError('STEP_UP_REQUIRED')
}
