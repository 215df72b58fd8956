/** French has a blank before these marks, at which no line may break: the mark would begin the next one. */
const BEFORE_MARK = / (?=[?!;:»])|(?<=«) /g

function bound(text: unknown): unknown {
  if (typeof text === 'string') return text.replace(BEFORE_MARK, '\u00a0')
  if (typeof text === 'function') return (...facts: unknown[]) => bound(text(...facts))
  if (Array.isArray(text)) return text.map(bound)
  if (typeof text !== 'object' || text === null) return text
  return Object.fromEntries(Object.entries(text).map(([key, part]) => [key, bound(part)]))
}

/** The texts of a language with these blanks, also what its functions make. */
export const withFrenchBlanks = <Text>(texts: Text): Text => bound(texts) as Text
