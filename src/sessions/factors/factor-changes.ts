import type { Audit, AuditEntry } from '../../audit/audit.ts'
import type { Tx } from '../../db/db.ts'
import type { AnyContext, RequestContext } from '../../http/request-context.ts'
import type { Mailer, MailOrder } from '../../mail/mail.ts'
import { companyIdOf, type User } from '../../users/user.ts'
import type { Sessions } from '../session-service.ts'

type Kind = 'authenticatorAdded' | 'authenticatorRemoved' | 'secondFactorReset' | 'passkeyAdded' | 'passkeyRemoved'
type WithoutTo<Order> = Order extends { kind: Kind } ? Pick<Order & MailOrder, 'kind' | 'data'> : never

/** The mail to the owner, and the entry of the audit log. */
export type FactorChange = Pick<AuditEntry, 'action' | 'detail'> & {
  mail: WithoutTo<MailOrder>
}

/** What follows when a person's factor comes or goes, whichever kind it is: the end of the transaction. */
export type FactorChanges = {
  /** Logs out everyone else who uses the account: who knew the password alone needs the new factor now. */
  added(tx: Tx, user: User, context: RequestContext, change: FactorChange): Promise<void>
  removed(tx: Tx, user: User, context: AnyContext, change: FactorChange): Promise<void>
}

export function openFactorChanges(deps: {
  sessions: Pick<Sessions, 'endAll'>
  mailer: Mailer
  audit: Audit
}): FactorChanges {
  const removed: FactorChanges['removed'] = async (tx, user, context, { mail, ...entry }) => {
    await deps.mailer.send(tx, { to: user.email, lang: user.lang, ...mail })
    await deps.audit.write(tx, context, { ...entry, companyId: companyIdOf(user), object: `user:${user.id}` })
  }
  return {
    removed,
    async added(tx, user, context, change) {
      await deps.sessions.endAll(tx, user.id, 'second factor changed', context.actor.sessionId)
      await removed(tx, user, context, change)
    },
  }
}
