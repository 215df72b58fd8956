import type { DocPage } from './site.ts'

/** What a reader of the integration may leave out. Source of the word: https://llmstxt.org. */
const OPTIONAL = 'How it is made'

/** The first sentence below the title, without links and marks. */
function summaryOf({ markdown }: DocPage): string {
  const paragraphs = markdown.split(/\n{2,}/).map((text) => text.trim())
  const first = paragraphs.find((text) => /^(?!Printed from )[A-Z*`]/.test(text)) ?? ''
  const plain = first
    .replace(/\[([^\]]+)\]\([^)]+\)/g, '$1')
    .replace(/\*\*/g, '')
    .replace(/\s+/g, ' ')
  return /^.+?[.:](?= |$)/.exec(plain)?.[0].replace(/:$/, '.') ?? plain
}

/** A list of all pages for programs that read documents, as https://llmstxt.org proposes. */
export function printLlms(pages: readonly DocPage[], hrefOf: (path: string) => string): string {
  const shown = pages.filter(({ path }) => path !== 'index' && !path.startsWith('errors/'))
  const groups = [...new Set(shown.map(({ group }) => group))]
  const sections = groups.map((group) => {
    const lines = shown
      .filter((page) => page.group === group)
      .map((page) => `- [${page.title}](${hrefOf(page.path)})${summaryOf(page) && `: ${summaryOf(page)}`}`)
    return `## ${group === OPTIONAL ? 'Optional' : group}\n\n${lines.join('\n')}\n`
  })
  const index = pages.find(({ path }) => path === 'index')
  const head = `# ${index?.title ?? 'Comptoir'}\n\n> ${index ? summaryOf(index) : ''}\n`
  const api = `## API\n\n- [OpenAPI document](/openapi.json): every operation, with its fields, failures and webhooks.\n`
  return [head, api, ...sections].join('\n')
}
