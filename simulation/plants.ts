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
  edits: readonly Edit[]
}

const one = (file: string, find: string, replace: string): readonly Edit[] => [{ file, find, replace }]

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
    ...{ name: 'balance-for-deposit', number: 8, story: 'otherCoin' },
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
    ...{ name: 'lost-answer-refunds-twice', number: 9, story: 'refundUnderWay' },
    fault: 'Crypto.com: a refund whose answer was lost is sent again',
    edits: one('src/channels/cryptopay/refunds.ts', 'if (!attempted) return', 'if (reference === null) return'),
  },
  {
    ...{ name: 'last-attempt-for-ever', number: 9, story: 'lastAttempt' },
    fault: 'Binance: the last refund attempt leaves the order REFUNDING for ever',
    edits: one('src/channels/binance/refunds.ts', '|| said < units)', '|| said !== units)'),
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
    ...{ name: 'lost-connection-ends-node', number: 0, story: 'buy', needsFaults: true },
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
