/**
 * The pay page's own script: updates the countdowns, copies, and follows the order by server-sent events. While the
 * stream is down it reloads the page's content now and then. If a wallet announces itself (EIP-6963), it loads the
 * wallet script. Everything except the countdowns and the wallets also works without it.
 */
const SOURCE = `(() => {
const d = document, byId = (id) => d.getElementById(id), live = byId('live'), say = byId('say'), lost = byId('lost')
let said = '', wait = 1000, source, timer, seen = Date.now(), heard = seen, skew
d.documentElement.className = 'js'
const root = () => live.firstElementChild, final = () => root().dataset.final
const two = (n) => String(n).padStart(2, '0')
// the way here only makes the service's clock look slow: the latest reading counts, unless the device's clock was set
const set = (now) => {
  const read = now - Date.now()
  if (!(skew > read && skew - read < 60000)) skew = read
}
const tick = () => {
  const now = Date.now()
  // the clock jumped: the device slept, and its connection may be dead without a word; a hidden page ticks once a minute
  const slept = Math.abs(now - seen) > 30000
  seen = now
  if (!d.hidden && (slept || (!final() && Math.abs(now - heard) > 40000))) look()
  for (const c of live.querySelectorAll('[data-until]')) {
    const s = Math.max(0, Math.ceil((c.dataset.until - now - skew) / 1000))
    const h = Math.floor(s / 3600), m = Math.floor(s / 60) % 60
    c.textContent = (h ? h + ':' + two(m) : m) + ':' + two(s % 60)
  }
}
const zone = () => {
  const f = new Intl.DateTimeFormat(live.dataset.locale, { dateStyle: 'medium', timeStyle: 'short' })
  for (const t of live.querySelectorAll('time')) t.textContent = f.format(new Date(t.dateTime))
}
const show = (text, id) => {
  const find = (what) => [...live.querySelectorAll(what)].map((e) => e.id)
  const at = d.activeElement, inside = live.contains(at), focus = at && at.id
  const checked = find('input:checked'), open = find('details[open]')
  const typed = [...live.querySelectorAll('.field')].map((e) => [e.id, e.value])
  live.dataset.id = id
  live.innerHTML = text
  byId('problem')?.remove()
  for (const [k, value] of typed) if (byId(k)) byId(k).value = value
  for (const k of checked) if (byId(k)) byId(k).checked = true
  for (const k of open) if (byId(k)) byId(k).open = true
  const { say: words, title } = root().dataset
  // what had the focus is gone: the keyboard goes on where the news begins
  const kept = (focus && byId(focus)) || (inside && live)
  if (kept) kept.focus({ preventScroll: kept === live })
  if (words !== said) say.textContent = said = words
  d.title = title
  tick()
  zone()
  leave()
  if (final()) { lost.hidden = true; source?.close() }
}
const poll = () => {
  const at = live.dataset.id
  const signal = AbortSignal.timeout ? AbortSignal.timeout(10000) : undefined
  return fetch(location.href, { signal }).then((r) => r.text()).then((text) => {
    const page = new DOMParser().parseFromString(text, 'text/html').getElementById('live')
    // a page of the network's own, which wants a login or is out of order
    if (!page) throw page
    lost.hidden = true
    set(page.dataset.now)
    // slower than what the stream has told since
    if (live.dataset.id !== at || page.dataset.id === at) return
    show(page.innerHTML, page.dataset.id)
    if (!final() && !(source?.readyState < 2)) connect()
  }).catch(() => { lost.hidden = Boolean(final()) })
}
const fail = () => {
  source.close()
  clearTimeout(timer)
  if (final()) return
  if (wait > 1000) poll()
  timer = setTimeout(connect, wait)
  wait = Math.min(wait * 2, 15000)
}
const connect = () => {
  clearTimeout(timer)
  if (source) source.close()
  if (final()) return
  heard = Date.now()
  source = new EventSource(live.dataset.events + '&last=' + encodeURIComponent(live.dataset.id))
  timer = setTimeout(fail, 8000)
  const on = (name, work) => source.addEventListener(name, (e) => { heard = Date.now(); work(e) })
  on('open', () => { clearTimeout(timer); wait = 1000; lost.hidden = true })
  on('error', fail)
  on('beat', (e) => set(e.data))
  on('state', (e) => show(e.data, e.lastEventId))
}
// a page that is over follows no stream: what happened since is read when someone looks at it again
const look = () => final() ? poll() : connect()
d.addEventListener('click', (e) => {
  const b = e.target.closest('[data-copy]')
  if (!b) return
  const select = () => { getSelection().selectAllChildren(byId(b.dataset.from)); return d.execCommand('copy') }
  const done = (copied) => {
    const word = b.firstChild, before = word.data
    // what is pasted instead may be the address of an earlier payment
    byId('by-hand').hidden = copied !== false
    if (copied === false || before === b.dataset.done) return
    word.data = say.textContent = b.dataset.done
    setTimeout(() => { word.data = before }, 2000)
  }
  (navigator.clipboard ? navigator.clipboard.writeText(b.dataset.copy) : Promise.reject()).catch(select).then(done)
})
// a language's button posts a form, which may have left the page
d.addEventListener('click', (e) => {
  const b = e.target.closest('[formaction]')
  if (b && !b.form) location.assign(b.formAction)
})
// back to the shop after some seconds, unless the payer uses the page meanwhile; once for each visit
let left
const stop = () => {
  left = undefined
  history.replaceState({ stays: 1 }, '')
}
const count = () => {
  const box = byId('return')
  if (!box) return left = undefined
  if (left === undefined || d.hidden) return
  byId('seconds').textContent = left
  if (left-- > 0) return
  stop()
  box.hidden = true
  location.assign(box.dataset.to)
}
const stay = ({ type }) => {
  const box = byId('return')
  if (!box || box.hidden) return
  if (left !== undefined) stop()
  // nothing moves while it is pressed
  if (type !== 'pointerdown') setTimeout(() => { box.hidden = true })
}
const leave = () => {
  const box = byId('return')
  if (!box || parent !== window || history.state?.stays) return
  box.hidden = false
  if (left !== undefined) return
  left = box.dataset.seconds
  say.textContent = said + '. ' + box.dataset.say
}
setInterval(count, 1000)
for (const name of ['pointerdown', 'pointerup', 'pointercancel', 'click', 'keydown', 'wheel']) addEventListener(name, stay, { passive: true })
const wallet = () => {
  if (!live.dataset.wallet || byId('wallets')) return
  d.head.append(Object.assign(d.createElement('script'), { id: 'wallets', src: live.dataset.wallet }))
}
for (const name of ['eip6963:announceProvider', 'ethereum#initialized']) addEventListener(name, wallet)
dispatchEvent(new Event('eip6963:requestProvider'))
if (window.ethereum) wallet()
d.addEventListener('visibilitychange', () => { if (!d.hidden) look() })
addEventListener('online', look)
addEventListener('offline', () => { lost.hidden = Boolean(final()) })
addEventListener('pageshow', (e) => { if (e.persisted) look() })
said = root().dataset.say
set(live.dataset.now)
setInterval(tick, 500)
tick()
zone()
leave()
connect()
if (live.dataset.auto) live.querySelector('form').submit()
})()`

/** Without comments and indentation. */
export const PAY_SCRIPT = SOURCE.replace(/\n\s*\/\/.*/g, '').replace(/\n\s*/g, '\n')
