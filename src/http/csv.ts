import type { Readable } from 'node:stream'
import type { FastifyReply } from 'fastify'

/**
 * Prefixes that a spreadsheet treats as a formula (OWASP, CSV injection), full-width forms included. Spreadsheets that
 * separate by semicolon also split there, so the rest of the text starts another cell.
 */
const FORMULA = /^[=+\-@\t\r\n\uFF1D\uFF0B\uFF0D\uFF20]|;\s*[=+\-@\uFF1D\uFF0B\uFF0D\uFF20]/

/** Whether a spreadsheet would evaluate this text. */
export const looksLikeFormula = (text: string): boolean => FORMULA.test(text)

/** A cell of RFC 4180 without the formula guard, for text that we generate. */
export const quoteCell = (text: string): string => (/[";,\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text)

/** A cell of user text: text that looks like a formula gets a leading apostrophe. */
export const guardCell = (text: string): string => quoteCell(looksLikeFormula(text) ? `'${text}` : text)

export const sendCsv = (reply: FastifyReply, fileName: string, body: Readable): FastifyReply =>
  reply
    .header('content-type', 'text/csv; charset=utf-8')
    .header('content-disposition', `attachment; filename="${fileName}"`)
    .header('cache-control', 'no-store')
    .send(body)
