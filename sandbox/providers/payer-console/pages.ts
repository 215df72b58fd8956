import type { ProviderPayment } from '../imitation.ts'
import type { PayerConsole } from '../payer-console.ts'
import { STORIES } from '../stories.ts'

export const escapeHtml = (plain: string): string => plain.replace(/[&<>"']/g, (one) => `&#${one.codePointAt(0)};`)
const text = escapeHtml

const STYLE = `body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#1c2321}
h1{font-size:1.4rem}table{border-collapse:collapse;width:100%}
td,th{text-align:left;padding:.4rem .6rem;border-bottom:1px solid #ddd}
button,input,select{font:inherit;padding:.5rem .9rem;margin:.2rem .3rem .2rem 0;border:1px solid #0a6652}
button,input,select{border-radius:.5rem}
button{background:#fff;color:#0a6652;cursor:pointer}button.main{background:#0a6652;color:#fff}input{width:8rem}
.soft{color:#5b6663}form{display:inline}.big{font-size:2rem;margin:.2rem 0}a{color:#0a6652}
code{overflow-wrap:anywhere}`

export const shell = (title: string, body: string): string =>
  `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>${text(title)}</title>
<meta name="viewport" content="width=device-width,initial-scale=1"><style>${STYLE}</style></head><body>${body}
<p class="soft">Sandbox: no real money moves here.</p></body></html>`

export const button = (path: string, label: string, main = false): string =>
  `<form method="post" action="${path}"><button${main ? ' class="main"' : ''}>${label}</button></form>`

const pathOf = ({ reference }: ProviderPayment): string => `/payments/${encodeURIComponent(reference)}`

function actions(payerConsole: PayerConsole, payment: ProviderPayment): string {
  const { state } = payment
  const path = pathOf(payment)
  const open = state === 'open' || state === 'part'
  const late = state === 'expired' || state === 'closed'
  const waits = payment.refunds.some((refund) => refund.state === 'pending')
  const imitation = payerConsole.imitationOf(payment)
  const confirms = imitation?.reportsConfirmations === true
  return [
    open ? button(`${path}/pay`, 'Approve', true) : '',
    state === 'open' ? button(`${path}/pay-half`, 'Pay half') : '',
    open && confirms ? button(`${path}/pay-unconfirmed`, 'Pay, unconfirmed') : '',
    state === 'confirming' ? button(`${path}/confirm`, 'Confirm', true) : '',
    open && imitation?.unresolved
      ? button(`${path}/pay-wrong-coin`, 'Pay the wrong coin') +
        button(`${path}/pay-wrong-chain`, 'Pay on the wrong chain') +
        button(`${path}/pay-risk-address`, 'Pay from a risk address')
      : '',
    open || state === 'confirming'
      ? button(`${path}/fail`, 'Decline') +
        button(`${path}/block`, 'Block by screening') +
        button(`${path}/expire`, 'Let it expire')
      : '',
    late ? button(`${path}/pay`, 'Pay late') : '',
    waits ? button(`${path}/refund-settle`, 'Settle refund') + button(`${path}/refund-refuse`, 'Refuse refund') : '',
  ].join('')
}

/** Any amount, in any coin that the provider accepts. */
function payForm(payerConsole: PayerConsole, payment: ProviderPayment): string {
  const imitation = payerConsole.imitationOf(payment)
  const surplus = payment.state === 'paid' && imitation?.creditsSurplus
  if (!surplus && ['paid', 'confirming', 'failed'].includes(payment.state)) return ''
  const coins = [...new Set([payment.currency, ...(imitation?.coins ?? [])])]
  const options = coins.map((coin) => `<option>${text(coin)}</option>`).join('')
  return `<form method="post" action="${pathOf(payment)}/pay"><p><label>Amount
<input name="amount" inputmode="decimal" required></label> <label>in <select name="currency">${options}</select></label>
<button>Pay this amount</button></p></form>`
}

/** What the payer sees at the provider. */
export function paymentPage(payerConsole: PayerConsole, payment: ProviderPayment): string {
  const name = payerConsole.imitationOf(payment)?.name ?? payment.provider
  const { amount, currency, received, state, reference, merchantReference, returnUrl } = payment
  const refunds = payment.refunds.map((one) => `<li>${text(one.amount)} ${text(currency)}: ${one.state}</li>`).join('')
  const back = returnUrl && /^https?:/.test(returnUrl) ? `<p><a href="${text(returnUrl)}">Back to the shop</a></p>` : ''
  return shell(
    `${name} (sandbox)`,
    `<h1>${text(name)} <span class="soft">imitation</span></h1>
<p class="big">${text(amount)} ${text(currency)}</p><p>State: <b>${state}</b>, received ${text(received)}</p>
${actions(payerConsole, payment)}${payForm(payerConsole, payment)}
${refunds && `<h2>Refunds</h2><ul>${refunds}</ul>`}${back}
<p class="soft"><code>${text(reference)}</code> · <code>${text(merchantReference)}</code> ·
<a href="/payments">all payments</a></p>`,
  )
}

/** All payments, and the stories to start. */
export function listPage(payerConsole: PayerConsole, payments: readonly ProviderPayment[]): string {
  const rows = payments
    .slice(0, 200)
    .map(
      (one) => `<tr><td>${text(one.provider)}</td><td><a href="${pathOf(one)}">${text(one.reference)}</a></td>
<td>${text(one.amount)} ${text(one.currency)}</td><td>${one.state}</td><td>${actions(payerConsole, one)}</td></tr>`,
    )
    .join('')
  const table =
    rows === ''
      ? '<p>No payment yet. Accept an order with one of the channels.</p>'
      : `<table><tr><th>Provider</th><th>Payment</th><th>Amount</th><th>State</th><th></th></tr>${rows}</table>`
  const stories = STORIES.map((name) => button(`/stories/${name}`, name)).join('')
  return shell(
    'Providers (sandbox)',
    `<h1>Payments at the providers</h1>${table}
<h2>Trouble for the next payment</h2>${stories}
<p><a href="/screening">Address screening</a> · <a href="/callbacks">Callbacks sent</a></p>`,
  )
}
