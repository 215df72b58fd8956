import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { readReferenceScript } from '../src/http/reference/reference.ts'
import { printLlms } from '../src/pages/docs/llms.ts'
import { searchPages } from '../src/pages/docs/search.ts'
import { type DocPage, hrefOf, readPages, renderPage } from '../src/pages/docs/site.ts'
import { SITE_SCRIPT, SITE_STYLE } from '../src/pages/docs/site-style.ts'
import { readOpenApi } from './print-sdk.ts'

/*
 * npm run docs:site -- FOLDER      the documentation as static files, for any host or to be opened from the folder
 */

const SEARCH = 'search'
const API = 'api'

/** The file of an address of the site: `/docs/sdk` is `sdk.html`. Undefined: no page of it. */
function fileOf(href: string, pages: ReadonlySet<string>): string | undefined {
  if (pages.has(href)) return href === '/docs' ? 'index.html' : `${href.slice('/docs/'.length)}.html`
  if (href === '/openapi.json') return 'openapi.json'
  if (/^\/docs\/.+\.(md|txt)$/.test(href)) return href.slice('/docs/'.length)
  return /^\/docs\/(site\.\w+|search|api)$/.test(href)
    ? href.slice('/docs/'.length).replace(/^(search|api)$/, '$1.html')
    : undefined
}

/** Every address relative, so that the site works below any path and from a disk. */
function makeRelative(html: string, file: string, pages: ReadonlySet<string>): string {
  return html.replace(/ (href|src|action)="(\/[^"#]*)(#[^"]*)?"/g, (whole, name, href, anchor = '') => {
    const target = fileOf(href, pages)
    if (target === undefined) return whole
    return ` ${name}="${relative(dirname(file), target) || target}${anchor}"`
  })
}

const SEARCH_PAGE = '<h1>Search</h1><div id="found"><p>Type a word above.</p></div>'

/** Words of all pages and the search of the service itself: a script, because a page on a disk may not fetch. */
const printSearch = (pages: readonly DocPage[]): string => {
  const rows = pages.map(({ path, title, text }) => ({ path, title, text }))
  return `const pages=${JSON.stringify(rows)}
${searchPages.toString()}
const query=new URLSearchParams(location.search).get('q')||''
document.querySelector('[name=q]').value=query
if(query){const found=searchPages(pages,query),box=document.getElementById('found')
box.replaceChildren();const list=document.createElement('ol');list.className='found'
for(const {page,excerpt} of found){const item=document.createElement('li'),link=document.createElement('a'),text=document.createElement('p')
link.href=page.path+'.html';link.textContent=page.title;text.textContent=excerpt+'…';item.append(link,text);list.append(item)}
box.append(found.length>0?list:'Nothing was found.')}
`
}

const API_PAGE = `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">
<title>API reference – Comptoir</title></head><body><div id="app"></div>
<script src="scalar.js"></script><script src="openapi.js"></script></body></html>`

/** Writes the site. @returns how many pages */
export async function exportDocs(folder: string): Promise<number> {
  const pages = readPages()
  const known = new Set(pages.map(({ path }) => hrefOf(path)))
  const write = (file: string, text: string): void => {
    mkdirSync(dirname(join(folder, file)), { recursive: true })
    writeFileSync(join(folder, file), text)
  }
  for (const page of pages) {
    const file = `${page.path}.html`
    write(file, makeRelative(renderPage(page, pages), file, known))
    write(`${page.path}.md`, page.markdown)
  }
  write('llms.txt', printLlms(pages, (path) => `${path}.md`).replace('(/openapi.json)', '(openapi.json)'))
  const search: DocPage = { path: SEARCH, title: 'Search', group: '', html: SEARCH_PAGE, text: '', markdown: '' }
  const searchHtml = makeRelative(renderPage(search, pages), `${SEARCH}.html`, known)
  write(`${SEARCH}.html`, searchHtml.replace('</body>', '<script src="search.js"></script></body>'))
  write('search.js', printSearch(pages))
  write('site.css', SITE_STYLE)
  write('site.js', SITE_SCRIPT)
  const document = await readOpenApi()
  const text = JSON.stringify(document)
  write('openapi.json', text)
  write(`${API}.html`, API_PAGE)
  write('scalar.js', await readReferenceScript())
  const options = '{content,withDefaultFonts:false,telemetry:false,showDeveloperTools:"never",hideClientButton:true}'
  write('openapi.js', `const content=${text};Scalar.createApiReference('#app',${options})`)
  return pages.length
}

if (process.argv[1] === import.meta.filename) {
  const folder = resolve(process.argv[2] ?? 'release/docs')
  const count = await exportDocs(folder)
  process.stdout.write(`${count} pages in ${folder}. Open index.html, or publish the folder.\n`)
}
