/*
 * Wallets in the payer's browser (EIP-6963, EIP-1193). The pay page loads this file once a wallet announces itself. It
 * pays exactly what the page asks for, with one transfer, or with a signature (EIP-3009) where the payer has no coin
 * for gas and the service has a relayer. What was sent is remembered, so that neither a reload nor another tab offers a
 * second payment; what was signed, until it has run out.
 */
;(() => {
  /** In the language of the page. */
  /** @type {any} */
  const WORDS = '__WORDS__'
  const REJECTED = 4001
  const UNAUTHORIZED = 4100
  const PENDING = -32002
  /** Transfer(address,address,uint256) */
  const TRANSFER = '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef'
  /** As nodes refuse it, before it is sent. */
  const NO_FEE = /insufficient funds|gas required exceeds allowance/i
  const SLOW_MS = 180_000
  /** Between two questions how far the service has read the chain. */
  const ASK_MS = 15_000
  /** Of a signature, where a node of an earlier version does not say it. */
  const USABLE_SECONDS = 660
  /** Answers that need no person. */
  const READ_MS = 20_000
  const READS = ['eth_chainId', 'eth_call', 'eth_getBalance', 'eth_getTransactionReceipt']
  /** How long a request that the wallet has not answered is remembered. */
  const OPEN_MS = 3_600_000
  const live = document.getElementById('live')
  /** By the wallet's own id. */
  const wallets = new Map()
  /**
   * `asking`: what the wallet was asked for, "reading", "signing" or "sending"; "submitting" while we pass it on.
   * `follows`: the run in which the receipt is waited for; -1: none.
   */
  const state = { run: 0, follows: -1, asking: '', text: '', warns: false, wallet: '' }
  const isHeld = () => state.asking !== '' && state.asking !== 'reading'

  /** Why the payer cannot go on, by its key in the words. */
  class Stop extends Error {
    constructor(key, values = {}) {
      super(key)
      this.values = values
    }
  }

  const panel = () => document.getElementById('wallet')
  const order = () => JSON.parse(panel()?.dataset.pay ?? 'null')
  const word = (value) => value.toString(16).padStart(64, '0')
  const addressWord = (address) => address.slice(2).toLowerCase().padStart(64, '0')
  const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms))
  /** As people of the page's language write it. USDC has 6 decimals. */
  const decimal = (units) => {
    const digits = { minimumFractionDigits: 2, maximumFractionDigits: 6 }
    return new Intl.NumberFormat(document.documentElement.lang, digits).format(Number(units) / 1e6)
  }

  /* ---- what was sent ---- */

  const keyOf = ({ code }) => `comptoir:sent:${code}`
  const placeOf = ({ to, token, units, chain, name, explorer }) => ({ to, token, units, chain, name, explorer })
  const isOtherChain = (asked, { chain = asked.chain }) => chain !== asked.chain
  /** The order asks for no such transfer any more: a fresh price, another network, or a part that came meanwhile. */
  const isElsewhere = (asked, sent) => sent.to !== asked.to || sent.units !== asked.units || isOtherChain(asked, sent)
  /** The wallet may take minutes to answer; `at` is when it was asked, the only time that earlier versions keep. */
  const sentAtOf = ({ sentAt, at }) => sentAt ?? at
  /**
   * A transaction of a smart account is in a block also where what it was asked to do has failed. A log of the token
   * tells, whoever sent the transaction; some wallets give no logs, or an empty list.
   */
  const paysIn = ({ logs }, { to, token, units }) =>
    !Array.isArray(logs) ||
    logs.length === 0 ||
    logs.some(
      ({ address = '', topics = [], data = '' }) =>
        (!token || address.toLowerCase() === token.toLowerCase()) &&
        topics[0] === TRANSFER &&
        topics[2]?.toLowerCase() === `0x${addressWord(to)}` &&
        data.toLowerCase() === `0x${word(BigInt(units))}`,
    )
  /** How far the service has read each chain: its newest block, and when that was, by this clock; or `removed`. */
  const reads = new Map()
  let askedAt = 0
  async function askRead({ chain = order()?.chain }) {
    askedAt = Date.now()
    const url = new URL(`read?network=${chain}`, new URL(live.dataset.wallet, location.href))
    const answer = await fetch(url, { signal: AbortSignal.timeout?.(READ_MS) }).catch(() => null)
    const read = answer?.ok && (await answer.json().catch(() => null))
    if (read) reads.set(chain, { ...read, at: Date.now() - read.ageMs })
  }
  const readOf = ({ chain = order()?.chain }) => reads.get(chain)
  /** The service reads the chain no more: whether the money came is for people to find out. */
  const isUnread = (sent) => readOf(sent)?.removed === true
  const isRead = ({ chain, block = 0, minedAt = 0 }) => {
    const read = readOf({ chain })
    return read !== undefined && (block ? read.block >= block : read.at > minedAt)
  }
  /** What came within three minutes of sending is counted, and the service is not behind with what came since. */
  const isReadUntilNow = (sent) =>
    isRead({ chain: sent.chain, minedAt: sentAtOf(sent) + SLOW_MS }) && readOf(sent).ageMs <= SLOW_MS
  /** By now the order has counted what is in a block, and asks for what is then missing. */
  const isCounted = (sent) => (sent.mined || sent.empty) && Date.now() - (sent.minedAt ?? 0) > SLOW_MS && isRead(sent)
  /** What this page could not give the browser to keep: blocked, or full. */
  const kept = new Map()
  /** What was sent, or with `open` what the wallet was asked to send and has not answered. */
  function recall(asked) {
    try {
      const known = JSON.parse(kept.get(keyOf(asked)) ?? localStorage.getItem(keyOf(asked)) ?? 'null')
      return known && isElsewhere(asked, known) && isCounted(known) ? null : known
    } catch {
      return null
    }
  }
  const recallSent = (asked) => {
    const known = recall(asked)
    return known?.open ? null : known
  }
  function remember(asked, sent) {
    const key = keyOf(asked)
    kept.delete(key)
    try {
      if (sent) localStorage.setItem(key, JSON.stringify(sent))
      else localStorage.removeItem(key)
    } catch {
      if (sent) kept.set(key, JSON.stringify(sent))
    }
  }

  /* ---- what the panel shows ---- */

  const fill = (text, values) => text.replace(/\{(\w+)\}/g, (whole, name) => values[name] ?? whole)

  function tell(key, values = {}, warns = false) {
    const asked = order() ?? {}
    const wallet = state.wallet || WORDS.unnamed
    const text = fill(WORDS[key], { wallet, network: asked.name, amount: asked.amount, coin: asked.coin, ...values })
    state.text = text.charAt(0).toUpperCase() + text.slice(1)
    state.warns = warns
    draw()
  }

  function element(tag, properties, ...children) {
    const made = Object.assign(document.createElement(tag), properties)
    made.append(...children)
    return made
  }

  function walletButton(wallet) {
    const children = []
    if (wallet.icon?.startsWith('data:image/'))
      children.push(element('img', { src: wallet.icon, alt: '', width: 32, height: 32 }))
    children.push(element('b', { textContent: fill(WORDS.pay, { wallet: wallet.name || WORDS.unnamed }) }))
    const button = element('button', { type: 'button', className: 'choice', disabled: isHeld() }, ...children)
    button.dataset.uuid = wallet.uuid
    button.addEventListener('click', () => void pay(wallet))
    return button
  }

  function transactionLine(asked, sent) {
    const { hash } = sent
    if (!hash) return ''
    const { explorer } = sent.chain || isElsewhere(asked, sent) ? sent : asked
    const label = explorer
      ? element('a', { href: `${explorer}/tx/${hash}`, rel: 'noopener noreferrer', textContent: hash })
      : element('span', { textContent: hash })
    label.className = 'mono'
    return element('p', { className: 'hint goods' }, `${WORDS.transaction}: `, label)
  }

  /** What is signed can be carried out until it runs out, whatever the wallet says. */
  const mayRetry = (asked, sent) => {
    if (isUnread(sent)) return false
    // the order still asks for the same: what is in the block, if it is still there, has not paid it
    if (sent.mined || sent.empty) return isCounted(sent)
    if (sent.until) return Date.now() > sent.until && isRead({ chain: sent.chain, minedAt: sent.until })
    return isOtherChain(asked, sent) || isReadUntilNow(sent)
  }
  /** What the payer reads about it: a key of the words, its values, whether it warns. */
  const wordsOf = (sent) => {
    const asked = order() ?? sent
    const values = { network: sent.name ?? asked.name }
    if (isUnread(sent)) {
      const { shop = location.host, reference = asked.code } = asked
      return ['unread', { ...values, sum: decimal(sent.units), to: sent.to, shop, order: reference }, true]
    }
    if (sent.empty || isCounted(sent)) return ['uncounted', values, true]
    if (sent.mined) return ['sent', values]
    if (sent.until && mayRetry(asked, sent)) return ['lapsed', values, true]
    if (!isElsewhere(asked, sent) && Date.now() - sentAtOf(sent) < SLOW_MS) return ['sending', values]
    const isUsable = sent.until && Date.now() <= sent.until
    return isUsable ? ['underway', { ...values, time: clockTime(sent.until) }, true] : ['slow', values, true]
  }

  function contactLine({ reference, email, phone }) {
    const mail = email && `mailto:${encodeURIComponent(email)}?subject=${encodeURIComponent(reference)}`
    const links = [
      [mail, email],
      [phone && `tel:${phone.replace(/[^+\d]/g, '')}`, phone],
    ].filter(([href]) => href)
    return element(
      'p',
      { className: 'contact' },
      ...links.map(([href, text]) => element('a', { href, textContent: text })),
    )
  }

  function retryButton(asked, sent) {
    const textContent = sent.until ? WORDS.again : WORDS.retry
    const button = element('button', { type: 'button', className: 'button wide', textContent })
    button.addEventListener('click', () => {
      remember(asked, null)
      state.text = ''
      draw()
    })
    return button
  }

  /** A wallet that answers nothing must not keep the payer. */
  function stopButton() {
    const button = element('button', { type: 'button', className: 'button wide', textContent: WORDS.stop })
    button.addEventListener('click', () => {
      // a signature that comes now is not used; a transfer may have been sent
      const key = state.asking === 'sending' ? 'unsure' : 'failed'
      state.run += 1
      state.asking = ''
      tell(key, {}, true)
    })
    return button
  }

  /** When it should have been counted, or could no longer come; at once where the payer may pay on another network. */
  function dueAtOf(asked, sent) {
    const { mined, empty, minedAt = 0, until } = sent
    if (mined || empty) return minedAt + SLOW_MS
    return until ?? (isOtherChain(asked, sent) ? 0 : sentAtOf(sent) + SLOW_MS)
  }
  /** Nothing else tells when what was sent should have been counted. */
  let redrawing
  function redrawOnce(asked, known) {
    clearTimeout(redrawing)
    if (!known || (mayRetry(asked, known) && readOf(known))) return
    const dueAt = Math.max(dueAtOf(asked, known), askedAt + ASK_MS)
    redrawing = setTimeout(
      async () => {
        await askRead(known)
        if (!panel() || state.asking !== '') return draw()
        const sent = recallSent(order())
        if (sent) return tell(...wordsOf(sent))
        state.text = ''
        draw()
      },
      Math.max(0, dueAt - Date.now()) + 1,
    )
  }

  function draw() {
    const root = panel()
    if (!root) return
    const asked = order()
    const sent = recallSent(asked)
    redrawOnce(asked, sent)
    const focus = /** @type {any} */ (document.activeElement)?.closest?.('#wallet button')?.dataset.uuid
    const buttons = sent
      ? mayRetry(asked, sent)
        ? [retryButton(asked, sent)]
        : []
      : asked.closed
        ? []
        : [...wallets.values()].map(walletButton)
    const status = element('p', { className: state.warns ? 'note' : 'hint', textContent: state.text })
    status.setAttribute('role', 'status')
    // the code asks for the same money again
    root.className = sent ? 'sent' : ''
    const stop = !sent && (state.asking === 'signing' || state.asking === 'sending') ? [stopButton()] : []
    const line = sent ? [transactionLine(asked, sent)] : []
    const contact = sent && isUnread(sent) ? [contactLine(asked)] : []
    root.replaceChildren(...buttons, ...(state.text ? [status] : []), ...stop, ...line, ...contact)
    if (focus) /** @type {any} */ (root.querySelector(`[data-uuid="${CSS.escape(focus)}"]`))?.focus()
  }

  /* ---- one payment ---- */

  const codeOf = (error) => error?.code ?? error?.data?.originalError?.code
  /** Only the wallet knows: it may take the fee in another coin, or have it paid by its maker. */
  const saysNoFee = (error) =>
    [error, error?.data, error?.data?.originalError].some((one) => NO_FEE.test(one?.message ?? ''))

  function stopOf(error, asking) {
    if (error instanceof Stop) return error
    const code = codeOf(error)
    if (code === REJECTED || code === 'ACTION_REJECTED') return new Stop('rejected')
    if (code === PENDING || code === UNAUTHORIZED) return new Stop('locked')
    return new Stop(asking)
  }

  /** Brings the wallet to the order's chain; one that does not know it is told. */
  async function reachNetwork(ask, asked) {
    const isThere = async () => Number(await ask('eth_chainId')) === asked.chain
    if (await isThere()) return
    tell('switching')
    const chainId = `0x${asked.chain.toString(16)}`
    const change = () => ask('wallet_switchEthereumChain', [{ chainId }])
    try {
      await change()
    } catch (error) {
      if (codeOf(error) === REJECTED) throw new Stop('wrongNetwork')
      if (codeOf(error) === PENDING) throw error
      if (!asked.rpc) throw new Stop('unknownNetwork')
      const nativeCurrency = { name: asked.coin, symbol: asked.coin, decimals: 18 }
      const chain = { chainId, chainName: asked.name, nativeCurrency, rpcUrls: [asked.rpc] }
      const blockExplorerUrls = asked.explorer && [asked.explorer]
      await ask('wallet_addEthereumChain', [{ ...chain, ...(blockExplorerUrls && { blockExplorerUrls }) }]).catch(
        (refused) => {
          throw new Stop(codeOf(refused) === REJECTED ? 'wrongNetwork' : 'unknownNetwork')
        },
      )
      // adding switches in most wallets, not in all
      if (!(await isThere())) await change().catch(() => {})
    }
    if (!(await isThere())) throw new Stop('wrongNetwork')
  }

  const clockTime = (ms) =>
    new Intl.DateTimeFormat(document.documentElement.lang, { timeStyle: 'short' }).format(new Date(ms))

  /**
   * A failure on the way leaves open whether it arrived. `until`: an earlier signature for this order can be carried
   * out until then, so this one was not taken.
   */
  async function post(path, fields) {
    const token = /** @type {any} */ (document.querySelector('[name=token]'))?.value ?? ''
    const body = new URLSearchParams({ ...fields, token })
    const url = new URL(path, new URL(live.dataset.wallet, location.href))
    const answer = await fetch(url, { method: 'POST', body }).catch(() => null)
    if (answer?.ok) return answer.json()
    const seconds = answer?.status === 409 && Number(answer.headers.get('retry-after'))
    if (seconds) return { outcome: 'underway', until: Date.now() + 1000 * seconds }
    return { outcome: answer && answer.status < 500 ? 'refused' : 'pending' }
  }

  /** @returns what was submitted; null when this wallet cannot sign so, and has to send */
  async function payBySignature(ask, asked, from) {
    const fields = { code: asked.code, network: String(asked.chain), from }
    const made = await post('authorization', fields)
    if (made.outcome === 'underway') throw new Stop('underway', { time: clockTime(made.until) })
    if (!made.typedData) return null
    const until = Date.now() + 1000 * (made.usableSeconds ?? USABLE_SECONDS)
    state.asking = 'signing'
    tell('signing')
    const signature = await ask('eth_signTypedData_v4', [from, JSON.stringify(made.typedData)])
    // contract wallets sign in another form, which the relayer cannot use
    if (!/^0x[0-9a-f]{130}$/i.test(signature)) return null
    const { validBefore, nonce, value } = made.typedData.message
    const sent = { ...placeOf(asked), hash: '', at: Date.now(), until }
    state.asking = 'submitting'
    remember(asked, sent)
    tell('sending')
    const result = await post('authorization/submit', { ...fields, validBefore, nonce, value, signature })
    if (result.outcome === 'refused') {
      remember(asked, null)
      throw new Stop('refused')
    }
    if (result.outcome === 'underway') return { ...sent, until: result.until }
    const mined = result.outcome === 'done'
    return { ...sent, hash: result.txHash ?? '', mined, ...(mined && { minedAt: Date.now() }) }
  }

  async function payByTransfer(ask, asked, { from, coins }) {
    const data = `0xa9059cbb${addressWord(asked.to)}${word(BigInt(asked.units))}`
    const mark = { ...placeOf(asked), at: Date.now() }
    // a phone may close the page while its wallet is in front; what is sent then is never told to it
    remember(asked, { ...mark, wallet: state.wallet, open: true })
    state.asking = 'sending'
    tell('confirming')
    try {
      const hash = await ask('eth_sendTransaction', [{ from, to: asked.token, data, value: '0x0' }])
      return { ...mark, hash, sentAt: Date.now() }
    } catch (error) {
      const isNoFee = codeOf(error) !== REJECTED && coins === 0n && saysNoFee(error)
      const stop = isNoFee ? new Stop('noFee') : stopOf(error, 'unsure')
      const isNothing = stop.message === 'rejected' || stop.message === 'noFee'
      if (isNothing && recall(asked)?.at === mark.at) remember(asked, null)
      throw stop
    }
  }

  /** Waits for the receipt, which says whether the payment is in a block. */
  async function follow(ask, sent) {
    const { run } = state
    state.follows = run
    /** Until the page asks for no money, or the payer pays again. */
    const isShown = () => run === state.run && panel() && recall(order())?.at === sent.at
    let said = wordsOf(sent)
    tell(...said)
    while (!sent.mined && !sent.empty && isShown()) {
      const receipt = sent.hash && (await ask('eth_getTransactionReceipt', [sent.hash]).catch(() => null))
      if (!isShown()) break
      if (receipt && Number(receipt.status) === 0) {
        remember(order(), null)
        tell('reverted', {}, true)
        break
      }
      if (receipt) {
        // what was signed is carried out by our relayer, which asks for nothing else
        const isPaid = sent.until || paysIn(receipt, sent)
        const place = { block: Number(receipt.blockNumber ?? 0), minedAt: Date.now() }
        remember(order(), { ...sent, ...place, ...(isPaid ? { mined: true } : { empty: true }) })
        tell(isPaid ? 'sent' : 'uncounted', { network: sent.name ?? order().name }, !isPaid)
        break
      }
      await pause(1500)
      if (wordsOf(sent)[0] === said[0] || !isShown()) continue
      said = wordsOf(sent)
      tell(...said)
    }
    if (state.follows === run) state.follows = -1
  }

  async function readAccount(ask, asked) {
    tell('connecting')
    const [from] = await ask('eth_requestAccounts')
    if (!from) throw new Stop('locked')
    await reachNetwork(ask, asked)
    const balance = await ask('eth_call', [{ to: asked.token, data: `0x70a08231${addressWord(from)}` }, 'latest'])
    if (!/^0x[0-9a-f]+$/i.test(balance)) throw new Stop('wrongNetwork')
    if (BigInt(balance) < BigInt(asked.units)) throw new Stop('tooLittle', { have: decimal(BigInt(balance)) })
    return { from, coins: BigInt(await ask('eth_getBalance', [from, 'latest'])) }
  }

  /** Fails where a wallet does not answer what needs no person. */
  const askerOf =
    ({ provider }) =>
    (method, params = []) => {
      const answer = provider.request({ method, params })
      if (!READS.includes(method)) return answer
      const silence = pause(READ_MS).then(() => Promise.reject(new Stop('failed')))
      return Promise.race([answer, silence])
    }

  async function pay(wallet) {
    if (isHeld()) return
    const asked = order()
    if (recallSent(asked)) return draw()
    state.run += 1
    const mine = state.run
    state.wallet = wallet.name
    state.asking = 'reading'
    const ask = askerOf(wallet)
    /** Another wallet may be chosen until this one is asked to pay, and the payer may stop waiting for it. */
    const isOver = () => mine !== state.run
    const askInTime = async (...call) => {
      const answer = await ask(...call)
      if (isOver() || recallSent(asked)) throw new Stop('')
      return answer
    }
    try {
      const account = await readAccount(askInTime, asked)
      if (JSON.stringify(order()) !== JSON.stringify(asked)) throw new Stop('changed')
      const canSign = account.coins === 0n && asked.gasless
      const signed = canSign ? await payBySignature(askInTime, asked, account.from) : null
      // also what comes after the payer stopped waiting: the money is gone
      const sent = signed ?? (await payByTransfer(ask, asked, account))
      remember(asked, sent)
      state.run += 1
      state.asking = ''
      await follow(ask, sent)
    } catch (error) {
      const { message, values } = stopOf(error, 'failed')
      if (!message || (isOver() && state.asking !== '')) return
      state.asking = ''
      tell(message, values, true)
    }
  }

  /* ---- finding wallets ---- */

  function add({ uuid, name, icon }, provider) {
    if (wallets.has(uuid) || typeof provider?.request !== 'function') return
    wallets.set(uuid, { uuid, name: String(name).slice(0, 40), icon, provider })
    draw()
  }
  addEventListener(
    'eip6963:announceProvider',
    (/** @type {any} */ { detail }) => detail?.info && add(detail.info, detail.provider),
  )
  dispatchEvent(new Event('eip6963:requestProvider'))
  // wallets from before EIP-6963
  setTimeout(
    () => wallets.size === 0 && window.ethereum && add({ uuid: 'injected', name: '', icon: '' }, window.ethereum),
    300,
  )

  /* ---- what was sent before, or in another tab ---- */

  function resume() {
    const asked = order()
    const known = asked && recall(asked)
    if (!known) return draw()
    if (known.open) {
      if (Date.now() - known.at >= OPEN_MS) return
      state.wallet = known.wallet
      return tell('unsure', {}, true)
    }
    const first = () => [...wallets.values()][0]
    const ask = async (method, params) => (first() ? askerOf(first())(method, params) : null)
    void follow(ask, known)
  }

  addEventListener('storage', ({ key }) => {
    const asked = order()
    if (!asked || key !== keyOf(asked)) return
    // this tab's own transfer cannot be called back
    if (state.asking === 'sending' || state.asking === 'submitting') return draw()
    // what this tab read or has signed is not used
    state.run += 1
    state.asking = ''
    state.text = ''
    resume()
  })

  /** A page that asks for money again, such as after a fresh price, says what is still under way. */
  const redraw = () => (state.follows < 0 && panel() && recallSent(order()) && !isHeld() ? resume() : draw())
  new MutationObserver(redraw).observe(live, { childList: true })
  resume()
})()
