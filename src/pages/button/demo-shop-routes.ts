import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { FastifyPluginAsync } from 'fastify'
import { findLandingButton } from '../../companies/button-landing.ts'
import type { Config } from '../../config/config.ts'
import type { Db } from '../../db/db.ts'
import { type Html, html, raw } from '../../kernel/html.ts'
import { hashOf } from '../shared/framing.ts'

const SCRIPT_FILE = join(import.meta.dirname, '../../../web/sdkjs/demo-shop.js')

const STYLE = `:root { color-scheme: light dark }
body { font: 1rem/1.5 system-ui, sans-serif; max-width: 62rem; margin: 0 auto; padding: 2rem 1.25rem 4rem }
h1 { font-size: 1.75rem; margin: 0 0 .25rem } h2 { font-size: 1.125rem; margin: 0 0 .25rem }
p { margin: 0 0 1rem } .soft { opacity: .75 }
main { display: grid; gap: 1.25rem; margin: 1.5rem 0;
  grid-template-columns: repeat(auto-fit, minmax(min(100%, 18rem), 1fr)) }
article { border: 1px solid rgb(128 128 128 / .35); border-radius: 1rem; padding: 1.25rem }
article.wide { grid-column: 1 / -1 } article.paid { outline: 3px solid #0a6652 }
.price { font-size: 1.5rem; font-weight: 600; margin: .5rem 0 1rem }
button { font: 600 1rem/1.25 system-ui; padding: .75rem 1.25rem; min-height: 2.75rem; border: 0; border-radius: .75rem;
  background: #0a6652; color: #fff; cursor: pointer }
code, li { font: .875rem/1.5 ui-monospace, monospace; overflow-wrap: anywhere } ol { padding-left: 1.25rem }`.replace(
  /\n\s*/g,
  ' ',
)

/** As strict as a careful shop's policy: no inline code except our one style, frames from Comptoir only. */
const POLICY = [
  "default-src 'none'",
  `style-src ${hashOf(STYLE)}`,
  "script-src 'self'",
  "connect-src 'self'",
  "frame-src 'self'",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join('; ')

const article = (title: string, text: string, price: string, button: Html, wide = false): Html =>
  html`<article${wide && raw(' class="wide"')}><h2>${title}</h2><p class="soft">${text}</p>
    <p class="price">${price}</p>${button}</article>`

function renderShop(id: string, price: string): Html {
  const modal = html`<button id="modal" data-comptoir="${id}">Pay with crypto</button>`
  const page = html`<button id="page" data-comptoir="${id}" data-comptoir-display="page">Pay on a new page</button>`
  const inline = html`<div id="inline"><button id="show" type="button" data-comptoir="${id}"
    data-comptoir-display="modal" data-comptoir-lang="fr">Payer en crypto</button></div>`
  return html`<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Demo shop</title>
    <meta name="viewport" content="width=device-width,initial-scale=1"><meta name="robots" content="noindex">
    <style>${raw(STYLE)}</style></head><body>
    <h1>Demo shop</h1>
    <p class="soft">A page of a shop as its developer writes it: one script, one attribute. No real money moves here; the
      sandbox’s test wallet pays.</p>
    <main>
      ${article('Coffee beans, 250 g', 'Opens over the page.', price, modal)}
      ${article('Filter papers', 'Opens on a page of its own.', price, page)}
      ${article('Tasse', 'The same button in French.', price, inline)}
    </main>
    <section id="events" hidden><h2>What the page was told</h2><ol id="log"></ol></section>
    <p><code>&lt;script src="/sdk.js" async&gt;&lt;/script&gt; &lt;button data-comptoir="${id}"&gt;</code></p>
    <script src="/demo-shop.js"></script><script src="/sdk.js" async></script></body></html>`
}

/** `/demo-shop`, in the sandbox only: a shop that uses the buy button. */
export const demoShopRoutes: FastifyPluginAsync<{ db: Db; config: Pick<Config, 'baseUrl'>; buttonId: string }> = async (
  app,
  { db, config, buttonId },
) => {
  const open = { config: { open: true, page: true }, schema: { hide: true } } as const
  const { host, origin } = new URL(config.baseUrl)
  app.get('/demo-shop', open, async (request, reply) => {
    // the button is registered for one origin: localhost and 127.0.0.1 are two websites
    if (request.host !== host) return reply.redirect(`${origin}/demo-shop`, 302)
    const button = await findLandingButton({ db }, buttonId)
    return reply
      .headers({ 'content-security-policy': POLICY, 'cache-control': 'no-store' })
      .type('text/html; charset=utf-8')
      .send(renderShop(button.id, `${button.price} ${button.currency}`).text)
  })
  app.get('/demo-shop.js', open, async (_request, reply) =>
    reply.type('text/javascript; charset=utf-8').send(readFileSync(SCRIPT_FILE)),
  )
}
