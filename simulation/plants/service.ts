import { one, type Plant } from './plant.ts'

/** Prices, webhooks, nodes and the service itself. */
export const SERVICE: readonly Plant[] = [
  {
    ...{ name: 'prices-apart', number: 11, story: 'pricesApart' },
    fault: 'two price sources 4 % apart pass a limit of 2 %',
    edits: one('src/rates/rate-median.ts', '> low * BigInt(percent)', '> low * BigInt(3 * percent)'),
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
    edits: one('src/payments/report-case.ts', "payment.channel !== 'crypto' ||", "payment.channel !== '' ||"),
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
      { file: 'src/kernel/xpub.ts', find: '/^[a-z]prv/i.test(part) || ', replace: '' },
      { file: 'src/kernel/xpub.ts', find: "if (!text.startsWith('xpub'))", replace: "if (text === '')" },
      { file: 'src/kernel/xpub.ts', find: 'key.privateKey !== null || ', replace: '' },
    ],
  },
  {
    ...{ name: 'lost-connection-ends-node', number: 0, story: 'buy', needsFaults: true, times: 900 },
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
  {
    ...{ name: 'link-price-kept', number: 11, story: 'staleLink' },
    fault: 'a link keeps its first price for a month',
    edits: one('src/payments/accept/requote.ts', 'await isLinkStale(deps, deps.db, order, ask)', 'false'),
  },
  {
    ...{ name: 'old-price-pays', number: 11, story: 'staleLink' },
    fault: 'what goes to a link’s old address pays it at the old price',
    edits: one(
      'src/payments/payment-rules.ts',
      'return dueUnits < to.units || isLower ? to.units : dueUnits',
      'return isLower ? to.units : dueUnits',
    ),
  },
  {
    ...{ name: 'part-repriced', number: 11, story: 'partOfLink' },
    fault: 'a link that is paid in part takes a new price',
    edits: [
      {
        file: 'src/payments/accept/requote.ts',
        find: "if (!wanted || (reason === 'link' && (await existsMoney(deps.db, order, deps.dustUnits, reason)))) return null",
        replace: 'if (!wanted) return null',
      },
      {
        file: 'src/payments/accept/requote.ts',
        find: " || (await existsMoney(tx, order, deps.dustUnits, 'link'))",
        replace: '',
      },
    ],
  },
  {
    ...{ name: 'failed-shown-delivered', number: 0, story: 'receiverDown' },
    fault: 'a webhook that used up its attempts is listed as delivered',
    edits: one('src/webhooks/sender/sender-queries.ts', "and e.outcome <> 'delivered'", "and e.outcome = 'parked'"),
  },
  {
    ...{ name: 'last-attempt-left-out', number: 0, story: 'receiverDown' },
    fault: 'a webhook is given up after four attempts',
    edits: one('src/webhooks/sender/delivery-runner.ts', '[2000, 4000, 8000, 16_000]', '[2000, 4000, 8000]'),
  },
  {
    ...{ name: 'replay-without-failed', number: 0, story: 'receiverDown' },
    fault: 'what a shop missed is not sent again when it asks',
    edits: one('src/webhooks/api/delivery-service.ts', "['failed', 'parked']", "['parked']"),
  },
  {
    ...{ name: 'receiver-unseen', number: 0, story: 'receiverDown' },
    fault: 'no metric says that a shop’s server is down',
    edits: one('src/webhooks/sender/delivery-runner.ts', 'ok: String(result.failure === null)', "ok: 'true'"),
  },
  {
    ...{ name: 'outage-silences-metrics', number: 0, story: 'databaseAway' },
    fault: 'a node without its database serves no metrics at all',
    edits: one('src/db/metrics/stored-gauge.ts', 'find()\n      .catch(() => null)', 'find()'),
  },
  {
    ...{ name: 'dead-node-waits', number: 0, story: 'nodeDies' },
    fault: 'what a dead node was sending waits for nine seconds',
    edits: one('src/webhooks/sender/sender-queries.ts', 'DEAD_AFTER_MS = 5000', 'DEAD_AFTER_MS = 9000'),
  },
]
