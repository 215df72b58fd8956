import type { RawRow } from '../../db/db.ts'
import { type Asset, EXPONENTS, formatDecimal } from '../../kernel/money.ts'
import { paymentUrlOf } from '../order.ts'
import { COLUMNS, type ColumnKind, type ColumnName } from './export-columns.ts'

/** One row in the order of `COLUMNS`; null where the order has no value. */
export type Cells = readonly (string | null)[]

export const placeOf = (name: ColumnName): number => COLUMNS.findIndex((column) => column.name === name)

type Convert = (text: string, row: RawRow) => string

/** Whole units become decimal text, with the digits of the asset in another column. */
const unitsOf = (assetPlace: number): Convert => {
  return (units, row) => formatDecimal(BigInt(units), EXPONENTS[row[assetPlace] as Asset])
}

/** `2026-01-02 03:04:05.6`, in UTC, becomes `2026-01-02T03:04:05.600Z`. */
const isoTime: Convert = (text) => `${text.slice(0, 10)}T${text.slice(11, 19)}.${text.slice(20, 23).padEnd(3, '0')}Z`

const BY_KIND: Partial<Record<ColumnKind, Convert>> = {
  time: isoTime,
  flag: (text) => (text === 't' ? 'true' : 'false'),
}

/**
 * Turns the values as PostgreSQL wrote them into those of the API, in place, because a million rows may pass through.
 * The statement returns the file's columns in the file's order.
 */
export function openCells(payUrl: string): (row: RawRow) => Cells {
  const inTarget = unitsOf(placeOf('toAsset'))
  const byName: Partial<Record<ColumnName, Convert>> = {
    ...{ fromAmount: unitsOf(placeOf('fromAsset')), toAmount: inTarget, refundedAmount: inTarget, feeAmount: inTarget },
    ...{ paidAmount: inTarget, overpaidAmount: inTarget, refundedExcessAmount: inTarget, lostAmount: inTarget },
    rate: (rate) => rate.replace(/\.?0+$/, ''),
    paymentUrl: (code) => paymentUrlOf(payUrl, code),
  }
  const converts = COLUMNS.flatMap(({ name, kind }, place) => {
    const convert = byName[name] ?? BY_KIND[kind]
    return convert ? [{ place, convert }] : []
  })
  // read each amount before the asset next to it, which stays as it is
  return (row) => {
    for (const { place, convert } of converts) {
      const text = row[place]
      if (typeof text === 'string') row[place] = convert(text, row)
    }
    return row
  }
}
