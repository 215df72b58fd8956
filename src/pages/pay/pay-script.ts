/**
 * The pay page's own script: ticks the clock, copies, and follows the order by server-sent events. When the stream
 * stays down it reads the page itself now and then. Where a wallet announces itself (EIP-6963), it loads what drives
 * wallets. Everything but the clock and the wallets also works without it.
 */
const SOURCE = `(() => {
const d = document, byId = (id) => d.getElementById(id), live = byId('live'), say = byId('say'), lost = byId('lost')
const skew = live.dataset.now - Date.now()
let said = '', wait = 1000, source, timer, seen = Date.now()
d.documentElement.className = 'js'
const root = () => live.firstElementChild, final = () => root().dataset.final
const two = (n) => String(n).padStart(2, '0')
const tick = () => {
  // the clock jumped: the device slept, and its connection may be dead without a word; a hidden page ticks once a minute
  if (Date.now() - seen > 30000 && source && !d.hidden) connect()
  seen = Date.now()
  for (const c of live.querySelectorAll('[data-until]')) {
    const s = Math.max(0, Math.ceil((c.dataset.until - Date.now() - skew) / 1000))
    const h = Math.floor(s / 3600), m = Math.floor(s / 60) % 60
    c.textContent = (h ? h + ':' + two(m) : m) + ':' + two(s % 60)
  }
}
const zone = () => {
  const f = new Intl.DateTimeFormat(live.dataset.locale, { dateStyle: 'medium', timeStyle: 'short' })
  for (const t of live.querySelectorAll('time')) t.textContent = f.format(new Date(t.dateTime))
}
const show = (text, id) => {
  const find = (what) => live.querySelector(what)
  const kept = [d.activeElement, find('input:checked'), find('details[open]')].map((e) => e && byId(e.id) && e.id)
  const typed = [...live.querySelectorAll('.field')].map((e) => [e.id, e.value])
  live.dataset.id = id
  live.innerHTML = text
  byId('problem')?.remove()
  const [focus, checked, open] = kept.map((k) => k && byId(k))
  for (const [k, value] of typed) if (byId(k)) byId(k).value = value
  if (checked) checked.checked = true
  if (open) open.open = true
  if (focus) focus.focus()
  const { say: words, title } = root().dataset
  if (words !== said) say.textContent = said = words
  d.title = title
  tick()
  zone()
  if (final()) { lost.hidden = true; source.close() }
}
const poll = () => fetch(location.href).then((r) => r.text()).then((text) => {
  const page = new DOMParser().parseFromString(text, 'text/html').getElementById('live')
  if (page && page.dataset.id !== live.dataset.id) show(page.innerHTML, page.dataset.id)
}).catch(() => {})
const fail = () => {
  source.close()
  clearTimeout(timer)
  if (final()) return
  if (wait > 1000) { lost.hidden = false; poll() }
  timer = setTimeout(connect, wait)
  wait = Math.min(wait * 2, 15000)
}
const connect = () => {
  clearTimeout(timer)
  if (source) source.close()
  if (final()) return
  source = new EventSource(live.dataset.events + '&last=' + encodeURIComponent(live.dataset.id))
  timer = setTimeout(fail, 8000)
  source.onopen = () => { clearTimeout(timer); wait = 1000; lost.hidden = true }
  source.onerror = fail
  source.addEventListener('state', (e) => show(e.data, e.lastEventId))
}
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
const wallet = () => {
  if (!live.dataset.wallet || byId('wallets')) return
  d.head.append(Object.assign(d.createElement('script'), { id: 'wallets', src: live.dataset.wallet }))
}
for (const name of ['eip6963:announceProvider', 'ethereum#initialized']) addEventListener(name, wallet)
dispatchEvent(new Event('eip6963:requestProvider'))
if (window.ethereum) wallet()
d.addEventListener('visibilitychange', () => { if (!d.hidden) connect() })
said = root().dataset.say
setInterval(tick, 500)
tick()
zone()
connect()
if (live.dataset.auto) live.querySelector('form').submit()
})()`

/** Without indentation. */
export const PAY_SCRIPT = SOURCE.replace(/\n\s*/g, '\n')
