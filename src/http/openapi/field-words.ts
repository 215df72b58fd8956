import { COMPLIANCE, LEDGER, WEBHOOKS } from './words/books.ts'
import { COMMON, OVERVIEW } from './words/common.ts'
import { ACCOUNTS, COMPANIES } from './words/companies.ts'
import { ORDERS, PAYMENTS } from './words/sales.ts'
import type { Word } from './words/word.ts'

/**
 * What a field means and looks like, by its name. A key `place.name` is for one schema or operation alone and wins over
 * the plain name. A text in the schema itself wins over both.
 */
export const FIELD_WORDS: Record<string, Word> = {
  ...COMMON,
  ...OVERVIEW,
  ...ORDERS,
  ...PAYMENTS,
  ...LEDGER,
  ...COMPLIANCE,
  ...WEBHOOKS,
  ...ACCOUNTS,
  ...COMPANIES,
}
