import type { Tx } from '../../db/db.ts'
import { openJobQueue } from '../../db/job-runner.ts'
import type { RestoreTimes } from '../../db/restored-queries.ts'
import type { Clock } from '../../kernel/clock.ts'
import { isLang } from '../../kernel/lang.ts'
import type { Vault } from '../../kernel/vault.ts'
import { listManagers } from '../../mail/daily-mail-queries.ts'
import { openMailer } from '../../mail/mail.ts'
import { restoredNotice } from '../../mail/notices.ts'

/**
 * A mail to every company: what it took away since the backup, keys and people, is there again, and its payout address
 * is the one of then. The service sends it once it runs.
 */
export async function tellRestored(
  { vault, clock }: { vault: Vault; clock: Clock },
  tx: Tx,
  { backupMadeAt }: RestoreTimes,
): Promise<void> {
  const mailer = openMailer({ jobs: openJobQueue({ clock }), vault, clock })
  const at = `${backupMadeAt.toISOString().slice(0, 16).replace('T', ' ')} UTC`
  for (const { companyName, email, firstName, lang } of await listManagers(tx, null)) {
    const read = isLang(lang) ? lang : 'en'
    const data = restoredNotice(read, { companyName, firstName, at })
    await mailer.send(tx, { to: email, lang: read, kind: 'notice', data })
  }
}
