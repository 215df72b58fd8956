import { one, type Plant } from './plant.ts'

/** What providers say, take and refuse. */
export const PROVIDERS: readonly Plant[] = [
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
      "fieldOf(body, order, 'memo') !== undefined",
      'false',
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
    ...{ name: 'lost-answer-refunds-twice', number: 9, story: 'refundUnderWay', times: 12 },
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
    ...{ name: 'circuit-sticks', number: 10, story: 'refusedKey', nodes: 1 },
    fault: 'a trial that failed leaves its circuit half-open for ever',
    edits: [
      {
        file: 'src/kernel/circuit.ts',
        find: '&& isRecent(this.#trial.startedAt, TRIAL_MS, now)',
        replace: '&& now > 0',
      },
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
      'this.#paused = { atMs: this.#clock(), forMs: pauseMs }',
      "this.#paused = { atMs: this.#clock(), forMs: cause === 'credentials' ? Number.MAX_SAFE_INTEGER : pauseMs }",
    ),
  },
  {
    ...{ name: 'offered-in-francs', number: 9, story: 'noDecimals' },
    fault: 'Crypto.com: offered for a price in XPF, which it then refuses',
    edits: one('src/channels/cryptopay/adapter.ts', 'assertTaken(payment, values)', 'void payment'),
  },
  {
    ...{ name: 'currency-left-out', number: 9, story: 'paymentCurrency' },
    fault: 'Coinbase: a preset amount is sent without the payer’s currency, and refused',
    edits: one(
      'src/channels/coinbase/onramp.ts',
      "paymentCurrency: PAYMENT_CURRENCIES.includes(fiat.asset) ? fiat.asset : 'EUR',",
      '',
    ),
  },
  {
    ...{ name: 'closed-word-unknown', number: 9, story: 'closedAtGate' },
    fault: 'Gate Pay: its word for an order that we closed is not known, and the payment stays open',
    edits: one('src/channels/gatepay/adapter.ts', "'CANCELLED,CANCELED,CANCEL,CLOSED,CLOSE'", "''"),
  },
  {
    ...{ name: 'beside-forgotten', number: 9, story: 'consoleRefund' },
    fault: 'Binance: what left from its console beside our refund is not booked',
    edits: one(
      'src/refunds/foreign/foreign-refund.ts',
      'const isBookable = isCertain',
      'const isBookable = foreign < 0n && isCertain',
    ),
  },
  {
    ...{ name: 'late-at-gate', number: 9, story: 'paidAfterClose' },
    fault: 'Gate Pay: money that comes after we closed an order is recorded nowhere',
    edits: one('src/channels/gatepay/status-map.ts', 'units === 0n ? []', 'units >= 0n ? []'),
  },
  {
    ...{ name: 'version-of-example', number: 9, story: 'shopAtKucoin' },
    fault: 'KuCoin: the version header is that of an old example',
    edits: one('src/channels/kucoinpay/settings.ts', "'3.8.1'", "'1.0'"),
  },
  {
    ...{ name: 'shop-unnamed', number: 9, story: 'shopAtKucoin' },
    fault: 'KuCoin: it is not told which shop sells',
    edits: one('src/channels/kucoinpay/settings.ts', "not sent', 'shop'", "not sent', 'none'"),
  },
  {
    ...{ name: 'circuit-unseen', number: 10, story: 'refusedKey' },
    fault: 'no metric says that a provider refuses our key',
    edits: one('src/channels/channel-metrics.ts', "state === 'open' ? 1 : 0", "state === 'open' ? 0 : 0"),
  },
]
