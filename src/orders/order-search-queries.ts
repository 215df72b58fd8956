import { TRANSFERS } from '../chain/deposits/reservation-queries.ts'
import { CHANNEL_IDS } from '../channels/channel.ts'
import { type Sql, sql } from '../db/db.ts'
import { parseDecimal } from '../kernel/money.ts'

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

const escapeLike = (text: string): string => text.replace(/[\\%_]/g, '\\$&')

/** Orders with a payment in this transaction: money at a shared address belongs to one of them. */
const ofTransaction = (txHash: string): Sql => sql`id = any(array(
  select p.order_id from chain_heads h
    join chain_transfers named on named.chain_id = h.chain_id and named.tx_hash = ${txHash}
    join payments p on p.deposit_address = named.to_address
  where exists (select 1 from (${TRANSFERS}) as t where t.id = named.id)))`

const ofAddress = (address: string): Sql =>
  sql`id = any(array(select p.order_id from payments p where p.deposit_address = ${address}))`

/** Format of the ids that providers give orders, and of our references at providers. */
const PROVIDER_ID = /^(?=.*\d)[\w-]{10,100}$/

/** The index of the provider ids starts with the channel, so each channel is looked up. */
const ofProvider = (id: string): Sql => sql`id = any(array(
  select p.order_id from payments p where p.merchant_reference = ${id}
  union all
  select p.order_id from payments p
  where p.channel = any(${[...CHANNEL_IDS]}::text[]) and p.provider_reference = ${id}))`

/**
 * What a customer reads out or a merchant copies: codes, the reference, an amount, a transaction, a deposit address, a
 * payment's id at its provider.
 */
export function searchSql(typed: string): Sql {
  const text = typed.trim()
  if (/^0x[0-9a-f]{64}$/i.test(text)) return ofTransaction(text.toLowerCase())
  if (/^0x[0-9a-f]{40}$/i.test(text)) return ofAddress(text.toLowerCase())
  const like = `${escapeLike(text)}%`
  const spoken = spokenCode(text)
  const amounts = amountsIn(text)
  // each has an index; PostgreSQL uses the one of the reference only with an explicit "is not null"
  const byName = sql`code = ${text} or short_code like ${like.toUpperCase()}
    or (alias is not null and alias ilike ${`%${escapeLike(text)}%`})`
  const bySpoken = spoken.length === 8 ? sql`${byName} or short_code = ${spoken}` : byName
  const byCode = PROVIDER_ID.test(text) ? sql`${bySpoken} or ${ofProvider(text)}` : bySpoken
  if (amounts.length === 0) return sql`(${byCode})`
  const fromAmount = sql`from_units * case when from_asset = 'XPF' then 1000000 else 10000 end`
  const wanted = sql`any(${amounts.map(String)}::numeric[])`
  return sql`(${byCode} or to_units = ${wanted} or ${fromAmount} = ${wanted})`
}
