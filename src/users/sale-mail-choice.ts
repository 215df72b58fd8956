import type { Tx } from '../db/db.ts'
import { invalid } from '../kernel/errors.ts'
import { deleteSaleMails, insertSaleMails } from './sale-mail-choice-queries.ts'
import { COMPANY_ROLES, type User } from './user.ts'

/** From now on a mail for each sale, or none. @throws VALIDATION_FAILED for someone who belongs to no company */
export async function chooseSaleMails(tx: Tx, { id, role, company }: User, wanted: boolean): Promise<void> {
  if (!wanted) return void (await deleteSaleMails(tx, id))
  if (company === null || !COMPANY_ROLES.includes(role))
    throw invalid('saleMails', 'is for the people of a company; your account belongs to none')
  await insertSaleMails(tx, id, company.id)
}
