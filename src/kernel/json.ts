/**
 * Parses JSON and keeps every number as the text that was sent: ids above 2^53 and prices keep their digits.
 * @throws SyntaxError
 */
export function parseJsonExact(text: string): unknown {
  const keep = (_name: string, value: unknown, context: { source?: string }): unknown =>
    typeof value === 'number' ? (context.source ?? String(value)) : value
  return (JSON.parse as (text: string, reviver: typeof keep) => unknown)(text, keep)
}

type Step = string | number

/** The text at a path of parsed JSON, or undefined if a step is missing or the value is not text. */
export function textAt(value: unknown, ...path: Step[]): string | undefined {
  let current = value
  for (const step of path) {
    if (typeof current !== 'object' || current === null || !Object.hasOwn(current, step)) return undefined
    current = (current as Record<Step, unknown>)[step]
  }
  return typeof current === 'string' ? current : undefined
}

/**
 * Looks up a word from outside in a record. `record[word]` would also find what every object inherits: `constructor`
 * would count as known.
 */
export const ownAt = <Value>(record: Readonly<Record<string, Value>>, word: string): Value | undefined =>
  Object.hasOwn(record, word) ? record[word] : undefined

/** A decimal text that `JSON.stringify` writes as a number, digit for digit: never a float, never an exponent. */
export const numberLiteral = (text: string): unknown =>
  (JSON as unknown as { rawJSON(text: string): unknown }).rawJSON(text)
