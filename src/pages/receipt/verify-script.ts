/**
 * Verifies a signed receipt entirely in the browser: a compact JWS with Ed25519 (RFC 8037), by WebCrypto. Shows only
 * what is signed, and contacts no server except, on request, the one that the receipt names, for its public keys.
 */
const SOURCE = `(() => {
const d = document, byId = (id) => d.getElementById(id)
const words = JSON.parse(byId('words').textContent)
let lang = d.documentElement.lang, outcome = null
const text = (key) => words[lang].texts[key]
const fill = (sentence, value) => sentence.replace('%', () => value ?? '')
const add = (to, name, value) => { const e = d.createElement(name); e.textContent = value; to.append(e); return e }
const bytes = (part) => Uint8Array.from(atob(part.replace(/-/g, '+').replace(/_/g, '/')), (c) => c.charCodeAt(0))
const read = (part) => JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes(part)))
const sorted = (value) => Array.isArray(value) ? value.map(sorted)
  : value && typeof value === 'object'
    ? Object.fromEntries(Object.keys(value).sort().map((key) => [key, sorted(value[key])])) : value
const isSame = (a, b) => JSON.stringify(sorted(a)) === JSON.stringify(sorted(b))
const parse = () => {
  const given = byId('receipt').value.trim()
  const beside = given.startsWith('{') ? JSON.parse(given) : { jws: given }
  const parts = String(beside.jws).split('.')
  if (parts.length !== 3 || parts.some((part) => !/^[A-Za-z0-9_-]+$/.test(part))) throw new Error('no JWS')
  const payload = read(parts[1])
  const issuer = new URL(payload.issuer)
  if (!/^https?:$/.test(issuer.protocol)) throw new Error('no issuer')
  return { parts, payload, issuer, header: read(parts[0]), altered: 'receipt' in beside && !isSame(beside.receipt, payload) }
}
const tryParse = () => { try { return parse() } catch { return null } }
const check = async () => {
  const signed = tryParse()
  if (!signed) return { fault: 'unreadable' }
  let keys
  try { keys = JSON.parse(byId('keys').value).keys } catch {}
  if (!Array.isArray(keys) || keys.length === 0) return { fault: 'noKeys' }
  const { header, parts } = signed
  if (header.alg !== 'EdDSA') return { verdict: 'bad' }
  const fitting = keys.filter((key) => key.kty === 'OKP' && key.crv === 'Ed25519' && key.kid === header.kid)
  if (fitting.length === 0) return { fault: 'keyMissing' }
  const message = new TextEncoder().encode(parts[0] + '.' + parts[1])
  for (const { kty, crv, x } of fitting) {
    let key
    try { key = await crypto.subtle.importKey('jwk', { kty, crv, x }, 'Ed25519', false, ['verify']) } catch (error) {
      if (!globalThis.crypto?.subtle || error.name === 'NotSupportedError') return { fault: 'unsupported' }
      continue
    }
    if (await crypto.subtle.verify('Ed25519', key, bytes(parts[2]), message)) return { verdict: 'good', ...signed }
  }
  return { verdict: 'bad' }
}
const moneyOf = (money) => money && money.amount + ' ' + (money.currency ?? money.asset)
const factsOf = (payload) => [
  ['siret', payload.merchant?.siret], ['vatNumber', payload.merchant?.vatNumber], ['number', payload.order], ['reference', payload.reference], ['goods', payload.goods], ['price', moneyOf(payload.price)],
  ['rate', payload.rate && '1 ' + payload.rate.of + ' = ' + payload.rate.value + ' ' + payload.rate.in],
  ['paid', moneyOf(payload.paid)], ['channel', payload.channel], ['network', payload.network?.name],
  ['paidAt', payload.paidAt && new Intl.DateTimeFormat(words[lang].locale, { dateStyle: 'medium', timeStyle: 'short' })
    .format(new Date(payload.paidAt))],
  ...(payload.transactions ?? []).map((hash) => ['transaction', hash]),
  ...(payload.refunds ?? []).map((refund) => ['sentBack', moneyOf(refund)]),
].filter(([, value]) => value)
const show = () => {
  const at = byId('result')
  at.replaceChildren()
  at.className = outcome ? 'box ' + (outcome.verdict ?? 'fault') : ''
  if (!outcome) return
  const { fault, verdict, payload, issuer, altered } = outcome
  if (fault) return void (add(at, 'p', fill(text(fault), outcome.host)).className = 'note')
  add(at, 'h2', text(verdict))
  add(at, 'p', fill(text(verdict + 'Text'), issuer?.host))
  if (verdict !== 'good') return
  if (altered) add(at, 'p', text('altered')).className = 'note'
  const { name, legalName } = payload.merchant ?? {}
  add(at, 'h3', fill(words[lang].labels.from, [name, legalName].filter(Boolean).join(' · ')))
  const list = add(at, 'dl', '')
  list.className = 'facts'
  for (const [key, value] of factsOf(payload)) {
    const row = add(list, 'div', '')
    if (key === 'transaction') row.className = 'long'
    add(row, 'dt', words[lang].labels[key])
    add(row, 'dd', String(value)).className = key === 'transaction' ? 'mono' : ''
  }
}
const offer = () => {
  const signed = tryParse()
  const button = byId('fetch')
  button.hidden = !signed
  button.textContent = fill(text('fetchKeys'), signed?.issuer.host)
}
const speak = (to) => {
  lang = to
  d.documentElement.lang = to
  d.documentElement.dir = words[to].dir
  for (const e of d.querySelectorAll('[data-t]')) e.textContent = text(e.dataset.t)
  for (const a of d.querySelectorAll('nav [lang]')) {
    if (a.lang === to) a.setAttribute('aria-current', 'true'); else a.removeAttribute('aria-current')
  }
  d.title = text('title')
  offer()
  show()
}
byId('receipt').addEventListener('input', () => { outcome = null; offer(); show() })
byId('keys').addEventListener('input', () => { outcome = null; show() })
byId('file').addEventListener('change', async ({ target }) => {
  byId('receipt').value = (await target.files[0]?.text()) ?? ''
  outcome = null
  offer()
  show()
})
byId('fetch').addEventListener('click', async () => {
  const { issuer } = parse()
  try {
    const path = issuer.href.replace(/\\/+$/, '') + '/.well-known/jwks.json'
    const answer = await fetch(path, { credentials: 'omit', referrerPolicy: 'no-referrer' })
    byId('keys').value = JSON.stringify(await answer.json(), null, 1)
    outcome = null
  } catch { outcome = { fault: 'noFetch', host: issuer.host } }
  show()
})
byId('check').addEventListener('submit', async (event) => {
  event.preventDefault()
  outcome = await check()
  show()
})
for (const a of d.querySelectorAll('nav [lang]'))
  a.addEventListener('click', (event) => { event.preventDefault(); speak(a.lang) })
byId('save').hidden = location.protocol === 'file:'
byId('check').hidden = false
byId('plain').hidden = true
})()`

export const VERIFY_SCRIPT = SOURCE.replace(/\n\s*/g, '\n')
