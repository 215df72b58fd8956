import { countCompanies, findCompany, lockCompany } from '../companies/company-queries.ts'
import { OFFICE_PATHS } from '../config/office-paths.ts'
import type { Tx } from '../db/db.ts'
import { countMail } from '../http/limits/mail-limits.ts'
import { plainName } from '../mail/alarm-words.ts'
import type { RaiseAlarm } from '../mail/operator-alarm.ts'
import type { User } from './user.ts'
import { updateUserVerified } from './user-queries.ts'

const LAST_OF_HOUR =
  'No more of these mails follow within this hour. The home page of the back office shows how many companies wait.'

const isManager = ({ role }: User): boolean => role === 'Manager' || role === 'Association'

/**
 * Whether the user is the first manager of a waiting company who proves an address: the company waits for the operator
 * from then on. The company is locked and then read, so that of two managers at once only one is the first.
 */
async function isFirstOfCompany(tx: Tx, user: User): Promise<boolean> {
  if (!user.company || user.company.approved || user.disabledAt !== null || !isManager(user)) return false
  await lockCompany(tx, user.company.id)
  const company = await findCompany(tx, user.company.id)
  return company !== undefined && !company.approved && !company.managerVerified
}

/** Strangers cause these mails, so they are limited; the office lists all companies that wait. */
async function askForApproval(alarm: RaiseAlarm, tx: Tx, user: User, at: Date): Promise<void> {
  const counted = await countMail(tx, 'companyWaits', 'operator', at.getTime())
  if (!counted) return
  const count = await countCompanies(tx, { companyIds: null, search: null, approved: null, waiting: true })
  const manager = `${plainName(`${user.firstName} ${user.lastName}`)} (${user.email})`
  const did = user.madeBy === null ? 'registered' : 'was invited to manage'
  await alarm(tx, {
    subject: 'A company waits for your approval',
    paragraphs: [
      `${manager} ${did} “${plainName(user.company?.name ?? '')}” and confirmed the e-mail address.`,
      'The company cannot sell until you approve it.',
      ...(count > 1 ? [`${count} companies wait for you in all.`] : []),
      ...(counted.isLast ? [LAST_OF_HOUR] : []),
    ],
    path: OFFICE_PATHS.waitingCompanies,
  })
}

/**
 * Notes that the address is proven to be the user's. From here on the company of a manager waits for the operator, who
 * is told now and not at registration: strangers register with addresses that are not theirs.
 * @param user locked by the caller: a person is locked before a company
 * @returns false when the address was proven before
 */
export async function confirmAddress(alarm: RaiseAlarm, tx: Tx, user: User, at: Date): Promise<boolean> {
  if (user.verifiedAt !== null) return false
  const isFirst = await isFirstOfCompany(tx, user)
  await updateUserVerified(tx, user.id, at)
  if (isFirst) await askForApproval(alarm, tx, user, at)
  return true
}
