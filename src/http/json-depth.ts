/** Maximum nesting of arrays and objects in a body. */
export const MAX_JSON_DEPTH = 32

const [OPEN_ARRAY, CLOSE_ARRAY, OPEN_OBJECT, CLOSE_OBJECT, QUOTE, BACKSLASH] = [91, 93, 123, 125, 34, 92]

/** Checks the text before it is parsed: code that walks a value recursively must not get one that is too deep. */
export function isTooDeep(text: string): boolean {
  let depth = 0
  let inText = false
  for (let at = 0; at < text.length; at += 1) {
    const letter = text.charCodeAt(at)
    if (inText) {
      if (letter === BACKSLASH) at += 1
      else if (letter === QUOTE) inText = false
    } else if (letter === QUOTE) inText = true
    else if (letter === OPEN_ARRAY || letter === OPEN_OBJECT) {
      depth += 1
      if (depth > MAX_JSON_DEPTH) return true
    } else if (letter === CLOSE_ARRAY || letter === CLOSE_OBJECT) depth -= 1
  }
  return false
}
