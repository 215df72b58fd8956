/** A number from a request with its original text: providers distinguish 12.34, "12.34" and 1.234e1. */
export class NumberText {
  readonly text: string
  constructor(text: string) {
    this.text = text
  }
}

export type Fields = Record<string, unknown>

export const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof NumberText)

/** An object with its numbers as `NumberText`; undefined if it is not a JSON object. */
export function parseExact(raw: unknown): Fields | undefined {
  const keep = (_name: string, value: unknown, context: { source?: string }): unknown =>
    typeof value === 'number' ? new NumberText(context.source ?? String(value)) : value
  try {
    const text = Buffer.isBuffer(raw) ? raw.toString('utf8') : ''
    const value = (JSON.parse as (text: string, reviver: typeof keep) => unknown)(text, keep)
    return isFields(value) ? value : undefined
  } catch {
    return undefined
  }
}

/** Writes a number digit for digit. */
export const exactNumber = (text: string): unknown =>
  (JSON as unknown as { rawJSON(text: string): unknown }).rawJSON(text)

export const isText = (value: unknown, longest = Number.POSITIVE_INFINITY): value is string =>
  typeof value === 'string' && value !== '' && value.length <= longest
