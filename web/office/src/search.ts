/*
 * Every filter is in the URL, in plain text: `?status=PAID,REFUNDED&page=2`. Nothing is quoted, so that links in mails
 * can be written by hand.
 */
export type Words = Record<string, unknown>

export const parseSearch = (text: string): Words => Object.fromEntries(new URLSearchParams(text))

export function stringifySearch(search: Words): string {
  const params = new URLSearchParams()
  for (const [name, value] of Object.entries(search)) {
    if (value !== undefined && value !== null && value !== '') params.set(name, String(value))
  }
  const text = params.toString()
  return text === '' ? '' : `?${text}`
}

/** Reads the named parameters of a URL; empty and unknown ones are left out. */
export const readWords =
  <Name extends string>(...names: Name[]) =>
  (search: Words): { [Key in Name]?: string } & { page?: number } => {
    const known: Record<string, unknown> = {}
    for (const name of names) if (typeof search[name] === 'string' && search[name] !== '') known[name] = search[name]
    const page = Number(search.page)
    if (Number.isInteger(page) && page > 1) known.page = page
    return known as { [Key in Name]?: string } & { page?: number }
  }
