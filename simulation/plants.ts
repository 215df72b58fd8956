import { registerHooks } from 'node:module'

type Edit = { file: string; find: string; replace: string }

/** A fault put into the service's source as it is loaded; the files stay as they are. */
export type Plant = {
  name: string
  /** The case of "Money tells one story" that it brings back; 0: another fault. */
  number: number
  fault: string
  /** It shows only when nodes, network and database fail. */
  needsFaults?: boolean
  /** The story that meets it soonest. */
  story: string
  /** How often the story is told, where it draws what happens. */
  times?: number
  /** How many nodes: with one, what it remembers is all there is. */
  nodes?: number
  edits: readonly Edit[]
}

const one = (file: string, find: string, replace: string): readonly Edit[] => [{ file, find, replace }]

const FORGOTTEN_LOSS: Edit = {
  file: 'src/ledger/payable-queries.ts',
  find: "kind = 'orphaned' and status = 'open'",
  replace: "kind = 'orphaned' and status = 'never'",
}

export const PLANTS: readonly Plant[] = [
  {
    ...{ name: 'decided-counts-again', number: 1, story: 'decidedUnder' },
    fault: 'an underpayment that was decided about counts towards the order again',
    edits: one(
      'src/payments/mispayments/standing.ts',
      'units > decided ? units - decided : 0n',
      'units + 0n * decided',
    ),
  },
  {
    ...{ name: 'lost-money-refunded', number: 2, story: 'orphaned' },
    fault: 'money that left the chain after PAID is refunded',
    edits: [
      {
        file: 'src/refunds/refund-cover.ts',
        find: 'if (openLoss === 0n) return',
        replace: 'if (openLoss >= 0n) return',
      },
      FORGOTTEN_LOSS,
    ],
  },
  {
    ...{ name: 'lost-money-settled', number: 2, story: 'lostThenSettled' },
    fault: 'money that left the chain after PAID is settled',
    edits: [FORGOTTEN_LOSS],
  },
  {
    ...{ name: 'loss-after-settlement-forgotten', number: 2, story: 'lossAfterSettlement' },
    fault: 'a company bears a loss after its settlement, and is paid in full all the same',
    edits: one(
      'src/ledger/ledger-service.ts',
      "leg(by === 'operator' ? 'losses' : 'company_payable', units)",
      "leg(by === 'operator' ? 'losses' : 'losses', units)",
    ),
  },
  {
    ...{ name: 'books-asked-late', number: 3, story: 'takenBack' },
    fault: 'what providers say of paid payments is not compared with the books every hour',
    edits: one('src/assembly/money-checks.ts', "'payments.reconcile', HOUR", "'payments.reconcile', 1000 * HOUR"),
  },
  {
    ...{ name: 'foreign-chain-believed', number: 4, story: 'foreignNode' },
    fault: 'a node that serves another chain makes transfers orphans',
    edits: [
      { file: 'src/chain/endpoints/endpoint.ts', find: 'if (answered !== chainId) {', replace: 'if (answered < 0) {' },
      { file: 'src/chain/scan.ts', find: 'if (served !== chainId) throw', replace: 'if (served < 0) throw' },
      { file: 'src/chain/scan.ts', find: 'genesis !== genesisHash)', replace: "genesis === '')" },
    ],
  },
  {
    ...{ name: 'empty-logs-believed', number: 4, story: 'emptyLogs' },
    fault: 'an empty answer is believed although the block’s header shows a transfer',
    edits: one('src/chain/checked-logs.ts', "const sure = suspicion === 'none'", "const sure = suspicion !== 'never'"),
  },
  {
    ...{ name: 'agreement-outvotes-header', number: 4, story: 'emptyLogs' },
    fault: 'two nodes that both find nothing are believed against the block’s header',
    edits: one(
      'src/chain/checked-logs.ts',
      'return strong ? fromReceipts',
      "return strong && block.hash === '' ? fromReceipts",
    ),
  },
  {
    ...{ name: 'late-by-our-clock', number: 5, story: 'lastMinute' },
    fault: 'a payment is late by when it was read, not by its block',
    edits: one('src/channels/crypto/adapter.ts', 'at: transfer.blockAt', 'at: new Date()'),
  },
  {
    ...{ name: 'expired-unread', number: 5, story: 'lastMinute' },
    fault: 'an order expires beyond the time up to which its chain was read',
    edits: [
      { file: 'src/orders/order-jobs.ts', find: '{ chains, limit: BATCH }', replace: '{ chains: [], limit: BATCH }' },
      { file: 'src/orders/order-jobs.ts', find: 'await beforeEnd(listed)', replace: 'listed, unused = beforeEnd' },
    ],
  },
  {
    ...{ name: 'refund-without-cover', number: 6, story: 'settledFirst' },
    fault: 'a refund after the settlement makes the company owe the operator',
    edits: one('src/refunds/refund-cover.ts', 'if (free + fees >= units) return', 'if (free + fees >= -units) return'),
  },
  {
    ...{ name: 'round-waits', number: 7, story: 'hangingProvider' },
    fault: 'a hanging provider holds up the refunds of all others',
    edits: one(
      'src/kernel/polling.ts',
      'if (await start(item)) started += 1',
      'if (await start(item)) { started += 1; await Promise.all(underWay) }',
    ),
  },
  {
    ...{ name: 'lease-too-short', number: 7, story: 'slowRefund' },
    fault: 'a lease ends before the call that it covers: two nodes send one refund',
    edits: one('src/db/polling.ts', 'LEASE_MS = MINUTE', 'LEASE_MS = MINUTE / 20'),
  },
  {
    ...{ name: 'memo-dropped', number: 8, story: 'memo' },
    fault: 'Whitepay: an address is shown without the memo that it needs',
    edits: one(
      'src/channels/whitepay-non-custody/wallet-orders.ts',
      "if (fieldOf(body, order, 'memo')) {",
      "if (fieldOf(body, order, 'memo') === '') {",
    ),
  },
  {
    ...{ name: 'balance-for-deposit', number: 8, story: 'otherCoin', times: 4 },
    fault: 'Whitepay: what reached the balance is taken for what was deposited',
    edits: one(
      'src/channels/whitepay/status-map.ts',
      'sum += units',
      "sum = units > 0n ? (exact(textAt(order.raw, 'received_total')) ?? 0n) : sum",
    ),
  },
  {
    ...{ name: 'refunded-at-request', number: 9, story: 'refundUnderWay' },
    fault: 'Crypto.com: refunded when it was asked for, not when it was transferred',
    edits: one('src/channels/cryptopay/refunds.ts', "isRequested ? 'pending'", "isRequested ? 'settled'"),
  },
  {
    ...{ name: 'lost-answer-refunds-twice', number: 9, story: 'refundUnderWay', times: 4 },
    fault: 'Crypto.com: a refund whose answer was lost is sent again',
    edits: [
      {
        file: 'src/channels/cryptopay/refunds.ts',
        find: 'if (!attempted) return',
        replace: 'if (reference === null) return',
      },
      // the callback would tell in time that it was taken
      {
        file: 'src/channels/cryptopay/refunds.ts',
        find: "refundId: DESCRIPTION.exec(textAt(object, 'description') ?? '')?.[1] ?? null",
        replace: 'refundId: DESCRIPTION.exec(type)?.[1] ?? null',
      },
    ],
  },
  {
    ...{ name: 'last-attempt-for-ever', number: 9, story: 'lastAttempt' },
    fault: 'Binance: the last refund attempt leaves the order REFUNDING for ever',
    edits: one('src/channels/binance/refunds.ts', '|| said < units)', '|| said !== units)'),
  },
  {
    ...{ name: 'decimals-for-francs', number: 9, story: 'noDecimals' },
    fault: 'an amount in a currency without decimals is taken for hundredths',
    edits: one('src/kernel/money.ts', 'XPF: 0', 'XPF: 2'),
  },
  {
    ...{ name: 'circuit-sticks', number: 10, story: 'refusedKey' },
    fault: 'a trial that failed leaves its circuit half-open for ever',
    edits: [
      { file: 'src/kernel/circuit.ts', find: '&& now - this.#trial.startedAt < TRIAL_MS', replace: '&& now > 0' },
      {
        file: 'src/kernel/circuit.ts',
        find: 'if (trial !== null && this.#trial === trial) this.#trial = null',
        replace: 'if (trial === null) this.#trial = null',
      },
    ],
  },
  {
    ...{ name: 'refused-for-ever', number: 10, story: 'refusedKey' },
    fault: 'one refused credential takes a channel away until restart',
    edits: one(
      'src/kernel/circuit.ts',
      'this.#openUntil = this.#clock() + pauseMs',
      "this.#openUntil = cause === 'credentials' ? Number.MAX_SAFE_INTEGER : this.#clock() + pauseMs",
    ),
  },
  {
    ...{ name: 'prices-apart', number: 11, story: 'pricesApart' },
    fault: 'two price sources 4 % apart pass a limit of 2 %',
    edits: one('src/rates/rate-median.ts', '> low * BigInt(percent)', '> low * BigInt(2 * percent)'),
  },
  {
    ...{ name: 'frozen-feed', number: 11, story: 'frozenFeed', nodes: 1 },
    fault: 'a price source that answers and never moves is believed',
    edits: one(
      'src/rates/rate-freshness.ts',
      'return now - since > MAX_SAME_MS[from] ?',
      'return now - since > 1000 * DAY ?',
    ),
  },
  {
    ...{ name: 'dust-locks', number: 11, story: 'dust' },
    fault: 'dust at a deposit address locks the channel',
    edits: one('src/payments/payment-report.ts', "payment.channel !== 'crypto' ||", "payment.channel !== '' ||"),
  },
  {
    ...{ name: 'list-without-total', number: 12, story: 'refund' },
    fault: 'the list of an order’s refunds has a wrong total',
    edits: one('src/refunds/refund-routes.ts', 'ok({ refunds, total, page', 'ok({ refunds, total: limit, page'),
  },
  {
    ...{ name: 'private-key-as-xpub', number: 12, story: 'cancel' },
    fault: 'a private key as xpub does not stop the start',
    edits: [
      { file: 'src/kernel/xpub.ts', find: '/^[a-z]prv/.test(text) || ', replace: '' },
      { file: 'src/kernel/xpub.ts', find: "if (!text.startsWith('xpub'))", replace: "if (text === '')" },
      { file: 'src/kernel/xpub.ts', find: 'key.privateKey !== null || ', replace: '' },
    ],
  },
  {
    ...{ name: 'lost-connection-ends-node', number: 0, story: 'buy', needsFaults: true, times: 100 },
    fault: 'a connection that breaks in the middle of a transaction ends the process',
    edits: one('src/db/db.ts', "client.on('error', noteLost)", ''),
  },
  {
    ...{ name: 'event-without-webhook', number: 0, story: 'cancel' },
    fault: 'an event commits without its delivery',
    edits: one(
      'src/webhooks/outbox/events.ts',
      'isDefault(event) || optionalEvents.includes(event)',
      "!['order.pending', 'order.cancelled'].includes(event) && (isDefault(event) || optionalEvents.includes(event))",
    ),
  },
]

/** From here on the modules are loaded with their fault. @throws Error when the source no longer holds a place */
export function plant(name: string): Plant {
  const found = PLANTS.find((candidate) => candidate.name === name)
  if (!found) throw new Error(`There is no plant "${name}". Plants: ${PLANTS.map((one) => one.name).join(', ')}`)
  registerHooks({
    load(url, context, nextLoad) {
      const loaded = nextLoad(url, context)
      const edits = found.edits.filter(({ file }) => url.endsWith(`/${file}`))
      if (edits.length === 0) return loaded
      let source = String(loaded.source)
      for (const { file, find, replace } of edits) {
        if (source.split(find).length !== 2) throw new Error(`${file} does not hold "${find}" once`)
        source = source.replace(find, () => replace)
      }
      return { ...loaded, source }
    },
  })
  return found
}
