import { TRANSFERS } from '../chain/deposits/reservation-queries.ts'
import { CHANNEL_IDS } from '../channels/channel.ts'
import { joinSql, type Queryable, type Sql, sql } from '../db/db.ts'
import { parseDecimal } from '../kernel/money.ts'
import { findCodesByAmount, findCodesByArrival, hasAmount, ofCompanies } from './order-amount-queries.ts'

const CURRENCY = /[€$£]|\b(?:EUR|USD|GBP|CHF|XPF|USDC)\b/gi
const SPACES = /[\s\u00a0\u202f]/g
/** Grouped thousands in the formats of the office's languages, with or without decimals. */
const GROUPED = /^\d{1,3}(?:([.,'’])\d{3})+(?:[.,]\d{1,2})?$/
/** A decimal comma, as four of the office's languages write it; in names it stays a comma. */
const DECIMAL_COMMA = /^(\d+),(\d+)$/

/** The typed text as amounts in millionths: "49,90 €" and "1.709,70" too. "1.250" may be two amounts. */
function amountsIn(text: string): bigint[] {
  const bare = text.replace(CURRENCY, '').replace(SPACES, '')
  const [, mark] = GROUPED.exec(bare) ?? []
  const readings = [bare, ...(mark === undefined ? [] : [bare.replaceAll(mark, '')])]
  return readings
    .map((reading) => parseDecimal(reading.replace(DECIMAL_COMMA, '$1.$2'), 6))
    .filter((amount) => amount !== undefined)
}

/** A short code as read aloud: grouped, after a number sign, with O for 0 and I or L for 1 (Crockford). */
const spokenCode = (text: string): string =>
  text
    .replaceAll(/[\s#-]/g, '')
    .toUpperCase()
    .replaceAll('O', '0')
    .replaceAll(/[IL]/g, '1')

/** The beginning of a short code. A whole one is compared in its spoken form. */
const CODE_BEGINNING = /^[0-9A-HJKMNP-TV-Z]{1,7}$/i

const escapeLike = (text: string): string => text.replace(/[\\%_]/g, '\\$&')

const contains = (text: string): string => `%${escapeLike(text)}%`

/** Orders with a payment in this transaction: money at a shared address belongs to one of them. */
const ofTransaction = (txHash: string): Sql => sql`id = any(array(
  select p.order_id from chain_heads h
    join chain_transfers named on named.chain_id = h.chain_id and named.tx_hash = ${txHash}
    join payments p on p.deposit_address = named.to_address
  where exists (select 1 from (${TRANSFERS}) as t where t.id = named.id)))`

/** Of a payment that a provider gave an address of its own. In the words of its index. */
const atProvider = (address: string): Sql => sql`
  select p.order_id from payments p where lower(p.instructions ->> 'toAddress') = lower(${address})
    and p.deposit_address is null and p.instructions ->> 'toAddress' is not null`

const ofAddress = (address: string): Sql => sql`id = any(array(
  select p.order_id from payments p where p.deposit_address = ${address}
  union all ${atProvider(address)}))`

/** Format of providers' ids of orders, of our references there, and of addresses on chains other than ours. */
const PROVIDER_ID = /^(?=.*\d)[\w-]{10,100}$/

/** The index of the provider ids starts with the channel, so each channel is looked up. */
const ofProvider = (id: string): Sql => sql`id = any(array(
  select p.order_id from payments p where p.merchant_reference = ${id}
  union all
  select p.order_id from payments p
  where p.channel = any(${[...CHANNEL_IDS]}::text[]) and p.provider_reference = ${id}
  union all ${atProvider(id)}))`

const TX_HASH = /^0x[0-9a-f]{64}$/i
const ADDRESS = /^0x[0-9a-f]{40}$/i

/** Characters of each of the `reference_parts`. */
const PART = 6
/** Longer references are not cut into parts. The same conditions as in the two indices, word for word. */
const [SHORT, LONG] = [sql`char_length(alias) <= 20`, sql`char_length(alias) > 20`]
/** With more codes the list is slower than when it searches itself. */
const MOST_CODES = 200

/** A search as it was typed. It finds nothing before it was looked up: only then is all that it means known. */
export type TypedSearch = {
  /** Trimmed. */
  text: string
}

/** A search that was looked up. The condition of lists, counts and files is made of nothing else. */
export type Search = TypedSearch & {
  /** Codes of the orders whose reference is short and contains the text. Null: too short a text, or too many. */
  codes: readonly string[] | null
  /** Codes of the orders with this amount. Null: the text is no amount, or too many. */
  priced: readonly string[] | null
  /** Codes of the orders at which this amount arrived although their price is another. */
  arrived: readonly string[]
}

export const openSearch = (text: string): TypedSearch => ({ text: text.trim() })

/** Looks up references and amounts. @param companyIds null: all companies */
export async function lookUp(
  q: Queryable,
  companyIds: readonly string[] | null,
  { text }: TypedSearch,
): Promise<Search> {
  const codes = await findReferences(q, companyIds, text)
  const amounts = amountsIn(text)
  if (amounts.length === 0) return { text, codes, priced: null, arrived: [] }
  const arrived = await findCodesByArrival(q, companyIds, amounts)
  return { text, codes, arrived, priced: await findCodesByAmount(q, companyIds, amounts) }
}

/**
 * Finds the orders whose reference contains the text by its parts, as fast among ten million orders as among ten
 * thousand. A separate statement: combined with other conditions, PostgreSQL cuts every reference it finds into parts
 * again, which takes seconds where a million contain the text.
 * @returns the orders' codes; null if the text is too short, or matches too many references
 */
async function findReferences(
  q: Queryable,
  companyIds: readonly string[] | null,
  text: string,
): Promise<string[] | null> {
  const length = [...text].length
  if (length < PART || TX_HASH.test(text) || ADDRESS.test(text)) return null
  // overlapping parts of a short text, adjacent ones of a long text: every part's list is read, the rarest decides
  const step = Math.min(PART, Math.floor(length / PART))
  const rows = await q.many<{ code: string }>(sql`
    with candidates as materialized (
      select code, alias from orders where ${ofCompanies(companyIds)} and ${SHORT}
        and reference_parts(alias, 1) collate "C" @> reference_parts(${text}, ${step}))
    select code from candidates where alias ilike ${contains(text)} limit ${MOST_CODES + 1}`)
  return rows.length > MOST_CODES ? null : rows.map(({ code }) => code)
}

/** Amounts of the text with too many orders to name them by their codes. */
export const frequentAmounts = ({ text, priced }: Search): bigint[] => (priced === null ? amountsIn(text) : [])

/**
 * What a customer reads out or a merchant copies: codes, the reference, an amount, a transaction, a deposit address,
 * ours or a provider's, a payment's id at its provider.
 * @param withAmount which orders with an amount of `frequentAmounts` it means
 */
export function searchSql(search: Search, withAmount: (amounts: readonly bigint[]) => Sql = hasAmount): Sql {
  const amounts = frequentAmounts(search)
  const others = otherThanAmounts(search)
  return amounts.length === 0 ? others : sql`(${others} or ${withAmount(amounts)})`
}

/** All that the text means but for its `frequentAmounts`. */
export function otherThanAmounts({ text, codes, priced, arrived }: Search): Sql {
  if (TX_HASH.test(text)) return ofTransaction(text.toLowerCase())
  if (ADDRESS.test(text)) return ofAddress(text.toLowerCase())
  const spoken = spokenCode(text)
  // each part has an index; those of references are used only if their condition is repeated here
  const references = codes ? LONG : sql`alias is not null`
  const parts = [
    sql`code = any(${[text, ...(codes ?? []), ...(priced ?? []), ...arrived]})`,
    sql`(${references} and alias ilike ${contains(text)})`,
    // in a database with a language's collation no index finds a prefix, and then the whole OR reads the table
    ...(CODE_BEGINNING.test(text) ? [sql`short_code like ${`${text.toUpperCase()}%`}`] : []),
    ...(spoken.length === 8 ? [sql`short_code = ${spoken}`] : []),
    ...(PROVIDER_ID.test(text) ? [ofProvider(text)] : []),
  ]
  return sql`(${joinSql(parts, ' or ')})`
}
