/** Maximum rows per page. */
export const PAGE = 100
const MOST_PAGES = 50

/** Fetches all pages of a list and joins them into one response: the total, and the list's only array. */
export async function joinPages<Page extends { total: number }>(ask: (page: number) => Promise<Page>): Promise<Page> {
  const first = await ask(1)
  const rowsOf = (page: Page): unknown[] => Object.values(page).find((value) => Array.isArray(value)) ?? []
  const name = Object.entries(first).find(([, value]) => Array.isArray(value))?.[0] ?? ''
  const rows = [...rowsOf(first)]
  for (let page = 2; rows.length < first.total && page <= MOST_PAGES; page += 1) {
    const more = rowsOf(await ask(page))
    if (more.length === 0) break
    rows.push(...more)
  }
  return { ...first, [name]: rows }
}
