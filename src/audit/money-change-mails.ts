import { OFFICE_PATHS, officePathsOf } from '../config/office-paths.ts'
import type { Tx } from '../db/db.ts'
import { type AnyContext, nameOf } from '../http/request-context.ts'
import { type Clock, HOUR } from '../kernel/clock.ts'
import { newId } from '../kernel/ids.ts'
import { isLang, type Lang } from '../kernel/lang.ts'
import { countNotices, insertNotice, listManagers, noticeKey } from '../mail/daily-mail-queries.ts'
import type { Mailer, Notice } from '../mail/mail.ts'
import type { RaiseAlarm } from '../mail/operator-alarm.ts'
import { TEXTS } from '../texts/languages.ts'
import type { AuditDeps } from './audit.ts'
import { findActorName, findPerson, listToldCompanies, type Person, type ToldCompany } from './money-change-queries.ts'
import { type MoneyChange, moneyChangesOf } from './money-changes.ts'

export type MoneyChangeMailDeps = {
  clock: Clock
  mailer: Mailer
  alarm: RaiseAlarm
  officeUrl: string
  networkName(chainId: number): string
}

/** Mails about changes of one kind at one company within an hour; the last one says that no more follow. */
const MOST_AN_HOUR = 10

/** @returns the number of this mail within the hour; null: enough were sent */
async function claim(tx: Tx, topic: string, nowMs: number): Promise<number | null> {
  const prefix = `money-change:${topic}`
  const before = await countNotices(tx, prefix, new Date(nowMs - HOUR))
  if (before >= MOST_AN_HOUR) return null
  await insertNotice(tx, noticeKey(prefix, new Date(nowMs), newId(nowMs)), new Date(nowMs))
  return before + 1
}

type Facts = { change: MoneyChange; person: Person | undefined; by: string; at: string; from: string | null }
type Mail = Facts & { company: string; lang: Lang; toDo: string | null; isLast: boolean }

function write({ networkName: network }: MoneyChangeMailDeps, mail: Mail): Pick<Notice, 'subject' | 'paragraphs'> {
  const { moneyChange: texts } = TEXTS[mail.lang].mails
  const { change, person, company, isLast } = mail
  const names = { company, person: person ? `${person.name} (${person.email})` : '–', network }
  const { subject, text } = change.write(texts.kinds, names)
  const last = isLast ? [texts.last] : []
  return { subject, paragraphs: [text, texts.by(mail), mail.toDo ?? texts.toDo, ...last] }
}

const ASK_THEM =
  'The managers of the company get the same mail. If you are in doubt, ask one of them, by a way that you know already, ' +
  'before you approve a payout or a refund of theirs.'

/**
 * Mails the managers of the companies, the person whose access changed, and the operator about a change to where money
 * goes, or to what protects it. Whoever is told is read after the change: a manager who was disabled gets the mail
 * about that, and none about what follows.
 */
export function openMoneyChangeMails(deps: MoneyChangeMailDeps): NonNullable<AuditDeps['tell']> {
  const { clock, mailer, alarm, officeUrl } = deps

  const tellManagers = async (tx: Tx, company: ToldCompany, facts: Facts): Promise<void> => {
    const count = await claim(tx, `${facts.change.kind}:${company.id}`, clock())
    if (count === null) return
    const managers = await listManagers(tx, [company.id])
    const { person } = facts
    const more = person && !managers.some(({ email }) => email === person.email) ? [person] : []
    for (const { email: to, lang: wanted } of [...managers, ...more]) {
      const lang = isLang(wanted) ? wanted : 'en'
      const words = write(deps, { ...facts, company: company.name, lang, toDo: null, isLast: count === MOST_AN_HOUR })
      const button = { label: TEXTS[lang].mails.moneyChange.button, url: `${officeUrl}${OFFICE_PATHS.audit}` }
      await mailer.send(tx, { to, lang, kind: 'notice', data: { ...words, button } })
    }
  }

  const tellOperator = async (tx: Tx, companies: readonly ToldCompany[], facts: Facts): Promise<void> => {
    const only = companies.length === 1 ? companies[0] : undefined
    const count = await claim(tx, `${facts.change.kind}:operator:${only?.id ?? ''}`, clock())
    if (count === null) return
    const company = companies.map(({ name }) => name).join(', ') || 'Comptoir'
    const words = write(deps, { ...facts, company, lang: 'en', toDo: ASK_THEM, isLast: count === MOST_AN_HOUR })
    await alarm(tx, { ...words, path: only ? officePathsOf(only.id).audit : OFFICE_PATHS.audit })
  }

  const tell = async (tx: Tx, context: AnyContext, change: MoneyChange): Promise<void> => {
    const companies = await listToldCompanies(tx, change.companyIds)
    const facts = {
      change,
      person: change.userId === undefined ? undefined : await findPerson(tx, change.userId),
      by: await findActorName(tx, nameOf(context)),
      at: `${new Date(clock()).toISOString().slice(0, 16).replace('T', ' ')} UTC`,
      from: context.ip,
    }
    for (const company of companies) await tellManagers(tx, company, facts)
    if (change.tellsOperator) await tellOperator(tx, companies, facts)
  }

  return async (tx, context, entry) => {
    for (const change of moneyChangesOf(context, entry)) await tell(tx, context, change)
  }
}
