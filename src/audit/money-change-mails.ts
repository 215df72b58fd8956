import { OFFICE_PATHS, officePathsOf } from '../config/office-paths.ts'
import type { Tx } from '../db/db.ts'
import type { AnyContext } from '../http/request-context.ts'
import { type Clock, HOUR } from '../kernel/clock.ts'
import { newId } from '../kernel/ids.ts'
import { isLang, type Lang } from '../kernel/lang.ts'
import { countNotices, insertNotice, listManagers, noticeKey } from '../mail/daily-mail-queries.ts'
import type { Mailer, Notice } from '../mail/mail.ts'
import type { RaiseAlarm } from '../mail/operator-alarm.ts'
import { TEXTS } from '../texts/languages.ts'
import { roleWord } from '../texts/mail-texts.ts'
import type { ActorsEntry, AuditDeps } from './audit.ts'
import {
  type Doer,
  findDoer,
  findPerson,
  listToldCompanies,
  type Person,
  type ToldCompany,
} from './money-change-queries.ts'
import { type MoneyChange, moneyChangesOf } from './money-changes.ts'

export type MoneyChangeMailDeps = {
  clock: Clock
  mailer: Mailer
  alarm: RaiseAlarm
  officeUrl: string
  networkName(chainId: number): string
}

type Recipient = { email: string; lang: string }

/** Mails within an hour about one kind of change that concerns one person, or none; the last one says so. */
const MOST_OF_PERSON = 10
/** The same about all persons together: who changes one often mutes no mail about another. */
const MOST_IN_ALL = 50

type Claim = 'last' | 'sent'

/**
 * Counts a mail of this kind.
 * @param reader whose mails are counted: those of a company's managers, of a person, or of the operator
 * @returns null: enough were sent
 */
async function claim(tx: Tx, { kind, userId }: MoneyChange, reader: string, nowMs: number): Promise<Claim | null> {
  const all = `money-change:${kind}:${reader}`
  const limits = [
    { prefix: all, most: userId === undefined ? MOST_OF_PERSON : MOST_IN_ALL },
    ...(userId === undefined
      ? []
      : [{ prefix: `money-change:about:${userId}:${kind}:${reader}`, most: MOST_OF_PERSON }]),
  ]
  let isLast = false
  for (const { prefix, most } of limits) {
    const left = most - (await countNotices(tx, prefix, new Date(nowMs - HOUR)))
    if (left <= 0) return null
    isLast ||= left === 1
  }
  const [at, id] = [new Date(nowMs), newId(nowMs)]
  for (const { prefix } of limits) await insertNotice(tx, noticeKey(prefix, at, id), at)
  return isLast ? 'last' : 'sent'
}

type Facts = { change: MoneyChange; person: Person | undefined; by: Doer; at: string; from: string | null }
type Mail = Facts & { companies: readonly ToldCompany[]; lang: Lang; toDo: string | null; isLast: boolean }

/** More than so many companies are not all named: subjects stay short. */
const MOST_NAMED = 3

function nameCompanies(companies: readonly ToldCompany[], lang: Lang): string {
  const names = companies.map(({ name }) => name)
  if (names.length <= MOST_NAMED) return names.join(', ') || 'Comptoir'
  const first = names.slice(0, MOST_NAMED - 1)
  return TEXTS[lang].mails.moneyChange.more({ names: first.join(', '), count: names.length - first.length })
}

function write({ networkName: network }: MoneyChangeMailDeps, mail: Mail): Pick<Notice, 'subject' | 'paragraphs'> {
  const { moneyChange: texts, roles } = TEXTS[mail.lang].mails
  const { change, person, companies, isLast, at, from } = mail
  const company = nameCompanies(companies, mail.lang)
  const names = { company, person: person ? `${person.name} (${person.email})` : '–', network }
  const { subject, text } = change.write(texts.kinds, names)
  const by = mail.by.role === null ? mail.by.name : `${mail.by.name} (${roleWord(roles, mail.by.role)})`
  const last = isLast ? [texts.last] : []
  return { subject, paragraphs: [text, texts.by({ by, at, from }), mail.toDo ?? texts.toDo, ...last] }
}

const ASK_THEM =
  'The managers of the company get the same mail. If you are in doubt, ask one of them, by a way that you know already, ' +
  'before you approve a payout or a refund of theirs.'

/**
 * Mails the managers of the companies, the person whose access changed, and the operator about a change to where money
 * goes, or to what protects it. Whoever is told is read after the change: a manager who was disabled gets the mail
 * about that, and none about what follows. The person gets one mail, whatever the number of companies, without the
 * address of whoever did it; who was only invited gets none but the invitation.
 */
export function openMoneyChangeMails(deps: MoneyChangeMailDeps): NonNullable<AuditDeps['tell']> {
  const { clock, mailer, alarm, officeUrl } = deps

  const send = async (tx: Tx, to: Recipient, mail: Omit<Mail, 'lang' | 'toDo'>): Promise<void> => {
    const lang = isLang(to.lang) ? to.lang : 'en'
    const words = write(deps, { ...mail, lang, toDo: null })
    const button = { label: TEXTS[lang].mails.moneyChange.button, url: `${officeUrl}${OFFICE_PATHS.audit}` }
    await mailer.send(tx, { to: to.email, lang, kind: 'notice', data: { ...words, button } })
  }

  const tellManagers = async (tx: Tx, company: ToldCompany, to: readonly Recipient[], facts: Facts): Promise<void> => {
    const claimed = await claim(tx, facts.change, company.id, clock())
    if (claimed === null) return
    for (const manager of to) await send(tx, manager, { ...facts, companies: [company], isLast: claimed === 'last' })
  }

  const tellPerson = async (tx: Tx, companies: readonly ToldCompany[], facts: Facts): Promise<void> => {
    const { person, change } = facts
    if (!person?.isReached) return
    const claimed = await claim(tx, change, `user:${change.userId}`, clock())
    if (claimed === null) return
    await send(tx, person, { ...facts, from: null, companies, isLast: claimed === 'last' })
  }

  const tellOperator = async (tx: Tx, companies: readonly ToldCompany[], facts: Facts): Promise<void> => {
    const only = companies.length === 1 ? companies[0] : undefined
    const claimed = await claim(tx, facts.change, `operator:${only?.id ?? ''}`, clock())
    if (claimed === null) return
    const words = write(deps, { ...facts, companies, lang: 'en', toDo: ASK_THEM, isLast: claimed === 'last' })
    await alarm(tx, { ...words, path: only ? officePathsOf(only.id).audit : OFFICE_PATHS.audit })
  }

  type Done = { context: AnyContext; entry: ActorsEntry }
  const tell = async (tx: Tx, { context, entry }: Done, change: MoneyChange): Promise<void> => {
    const { companyIds, isOfAccount, userId = null } = change
    const companies = await listToldCompanies(tx, companyIds, isOfAccount ? userId : null)
    const facts = {
      change,
      person: userId === null ? undefined : await findPerson(tx, userId),
      by: await findDoer(tx, entry.actor),
      at: `${new Date(clock()).toISOString().slice(0, 16).replace('T', ' ')} UTC`,
      from: context.ip,
    }
    const ids = companies.map(({ id }) => id)
    const managers = (await listManagers(tx, ids)).filter(({ email }) => email !== facts.person?.email)
    for (const company of companies) {
      const own = managers.filter(({ companyId }) => companyId === company.id)
      await tellManagers(tx, company, own, facts)
    }
    await tellPerson(tx, companies, facts)
    if (change.tellsOperator) await tellOperator(tx, companies, facts)
  }

  return async (tx, context, entry) => {
    for (const change of moneyChangesOf(entry)) await tell(tx, { context, entry }, change)
  }
}
