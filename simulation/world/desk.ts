import { openAccounts } from '../../src/assembly/accounts.ts'
import type { Config } from '../../src/config/config.ts'
import type { Db } from '../../src/db/db.ts'
import { systemContext } from '../../src/http/request-context.ts'
import type { Vault } from '../../src/kernel/vault.ts'
import { findUserByEmailKey } from '../../src/users/user-queries.ts'
import { insertSuperAdmin } from '../../test/harness/accounts.ts'

/** The operator's desk: a SuperAdmin who has just proved a second factor. */
export type Desk = { token(): Promise<string> }

/** Shorter than a second factor stays fresh. */
const FRESH_MS = 3 * 60_000

export function openDesk(deps: { config: Config; db: Db; vault: Vault; clock: () => number }): Desk {
  const { sessions } = openAccounts(deps)
  let email: Promise<string> | undefined
  let current = { token: '', at: 0 }
  return {
    async token() {
      const now = deps.clock()
      if (now - current.at < FRESH_MS) return current.token
      email ??= insertSuperAdmin(deps.db, 'no password')
      const user = await findUserByEmailKey(deps.db, await email)
      if (!user) throw new Error('the SuperAdmin is not there')
      const { session } = await deps.db.tx((tx) =>
        sessions.start(tx, {
          ...{ user, kind: 'dashboard', namedCookie: false, secondFactorAt: new Date(now) },
          context: systemContext('simulation'),
        }),
      )
      current = { token: await sessions.issue(session, user), at: now }
      return current.token
    },
  }
}
