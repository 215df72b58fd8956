/** Quotes any text as one word of a POSIX shell. */
const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`

/**
 * A request as a command that can be pasted into a shell.
 * @param headers name, value, name, value …
 */
export function curlText(url: string, headers: readonly string[], body: string): string {
  const lines = [`curl -X POST ${quoted(url)}`]
  for (let index = 0; index < headers.length; index += 2) {
    lines.push(`  -H ${quoted(`${headers[index]}: ${headers[index + 1]}`)}`)
  }
  lines.push(`  --data-raw ${quoted(body)}`)
  return `${lines.join(' \\\n')}\n`
}
