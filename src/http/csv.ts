import type { Readable } from 'node:stream'
import type { FastifyReply } from 'fastify'

/** Prefixes that a spreadsheet treats as a formula (OWASP, CSV injection), full-width forms included. */
const FORMULA = /^[=+\-@\t\r\n\uFF1D\uFF0B\uFF0D\uFF20]/
/**
 * A spreadsheet that separates by semicolon or tab sees no quotes around our cells: it splits there, and where a line
 * ends, and the rest of the text starts another cell. Of adjacent separators only the last matches, so that the look
 * ahead never passes another one: time stays linear.
 */
const LATER_FORMULA = /[;\t\r\n](?=(?:[^\S\t\r\n]|")*[=+\-@\uFF1D\uFF0B\uFF0D\uFF20])/g

/** Whether a spreadsheet would evaluate this text. */
export const looksLikeFormula = (text: string): boolean => FORMULA.test(text)

/** A cell of RFC 4180 without the formula guard, for text that we generate. */
export const quoteCell = (text: string): string => (/[";,\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text)

/** A cell of user text: an apostrophe stands before all that looks like a formula, wherever the text is split. */
export const guardCell = (text: string): string =>
  quoteCell(`${looksLikeFormula(text) ? "'" : ''}${text.replace(LATER_FORMULA, "$&'")}`)

export const sendCsv = (reply: FastifyReply, fileName: string, body: Readable): FastifyReply =>
  reply
    .header('content-type', 'text/csv; charset=utf-8')
    .header('content-disposition', `attachment; filename="${fileName}"`)
    .header('cache-control', 'no-store')
    .send(body)
