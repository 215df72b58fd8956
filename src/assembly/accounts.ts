import { openAudit } from '../audit/audit.ts'
import { openMoneyChangeMails } from '../audit/money-change-mails.ts'
import { networkName } from '../chain/networks.ts'
import { resealAccounts } from '../channels/accounts.ts'
import type { KycDeps } from '../compliance/kyc-service.ts'
import { resealKycs } from '../compliance/payer-erasure.ts'
import { openJobQueue } from '../db/job-runner.ts'
import { openRateLimits } from '../http/limits/rate-limits.ts'
import { HOUR, MINUTE } from '../kernel/clock.ts'
import { startTicker, type Ticker } from '../kernel/ticker.ts'
import { resealPlaces } from '../keys/reseal.ts'
import { auditKeysOf, openServerKeys } from '../keys/server-key-service.ts'
import { openMailer } from '../mail/mail.ts'
import { openOperatorAlarm } from '../mail/operator-alarm.ts'
import { resealNotes } from '../orders/notes/note-service.ts'
import { keyPayers } from '../payers/payer-search.ts'
import { type PayerDeps, resealPayers } from '../payers/payer-service.ts'
import { openAccessTokens } from '../sessions/access-token.ts'
import type { ApiKeyDeps } from '../sessions/api-keys/api-key-routes.ts'
import { openApiKeys } from '../sessions/api-keys/api-key-service.ts'
import { openAuth } from '../sessions/auth-service.ts'
import { openAuthenticate } from '../sessions/authenticate.ts'
import type { DeviceLoginDeps } from '../sessions/device-login/device-login-service.ts'
import { openSessionOwners, openSessions } from '../sessions/session-service.ts'
import { openDeviceOwners } from '../tills/device-service.ts'
import { openTillCookies } from '../tills/till-cookies.ts'
import { openPasswords } from '../users/password.ts'
import { readRefusedPasswords } from '../users/refused-passwords.ts'
import type { SessionHooks, UserDeps } from '../users/user-service.ts'
import { openWebhookIdKey } from '../webhooks/outbox/webhook-id-key.ts'
import type { ServiceBase } from './service-base.ts'

/** Accounts, sessions, keys, rate limits, mails and audit. */
export function openAccounts({ config, db, vault, clock }: Omit<ServiceBase, 'log' | 'metrics'>) {
  const apiKeys = openApiKeys({ db, clock })
  const limits = openRateLimits({ db, clock, limits: config.limits })
  const jobs = openJobQueue({ clock })
  const mailer = openMailer({ jobs, vault, clock })
  const alarm = openOperatorAlarm({ mailer, config })
  const keys = openServerKeys({ db, vault, clock })
  const { officeUrl } = config
  const tell = openMoneyChangeMails({ clock, mailer, alarm, officeUrl, networkName })
  const audit = openAudit({ db, clock, keys: auditKeysOf(keys), tell })
  const tokens = openAccessTokens({ keys, clock, issuer: config.baseUrl })
  const sessions = openSessions({ db, clock, vault, tokens, apiKeys, audit, mailer })
  const passwords = openPasswords({ memoryKib: config.passwordMemoryKib })
  const refusedPasswords = readRefusedPasswords(config.passwordListFile)
  const base = { db, clock, vault, config, sessions, mailer, alarm, jobs, audit, limits }
  const auth = openAuth({ ...base, passwords, refusedPasswords })
  const tillCookies = openTillCookies(config)
  const cookieOwners = {
    session: openSessionOwners({ db, clock, limits, cookies: auth.cookies }),
    device: openDeviceOwners({ db, limits }, tillCookies),
  }
  const hooks: SessionHooks = {
    endSessions: async (tx, userId, reason) => (await sessions.endAll(tx, userId, reason)).keys,
    endDeviceLogins: sessions.endDeviceLogins,
    forgetSessions: sessions.forget,
    sendInvitation: auth.resets.invite,
    resetTwoFactor: auth.twoFactor.reset,
  }
  const apiKeyDeps: ApiKeyDeps = { db, clock, audit, apiKeys }
  const deviceLogins: DeviceLoginDeps = { db, clock, vault, audit, mailer, config }
  const users: UserDeps = { db, clock, audit, mailer, config, hooks }
  return {
    users,
    apiKeyDeps,
    deviceLogins,
    keys,
    webhookIdKey: openWebhookIdKey(keys),
    apiKeys,
    limits,
    jobs,
    mailer,
    alarm,
    audit,
    sessions,
    auth,
    tillCookies,
    cookieOwners,
    authenticate: openAuthenticate({ apiKeys, sessions }),
  }
}
export type Accounts = ReturnType<typeof openAccounts>

type SealedDeps = Pick<ServiceBase, 'log'> & {
  payments: Parameters<typeof resealAccounts>[0] & { payers: PayerDeps }
  kyc: KycDeps
}

/**
 * After a change of the master key: re-seals everything that an earlier key sealed. After an upgrade: keys the payers
 * of before, and those that older nodes write meanwhile.
 */
export function startResealing({ log, payments, kyc }: SealedDeps): Ticker[] {
  return [
    startTicker('keys.reseal', HOUR, log, async () => (await resealPlaces(payments.payers)) > 0),
    startTicker('payers.reseal', HOUR, log, async () => (await resealPayers(payments.payers)) > 0),
    startTicker('payers.key', 10 * MINUTE, log, async () => (await keyPayers({ ...payments.payers, log })) > 0),
    startTicker('notes.reseal', HOUR, log, async () => (await resealNotes(payments.payers)) > 0),
    startTicker('channels.reseal', HOUR, log, async () => (await resealAccounts(payments)) > 0),
    startTicker('kyc.reseal', HOUR, log, async () => (await resealKycs(kyc)) > 0),
  ]
}
