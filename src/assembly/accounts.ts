import { openAudit } from '../audit/audit.ts'
import { openJobQueue } from '../db/job-runner.ts'
import { openRateLimits } from '../http/limits/rate-limits.ts'
import { auditKeysOf, openServerKeys } from '../keys/server-key-service.ts'
import { openMailer } from '../mail/mail.ts'
import { openAccessTokens } from '../sessions/access-token.ts'
import type { ApiKeyDeps } from '../sessions/api-keys/api-key-routes.ts'
import { openApiKeys } from '../sessions/api-keys/api-key-service.ts'
import { openAuth } from '../sessions/auth-service.ts'
import { openAuthenticate } from '../sessions/authenticate.ts'
import type { DeviceLoginDeps } from '../sessions/device-login/device-login-service.ts'
import { openSessions } from '../sessions/session-service.ts'
import { openPasswords } from '../users/password.ts'
import { readRefusedPasswords } from '../users/refused-passwords.ts'
import type { SessionHooks, UserDeps } from '../users/user-service.ts'
import type { ServiceBase } from './service-base.ts'

/** Who calls: accounts, sessions, keys, limits, mails, audit. */
export function openAccounts({ config, db, vault, clock }: Omit<ServiceBase, 'log' | 'metrics'>) {
  const apiKeys = openApiKeys({ db, clock })
  const limits = openRateLimits({ db, clock, limits: config.limits })
  const jobs = openJobQueue({ clock })
  const mailer = openMailer({ jobs, vault, clock })
  const keys = openServerKeys({ db, vault, clock })
  const audit = openAudit({ db, clock, keys: auditKeysOf(keys) })
  const tokens = openAccessTokens({ keys, clock, issuer: config.baseUrl })
  const sessions = openSessions({ db, clock, vault, tokens, audit, mailer })
  const passwords = openPasswords()
  const refusedPasswords = readRefusedPasswords(config.passwordListFile)
  const base = { db, clock, vault, config, sessions, mailer, jobs, audit, limits }
  const auth = openAuth({ ...base, passwords, refusedPasswords })
  const hooks: SessionHooks = {
    endSessions: (tx, userId, reason) => sessions.endAll(tx, userId, reason),
    forgetSessions: sessions.forget,
    sendInvitation: auth.resets.invite,
    removeTwoFactor: auth.twoFactor.removeAll,
  }
  const apiKeyDeps: ApiKeyDeps = { db, clock, audit, apiKeys }
  const deviceLogins: DeviceLoginDeps = { db, clock, vault, audit, mailer, config }
  const users: UserDeps = { db, clock, audit, mailer, config, hooks }
  return {
    users,
    apiKeyDeps,
    deviceLogins,
    keys,
    apiKeys,
    limits,
    jobs,
    mailer,
    audit,
    sessions,
    auth,
    authenticate: openAuthenticate({ apiKeys, sessions }),
  }
}
export type Accounts = ReturnType<typeof openAccounts>
