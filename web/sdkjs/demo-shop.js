/* The demo shop's own script: shows what the button tells its page. */
;(() => {
  const log = document.getElementById('log')
  const say = (text) => {
    const line = document.createElement('li')
    line.textContent = text
    log.prepend(line)
    document.getElementById('events').hidden = false
  }
  const names = { order: 'order', state: 'state', paid: 'paid', closed: 'closed' }
  for (const name of Object.keys(names)) {
    document.addEventListener(`comptoir:${name}`, (/** @type {any} */ { detail, target }) => {
      const { code, state } = detail
      say(`comptoir:${name} · ${target.id} · ${[state, code].filter(Boolean).join(' · ')}`)
      if (name === 'paid') target.closest('article')?.classList.add('paid')
    })
  }
})()
