/*
 * The buy button. Load it from your Comptoir and mark an element:
 *   <script src="https://pay.example.com/sdk.js" async></script>
 *   <button data-comptoir="BUTTON_ID">Pay with crypto</button>
 * Documented in docs/buy-button.md. No dependency, no inline style, no eval: it runs under a strict policy.
 */
;(() => {
  /** Filled in by the service: where the pages are, and the origins whose messages count. */
  const BASE = '__BASE__'
  const ORIGINS = ['__ORIGINS__']
  const WORDS = {
    en: ['Pay with crypto', 'Close', 'Payment'],
    fr: ['Payer en crypto', 'Fermer', 'Paiement'],
    de: ['Mit Krypto bezahlen', 'Schließen', 'Zahlung'],
    es: ['Pagar con cripto', 'Cerrar', 'Pago'],
    it: ['Paga in cripto', 'Chiudi', 'Pagamento'],
  }
  const STYLE = `
    dialog.comptoir-dialog { border: 0; padding: 0; width: min(30rem, 100vw); height: min(52rem, 100dvh);
      max-width: 100vw; max-height: 100dvh; border-radius: 1rem; overflow: hidden; background: Canvas; }
    dialog.comptoir-dialog::backdrop { background: rgb(0 0 0 / .55); }
    @media (max-width: 30rem) { dialog.comptoir-dialog { border-radius: 0; height: 100dvh; } }
    .comptoir-frame { display: block; border: 0; width: 100%; height: 100%; color-scheme: normal; }
    iframe.comptoir-inline { height: 40rem; }
    .comptoir-close { position: absolute; top: .5rem; right: .5rem; width: 2.75rem; height: 2.75rem; border: 0;
      padding: 0; border-radius: 50%; background: rgb(128 128 128 / .18); color: CanvasText; font: 1.25rem/1 system-ui;
      cursor: pointer; }
    .comptoir-button { font: 600 1rem/1.25 system-ui, sans-serif; padding: .75rem 1.25rem; min-height: 2.75rem;
      border: 0; border-radius: .75rem; background: #0a6652; color: #fff; cursor: pointer; }
    .comptoir-button:focus-visible, .comptoir-close:focus-visible { outline: 3px solid #0a6652; outline-offset: 2px; }`
  /** Within this time an opened page has begun its order, or never will. */
  const OPENING_MS = 30_000
  /** Marks the key of the order whose end was told. */
  const TOLD = ':told'
  const own = document.currentScript?.dataset ?? {}
  const instances = new Set()
  /**
   * Until when an opened page may still name its order; a page that fails never does. All buttons of a reference wait
   * for it, one without a reference alone.
   */
  const openings = new Map()
  let styled = false

  const lang = (wish) => {
    const wanted = (wish || document.documentElement.lang || navigator.language).slice(0, 2).toLowerCase()
    return WORDS[wanted] ? wanted : 'en'
  }

  function addStyle() {
    if (styled) return
    styled = true
    // a sheet made by script needs no permission of a Content-Security-Policy
    const sheet = new CSSStyleSheet()
    sheet.replaceSync(STYLE)
    document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet]
  }

  const make = (tag, properties = {}) => Object.assign(document.createElement(tag), properties)

  /** As the older client writes it: brackets stand as they are, what is absent is empty, true is TRUE. */
  function queryOf(values) {
    const text = (value) => (value === undefined || value === null ? '' : String(value))
    return Object.entries(values)
      .map(([name, value]) => [name, typeof value === 'boolean' ? text(value).toUpperCase() : text(value)])
      .map(([name, value]) => `${name}=${encodeURIComponent(value)}`)
      .join('&')
  }

  const isDone = (state) => ['paid', 'refunding', 'refunded'].includes(state)
  const isOver = (state) => ['expired', 'cancelled', 'error', 'review'].includes(state)

  class BuyButton {
    /** The order's code; undefined before the order exists. */
    #code
    /** The order whose end the shop's page was told of: only that it is paid late is told after that. */
    #toldCode
    /** The order that this page was told is paid: asked from here and told by the pay page, it would hear twice. */
    #paidCode
    #sessionId
    #token
    #state
    #frame = null
    #popups = new Set()
    #dialog = null
    /** The newest order that is followed, and what stops that. */
    #followed
    options = null
    element = null

    init(options, element) {
      if (!options?.buttonId && !options?.session) throw new Error('Comptoir: buttonId is missing.')
      const { goods } = options
      if (goods && !(goods.goodsName && goods.goodsType && goods.goodsCategory))
        throw new Error('Comptoir: goods need goodsName, goodsType and goodsCategory.')
      // without a price, the button's own price and currency apply
      this.options = { ...(options.price === undefined ? {} : { currency: 'EUR' }), display: 'modal', ...options }
      // a file, or a sandboxed frame: no website could be allowed to show the payment in it
      if (self.origin === 'null') {
        this.options.display = 'page'
        console.warn('Comptoir: this page has no origin, so the payment opens on a page of its own, without events.')
      }
      this.element = element ?? null
      this.#recall()
      instances.add(this)
      addStyle()
      if (this.element) this.#attach(this.element)
      return this
    }

    #attach(element) {
      if (this.options.display === 'inline') return this.#showInline(element)
      const isClickable = /^(BUTTON|A)$/.test(element.tagName) || element.getAttribute('role') === 'button'
      const button = isClickable ? element : make('button', { type: 'button' })
      const name = this.options.buttonName
      if (!isClickable || button.textContent.trim() === '') {
        button.textContent = name || WORDS[lang(this.options.lang)][0]
        button.classList.add('comptoir-button')
      }
      if (!isClickable) element.append(button)
      button.addEventListener('click', (event) => {
        event.preventDefault()
        this.open()
      })
    }

    /** Without a reference, a click after the end is another purchase; a page of its own cannot tell what it showed. */
    #isAnother() {
      const { orderRef, display } = this.options
      return !orderRef && (display === 'page' || isDone(this.#state) || isOver(this.#state))
    }

    /** Address of the page that begins the payment. */
    getButtonUrl() {
      const { buttonId, orderRef, price, currency, callbackUrl, goods, buttonName, session } = this.options
      const base = this.options.buttonAppUrl || `${BASE}/buy-button/landing`
      const key = this.options.tokenKey ?? own.tokenKey
      const more = { lang: lang(this.options.lang), ...(key ? { tokenKey: key } : {}) }
      if (session) return `${base}?${queryOf({ session, ...more })}`
      const values = { id: buttonId, orderRef, price, currency, callbackUrl }
      for (const name of ['goodsName', 'goodsType', 'goodsCategory']) values[`goods[${name}]`] = goods?.[name]
      const known = this.#code && !this.#isAnother() ? { code: this.#code } : {}
      return `${base}?${queryOf({ ...values, buttonName, ...known, ...more })}`
    }

    /** Markup to paste into a page: `form` works without any script, `button` needs sdk.js. */
    generateSnippet({ type = 'form', display = this.options.display } = {}) {
      const word = this.options.buttonName || WORDS[lang(this.options.lang)][0]
      const button = make('button', { textContent: word })
      if (type === 'button') {
        button.dataset.comptoir = this.options.buttonId
        if (this.options.orderRef) button.dataset.comptoirOrderRef = this.options.orderRef
        button.dataset.comptoirDisplay = display
        return button.outerHTML
      }
      const form = make('form', { action: this.getButtonUrl().split('?')[0], target: '_blank' })
      for (const [name, value] of new URL(this.getButtonUrl()).searchParams) {
        const field = make('input', { type: 'hidden', name })
        field.setAttribute('value', value)
        form.append(field)
      }
      form.append(button)
      return form.outerHTML
    }

    /** Opens the payment as the button is set: in a dialog, on a new page, or in its place on this page. */
    open() {
      if (this.options.display === 'page') {
        const url = this.#openingUrl()
        const popup = window.open(url, '_blank')
        if (popup) this.#popups.add(popup)
        else location.assign(url)
      } else if (this.options.display === 'inline') this.#showInline(this.element)
      else this.handleModal()
    }

    #openingUrl() {
      openings.set(this.#purchase(), performance.now() + OPENING_MS)
      this.#recall()
      return this.getButtonUrl()
    }

    /** Opens the dialog, or closes it. */
    handleModal() {
      if (this.#dialog) return this.close()
      const words = WORDS[lang(this.options.lang)]
      const dialog = make('dialog', { className: 'comptoir-dialog', ariaLabel: words[2] })
      // the focus begins outside the frame, whose keys this page does not hear
      const button = make('button', {
        className: 'comptoir-close',
        type: 'button',
        ariaLabel: words[1],
        autofocus: true,
      })
      button.textContent = '✕'
      button.addEventListener('click', () => this.close())
      // Esc
      dialog.addEventListener('cancel', (event) => {
        event.preventDefault()
        this.close()
      })
      this.#dialog = dialog
      dialog.append(button, this.#newFrame('app-frame'))
      document.body.append(dialog)
      dialog.showModal()
    }

    close() {
      if (!this.#dialog) return
      this.#dialog.remove()
      this.#dialog = null
      this.#frame = null
      openings.delete(this.#purchase())
      // no way to pay is chosen: the shop's reference gets free again
      if (this.options.orderRef && this.#state === 'choose') this.removeSession()
      this.#tell('closed')
    }

    #newFrame(id) {
      const frame = make('iframe', { className: 'comptoir-frame', title: WORDS[lang(this.options.lang)][2] })
      if (id) frame.id = id
      frame.allow = 'clipboard-write'
      frame.src = this.#openingUrl()
      this.#frame = frame
      return frame
    }

    #showInline(element) {
      if (!element || this.#frame) return
      const frame = this.#newFrame(null)
      frame.classList.add('comptoir-inline')
      element.replaceChildren(frame)
    }

    getTransactionCode() {
      return this.#code
    }

    /**
     * Ends the session at the service; an order that is being paid goes on. A reference keeps leading to its order,
     * because only the service knows whether that is being paid.
     */
    removeSession() {
      const id = this.#sessionId
      if (!id) return
      this.#sessionId = undefined
      this.#forget(this.#code)
      if (!this.options.orderRef) this.#code = undefined
      const headers = { authorization: `Bearer ${this.#token}` }
      void fetch(`${BASE}/api/buy-button/sessions/${id}`, { method: 'DELETE', headers, keepalive: true }).catch(
        () => {},
      )
    }

    /**
     * Asks for the order's status until it ends.
     * @returns a function that stops asking
     */
    subscribeTransaction({ code, codeType = 'transactionCode', interval = 5000, success, error }) {
      const path = codeType === 'orderRef' ? `order/${encodeURIComponent(code)}` : encodeURIComponent(code)
      const headers = this.#token ? { authorization: `Bearer ${this.#token}` } : {}
      let timer
      let stopped = false
      const ask = async () => {
        const answer = await fetch(`${BASE}/api/confirm_conversion/status/${path}`, { headers })
          .then((response) => response.json())
          .catch(() => null)
        if (stopped) return
        const state = answer?.data?.state ?? ''
        if (state.includes('state:executed')) return success?.(answer)
        if (/state:(expired|cancelled|error)/.test(state)) return error?.(answer)
        timer = setTimeout(ask, interval)
      }
      void ask()
      return () => {
        stopped = true
        clearTimeout(timer)
      }
    }

    #follow() {
      // another purchase replaces no order: all of them are followed
      const code = this.#code
      if (!this.#isAnother() || this.#followed?.code === code) this.#followed?.stop()
      const { success, error } = this.options
      let timer
      const fail = (answer) => {
        // while a page opens, this order may be cancelled for one at the cart's new price
        if (performance.now() < (openings.get(this.#purchase()) ?? 0)) {
          timer = setTimeout(fail, 1000, answer)
          return
        }
        // another button of the reference leads to a newer order
        const isReplaced = this.options.orderRef && (this.#remembered() ?? code) !== code
        if (this.#toldCode === code || isReplaced) return
        this.#toldCode = code
        if (this.options.orderRef) this.#remember(TOLD, code)
        this.#forget(code)
        error?.(answer)
      }
      const succeed = (answer) => {
        if (this.#paidCode === code) return
        this.#paidCode = code
        this.#forget(code)
        success?.(answer)
      }
      const unsubscribe = this.subscribeTransaction({ code, success: succeed, error: fail })
      const stop = () => {
        unsubscribe()
        clearTimeout(timer)
      }
      this.#followed = { code, stop }
    }

    /** A message of one of our own frames or windows. */
    receive({ source, data }) {
      if (source !== this.#frame?.contentWindow && !this.#popups.has(source)) return
      if (typeof data !== 'object' || data === null) return
      const key = this.options.tokenKey ?? own.tokenKey ?? 'comptoirToken'
      if (typeof data[key] === 'string') this.#token = data[key]
      if (typeof data.sessionId === 'string') this.#sessionId = data.sessionId
      if (typeof data.conversionCode === 'string') {
        openings.delete(this.#purchase())
        this.#setCode(data.conversionCode)
      }
      if (data.type === 'comptoir:escape') return this.close()
      if (data.type !== 'comptoir:state') return
      if (typeof data.height === 'number' && this.#frame?.classList.contains('comptoir-inline'))
        this.#frame.style.height = `${Math.min(1600, Math.max(320, Math.ceil(data.height)))}px`
      if (typeof data.state === 'string') this.#setState(data.state)
    }

    #setCode(code) {
      const isKnown = this.#code === code
      if (isKnown && this.#toldCode !== code) return
      if (!isKnown) {
        this.#code = code
        this.#state = undefined
        this.#remember('', code)
        this.#tell('order')
      }
      if (this.options.autoSubscribeTransaction) this.#follow()
    }

    #setState(state) {
      if (this.#state === state) return
      const wasDone = isDone(this.#state)
      this.#state = state
      this.#tell('state')
      if (isDone(state) && !wasDone) this.#tell('paid')
      if (isDone(state) || isOver(state)) this.#forget(this.#code)
      else if (this.#code) this.#remember('', this.#code)
      if (!isOver(state) && this.#code && this.#toldCode === this.#code) {
        // it goes on: at a fresh rate, or paid late
        this.#toldCode = undefined
        if (this.#remembered() === this.#code) this.#remember(TOLD, '')
        this.#follow()
      }
    }

    /** `comptoir:order`, `comptoir:state`, `comptoir:paid`, `comptoir:closed` on the element, or on the document. */
    #tell(what) {
      const detail = { code: this.#code, state: this.#state, orderRef: this.options.orderRef }
      const event = new CustomEvent(`comptoir:${what}`, { bubbles: true, detail })
      ;(this.element ?? document).dispatchEvent(event)
    }

    #purchase() {
      return this.options.orderRef ? this.#place('') : this
    }

    /**
     * The order of this tab, so that a reload leads back to it; a browser that keeps nothing starts again. Without a
     * reference, the same thing at the same address of the shop is the same purchase until its order ends.
     */
    #place(kind) {
      const { buttonId, orderRef, price, currency, goods } = this.options
      const purchase = orderRef || [location.pathname + location.search, price, currency, goods?.goodsName].join(' ')
      return `comptoir${kind}:${buttonId}:${purchase}`
    }

    /** A page of its own cannot tell that its order has ended, and a session leads to its order by itself. */
    #isKept() {
      const { orderRef, session, display } = this.options
      return Boolean(orderRef) || (!session && display !== 'page')
    }

    /** An order without a reference has ended: the next click is another purchase. */
    #forget(code) {
      if (!this.options.orderRef && this.#remembered() === code) this.#remember('', '')
    }

    /** Also before a page opens: another button of the same reference may have begun the order. */
    #recall() {
      const code = this.#remembered()
      if (!code || code === this.#code) return
      this.#code = code
      this.#toldCode = this.#remembered(TOLD)
      this.#state = undefined
      if (this.options.autoSubscribeTransaction) this.#follow()
    }

    #remembered(kind = '') {
      if (!this.#isKept()) return undefined
      try {
        // an older script wrote a second code behind the first
        return sessionStorage.getItem(this.#place(kind))?.split(' ')[0] || undefined
      } catch {
        return undefined
      }
    }

    /** An older script, which a browser may still have cached, sends what stands under the first key as the code. */
    #remember(kind, code) {
      if (!this.#isKept()) return
      try {
        sessionStorage.setItem(this.#place(kind), code)
      } catch {
        // storage is off: the code lives as long as the page
      }
    }
  }

  window.addEventListener('message', (event) => {
    if (!ORIGINS.includes(event.origin)) return
    for (const instance of instances) instance.receive(event)
  })

  /** Options of an element: `data-comptoir-order-ref` is `orderRef`. */
  function optionsOf({ dataset }) {
    const options = {}
    for (const [name, value] of Object.entries(dataset)) {
      if (!name.startsWith('comptoir') || name === 'comptoir' || name === 'comptoirReady') continue
      const short = name.slice('comptoir'.length)
      options[short[0].toLowerCase() + short.slice(1)] = value
    }
    const { goodsName, goodsType, goodsCategory, name, ...rest } = options
    const goods = goodsName ? { goods: { goodsName, goodsType, goodsCategory } } : {}
    return { buttonId: dataset.comptoir, buttonName: name, ...rest, ...goods }
  }

  /** Makes buttons of all marked elements that are none yet. */
  function scan(root = document) {
    for (const found of root.querySelectorAll('[data-comptoir], [data-comptoir-session]')) {
      const element = /** @type {HTMLElement} */ (found)
      if (element.dataset.comptoirReady) continue
      element.dataset.comptoirReady = 'yes'
      new BuyButton().init(optionsOf(element), element)
    }
  }

  /** The methods of the newest button stand on the global itself, as older pages call them. */
  let newest = new BuyButton()
  const api = { BuyButton, scan }
  api.init = (options, element) => {
    newest = new BuyButton()
    return newest.init(options, element)
  }
  for (const name of [
    'getButtonUrl',
    'generateSnippet',
    'handleModal',
    'getTransactionCode',
    'subscribeTransaction',
    'removeSession',
    'open',
    'close',
  ])
    api[name] = (...values) => newest[name](...values)
  window.Comptoir = api
  if (own.global) window[own.global] = api
  if (document.readyState === 'loading') document.addEventListener('DOMContentLoaded', () => scan())
  else scan()
})()
