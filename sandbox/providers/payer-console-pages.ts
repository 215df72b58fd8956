import type { Desk } from './desk.ts'
import type { DeskPayment } from './imitation.ts'
import { STORIES } from './stories.ts'

const text = (plain: string): string => plain.replace(/[&<>"']/g, (one) => `&#${one.codePointAt(0)};`)

const STYLE = `body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#1c2321}
h1{font-size:1.4rem}table{border-collapse:collapse;width:100%}
td,th{text-align:left;padding:.4rem .6rem;border-bottom:1px solid #ddd}
button{font:inherit;padding:.5rem .9rem;margin:.2rem .3rem .2rem 0;border:1px solid #0a6652;border-radius:.5rem}
button{background:#fff;color:#0a6652;cursor:pointer}button.main{background:#0a6652;color:#fff}
.soft{color:#5b6663}form{display:inline}.big{font-size:2rem;margin:.2rem 0}a{color:#0a6652}
code{overflow-wrap:anywhere}`

const shell = (title: string, body: string): string =>
  `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>${text(title)}</title>
<meta name="viewport" content="width=device-width,initial-scale=1"><style>${STYLE}</style></head><body>${body}
<p class="soft">Sandbox: nothing here is worth anything.</p></body></html>`

const button = (path: string, label: string, main = false): string =>
  `<form method="post" action="${path}"><button${main ? ' class="main"' : ''}>${label}</button></form>`

function actions(payment: DeskPayment): string {
  const path = `/payments/${encodeURIComponent(payment.reference)}`
  const open = payment.state === 'open' || payment.state === 'part'
  const late = payment.state === 'expired' || payment.state === 'closed'
  const waits = payment.refunds.some(({ state }) => state === 'pending')
  return [
    open ? button(`${path}/pay`, 'Approve', true) : '',
    payment.state === 'open' ? button(`${path}/pay-half`, 'Pay half') : '',
    open
      ? button(`${path}/fail`, 'Decline') +
        button(`${path}/block`, 'Block by screening') +
        button(`${path}/expire`, 'Let it expire')
      : '',
    late ? button(`${path}/pay`, 'Pay late') : '',
    waits ? button(`${path}/refund-settle`, 'Settle refund') + button(`${path}/refund-refuse`, 'Refuse refund') : '',
  ].join('')
}

/** What the payer sees at the provider. */
export function paymentPage(desk: Desk, payment: DeskPayment): string {
  const name = desk.imitations().find(({ prefix }) => prefix === payment.provider)?.name ?? payment.provider
  const { amount, currency, received, state, reference, merchantReference, returnUrl } = payment
  const refunds = payment.refunds.map((one) => `<li>${text(one.amount)} ${text(currency)}: ${one.state}</li>`).join('')
  const back = returnUrl && /^https?:/.test(returnUrl) ? `<p><a href="${text(returnUrl)}">Back to the shop</a></p>` : ''
  return shell(
    `${name} (sandbox)`,
    `<h1>${text(name)} <span class="soft">imitation</span></h1>
<p class="big">${text(amount)} ${text(currency)}</p><p>State: <b>${state}</b>, received ${text(received)}</p>
${actions(payment)}${refunds && `<h2>Refunds</h2><ul>${refunds}</ul>`}${back}
<p class="soft"><code>${text(reference)}</code> · <code>${text(merchantReference)}</code> ·
<a href="/payments">all payments</a></p>`,
  )
}

/** All payments, and the stories to tell. */
export function listPage(payments: readonly DeskPayment[]): string {
  const rows = payments
    .slice(0, 200)
    .map((one) => {
      const link = `/payments/${encodeURIComponent(one.reference)}`
      return `<tr><td>${text(one.provider)}</td><td><a href="${link}">${text(one.reference)}</a></td>
<td>${text(one.amount)} ${text(one.currency)}</td><td>${one.state}</td><td>${actions(one)}</td></tr>`
    })
    .join('')
  const table =
    rows === ''
      ? '<p>No payment yet. Accept an order with one of the channels.</p>'
      : `<table><tr><th>Provider</th><th>Payment</th><th>Amount</th><th>State</th><th></th></tr>${rows}</table>`
  const stories = STORIES.map((name) => button(`/stories/${name}`, name)).join('')
  return shell(
    'Providers (sandbox)',
    `<h1>Payments at the providers</h1>${table}
<h2>Trouble for the next payment</h2>${stories}`,
  )
}
