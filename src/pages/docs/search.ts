export type Searched = { path: string; title: string; text: string }
export type Found<Page extends Searched> = { page: Page; excerpt: string }

/**
 * The pages that contain all words, best first; a word in the title weighs more. Self-contained, because the static
 * site includes its source text.
 */
export function searchPages<Page extends Searched>(pages: readonly Page[], query: string): Found<Page>[] {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean).slice(0, 8)
  if (words.length === 0) return []
  const scored = pages.flatMap((page) => {
    const [title, text] = [page.title.toLowerCase(), page.text.toLowerCase()]
    if (!words.every((word) => text.includes(word) || title.includes(word))) return []
    const score = words.reduce(
      (sum, word) => sum + (title.includes(word) ? 50 : 0) + Math.min(text.split(word).length, 10),
      0,
    )
    const at = Math.max(0, text.indexOf(words[0] ?? '') - 60)
    return [{ page, score, excerpt: page.text.slice(at, at + 200) }]
  })
  return scored.sort((left, right) => right.score - left.score).slice(0, 20)
}
