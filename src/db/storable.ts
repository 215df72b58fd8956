/**
 * Whether PostgreSQL can store it: neither its text nor its jsonb accepts NUL, and jsonb no half of a surrogate pair.
 */
export const isStorable = (text: string): boolean => !text.includes('\0') && text.isWellFormed()

const clean = (text: string): string => (isStorable(text) ? text : text.replaceAll('\0', '').toWellFormed())

/** Nodes quote a contract's whole answer, and web servers their error page. */
const LONGEST = 1000

/** What a node, provider or receiver said, made safe to store and show. */
export function toStorableText(text: string, longest = LONGEST): string {
  const storable = clean(text)
  return storable.length > longest ? `${storable.slice(0, longest - 1).toWellFormed()}…` : storable
}

const isPlain = (value: object): boolean => [Object.prototype, null].includes(Object.getPrototypeOf(value))

/** The same value with every text made storable. Only plain objects and lists are traversed. */
export function toStorable<Value>(value: Value): Value
export function toStorable(value: unknown): unknown {
  if (typeof value === 'string') return clean(value)
  if (Array.isArray(value)) return value.map((one) => toStorable(one))
  if (typeof value !== 'object' || value === null || !isPlain(value)) return value
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [clean(name), toStorable(inner)]))
}
