import { globSync, readFileSync } from 'node:fs'
import { join, posix } from 'node:path'
import { Marked, type Tokens } from 'marked'
import { CATALOGUE } from '../../kernel/errors.ts'
import { ERROR_WORDS } from './error-words.ts'
import { searchPages } from './search.ts'

const ROOT = join(import.meta.dirname, '../../..')

export type DocPage = { path: string; title: string; group: string; html: string; text: string; markdown: string }

/** The order of the menu; unnamed pages come last in their group. */
const GROUPS: readonly [group: string, match: RegExp][] = [
  ['Start', /^(index|quickstart\/.*)$/],
  ['Concepts', /^concepts\//],
  ['Guides', /^(going-live|old-clients|sandbox|guides\/.*|buy-button|till|sdk|cli|explain-examples)$/],
  ['Reference', /^(order-states|webhooks|money|kyc|screening|permissions|pages|office|glossary|x402|channels\/.*)$/],
  ['Running it', /^(operating|backup|scaling|security|upgrading|benchmarks|signers|sweep|chains|dependencies)$/],
  ['Errors', /^errors(\/|$)/],
]
const OTHER = 'How it is made'

const escapeHtml = (text: string): string => text.replace(/[&<>"]/g, (letter) => `&#${letter.charCodeAt(0)};`)
const slug = (text: string): string =>
  text
    .toLowerCase()
    .replace(/<[^>]+>|&[^;]+;/g, '')
    .replace(/[^\p{L}\p{N}]+/gu, '-')
    .replace(/^-|-$/g, '')

/** `../order-states.md#x` on the page `channels/binance` becomes `/docs/order-states#x`; other URLs stay. */
function linkFrom(page: string, href: string): string {
  if (/^[a-z]+:|^[#/]/.test(href)) return href
  const [file = '', anchor] = href.split('#')
  const target = posix.join('docs', posix.dirname(page), file)
  if (!target.startsWith('docs/') || !target.endsWith('.md')) return href
  return `/${target.slice(0, -'.md'.length)}${anchor === undefined ? '' : `#${anchor}`}`
}

function openMarkdown(page: string): Marked {
  return new Marked({
    renderer: {
      heading({ tokens, depth }) {
        const html = this.parser.parseInline(tokens)
        return `<h${depth} id="${slug(html)}">${html}</h${depth}>\n`
      },
      link({ href, tokens }) {
        const text = this.parser.parseInline(tokens)
        // files of the project outside `docs/` have no page
        if (/^\.\.?\//.test(linkFrom(page, href))) return text
        return `<a href="${escapeHtml(linkFrom(page, href))}">${text}</a>`
      },
      code({ text, lang }) {
        // it scrolls sideways, so it must be reachable by keyboard
        const kind = lang ? ` class="language-${escapeHtml(lang)}"` : ''
        return `<pre tabindex="0"><code${kind}>${escapeHtml(text)}\n</code></pre>\n`
      },
      image({ href }) {
        // inlined, so that it follows the page's colour scheme
        const picture = readFileSync(join(ROOT, 'docs', posix.dirname(page), href), 'utf8')
        return `<span class="picture wide" role="region" aria-label="Picture" tabindex="0">${picture}</span>`
      },
      table(token) {
        const parser = this.parser
        const row = (tag: string, cells: Tokens.TableCell[]): string =>
          `<tr>${cells.map(({ tokens }) => `<${tag}>${parser.parseInline(tokens)}</${tag}>`).join('')}</tr>`
        const rows = token.rows.map((cells) => row('td', cells)).join('')
        const table = `<table><thead>${row('th', token.header)}</thead><tbody>${rows}</tbody></table>`
        return `<div class="wide" role="region" aria-label="Table" tabindex="0">${table}</div>`
      },
    },
  })
}

const groupOf = (path: string): string => GROUPS.find(([, match]) => match.test(path))?.[0] ?? OTHER

function makePage(path: string, markdown: string): DocPage {
  const html = openMarkdown(path).parse(markdown, { async: false })
  const title = /^# (.+)$/m.exec(markdown)?.[1]?.replaceAll('`', '') ?? path
  const text = html
    .replace(/<[^>]+>/g, ' ')
    .replace(/&[^;]+;/g, ' ')
    .replace(/\s+/g, ' ')
  return { path, title, group: groupOf(path), html, text, markdown }
}

function errorPages(): DocPage[] {
  const rows = Object.entries(CATALOGUE).map(([code, { status, message }]) => {
    const [cause, cure] = ERROR_WORDS[code as keyof typeof ERROR_WORDS] ?? [message, message]
    const body = `# ${code}\n\nHTTP status **${status}**\n\n> ${message}\n\n## Cause\n\n${cause}\n\n## Cure\n\n${cure}\n`
    return makePage(
      `errors/${code}`,
      `${body}\nEvery failure carries a \`requestId\`: the operator finds the call by it. [All errors](../errors.md)\n`,
    )
  })
  const list = rows.map(({ title }) => {
    const { status, message } = CATALOGUE[title as keyof typeof CATALOGUE]
    return `| [\`${title}\`](errors/${title}.md) | ${status} | ${message} |`
  })
  return [
    makePage('errors', `# Errors\n\n| Code | HTTP | What it says |\n|---|---|---|\n${list.join('\n')}\n`),
    ...rows,
  ]
}

/** Every page, in the order of the menu. */
export function readPages(): DocPage[] {
  const files = globSync('**/*.md', { cwd: join(ROOT, 'docs') }).sort()
  const own = files.map((file) => makePage(file.replace(/\.md$/, ''), readFileSync(join(ROOT, 'docs', file), 'utf8')))
  const order = [...GROUPS.map(([group]) => group), OTHER]
  const rank = ({ group, path }: DocPage): number =>
    order.indexOf(group) * 2 + (path === 'index' || path === 'errors' ? 0 : 1)
  return [...own, ...errorPages()].sort(
    (left, right) => rank(left) - rank(right) || left.path.localeCompare(right.path),
  )
}

function menu(pages: readonly DocPage[], current: DocPage): string {
  const groups = [...new Set(pages.map(({ group }) => group))]
  const parts = groups.map((group) => {
    const all = pages.filter((page) => page.group === group)
    const shown = group === 'Errors' && current.group !== 'Errors' ? all.slice(0, 1) : all
    const links = shown.map(({ path, title }) => {
      const here = path === current.path ? ' aria-current="page"' : ''
      return `<li><a href="${hrefOf(path)}"${here}>${escapeHtml(title)}</a></li>`
    })
    return `<h2>${group}</h2><ul>${links.join('')}</ul>`
  })
  return `${parts.join('')}<h2>API</h2><ul><li><a href="/docs/api">Reference</a></li><li><a href="/openapi.json">OpenAPI document</a></li></ul>`
}

export const hrefOf = (path: string): string => (path === 'index' ? '/docs' : `/docs/${path}`)

/** The page as it was written, for programs. */
export const markdownHrefOf = (path: string): string => `/docs/${path}.md`

const titleOf = ({ title }: DocPage): string => (title === 'Comptoir' ? title : `${title} – Comptoir`)

/** What is said of a page's other form; a page that no one wrote, as one of a search, has none. */
function alternates({ path, markdown }: DocPage): { head: string; foot: string } {
  if (markdown === '') return { head: '', foot: '' }
  const href = markdownHrefOf(path)
  return {
    head: `<link rel="alternate" type="text/markdown" href="${href}">`,
    foot: `<footer><a href="${href}">This page as Markdown</a> · <a href="/docs/llms.txt">All pages, for programs</a></footer>`,
  }
}

/** A whole HTML page. */
export const renderPage = (page: DocPage, pages: readonly DocPage[]): string => `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">
<title>${escapeHtml(titleOf(page))}</title><link rel="stylesheet" href="/docs/site.css"><script src="/docs/site.js" defer></script>${alternates(page).head}</head>
<body><a class="skip" href="#main">To the text</a><header><a class="home" href="/docs">Comptoir</a>
<form role="search" action="/docs/search"><label><span class="hidden">Search</span><input type="search" name="q" placeholder="Search" autocomplete="off"></label></form></header>
<div class="frame"><nav aria-label="Documentation"><details open><summary>Menu</summary>${menu(pages, page)}</details></nav>
<main id="main">${page.html}${alternates(page).foot}</main></div></body></html>`

export function renderSearch(pages: readonly DocPage[], query: string): string {
  const found = searchPages(pages, query).map(
    ({ page, excerpt }) =>
      `<li><a href="${hrefOf(page.path)}">${escapeHtml(page.title)}</a><p>${escapeHtml(excerpt)}…</p></li>`,
  )
  const body = found.length > 0 ? `<ol class="found">${found.join('')}</ol>` : '<p>Nothing was found.</p>'
  const html = `<h1>Search: ${escapeHtml(query)}</h1>${body}`
  return renderPage({ path: 'search', title: 'Search', group: '', html, text: '', markdown: '' }, pages)
}
