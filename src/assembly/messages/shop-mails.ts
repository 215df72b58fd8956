import { HOUR, MINUTE, SECOND } from '../../kernel/clock.ts'
import { isLang, type Lang } from '../../kernel/lang.ts'
import type { DailyMail, DailyMailDeps } from '../../mail/daily-mails.ts'
import type { Notice } from '../../mail/mail.ts'
import { waitingNotice, webhookFailureNotice } from '../../mail/notices.ts'
import { refundAlarm } from '../../mail/refund-alarm.ts'
import { mailSales } from '../../orders/sale-mails/sale-mails.ts'
import { mailWaiting, type WaitingDeps } from '../../orders/summary/waiting-mails.ts'
import { type LinkMailDeps, remindPayers } from '../../payers/link-mails.ts'
import { type FailureDeps, mailFailures } from '../../webhooks/sender/webhook-jobs.ts'
import type { Accounts } from '../accounts.ts'
import type { ServiceBase } from '../service-base.ts'
import { openSaleMails } from './sale-mails.ts'

/** Mails that are written in rounds: to the people of a shop, and reminders to its payers. */
export function openShopMails(base: ServiceBase, accounts: Accounts, linkMails: LinkMailDeps) {
  const { config, db } = base
  const { mailer, alarm } = accounts
  /** Wraps one of the daily mails: written in its reader's language. */
  const mailing = <Facts>(
    write: (lang: Lang, facts: DailyMail<Facts>['facts'] & { officeUrl: string }) => Notice,
  ): DailyMailDeps<Facts> => ({
    db,
    async send(tx, { to, lang, facts }) {
      const known = isLang(lang) ? lang : 'en'
      const data = write(known, { ...facts, officeUrl: config.officeUrl })
      await mailer.send(tx, { to, lang: known, kind: 'notice', data })
    },
  })
  const failures: FailureDeps = mailing(webhookFailureNotice)
  const waiting: WaitingDeps = {
    ...mailing(waitingNotice),
    askOperator: (tx, asked) => alarm(tx, refundAlarm(asked)),
  }
  const saleMails = openSaleMails(base, accounts)
  const daily = (name: string, mail: (nowMs: number) => Promise<number>) => ({
    ...{ name, everyMs: HOUR, isTimed: true },
    async send(nowMs: number) {
      await mail(nowMs)
      return false
    },
  })
  return [
    daily('webhooks.failures', (nowMs) => mailFailures(failures, nowMs)),
    daily('mails.waiting', (nowMs) => mailWaiting(waiting, nowMs)),
    { name: 'mails.sales', everyMs: 5 * SECOND, isTimed: false, send: () => mailSales(saleMails) },
    {
      ...{ name: 'mails.reminders', everyMs: MINUTE, isTimed: true },
      send: (nowMs: number) => remindPayers(linkMails, nowMs),
    },
  ]
}
