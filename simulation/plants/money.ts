import { type Edit, one, type Plant } from './plant.ts'

const FORGOTTEN_LOSS: Edit = {
  file: 'src/ledger/payable-queries.ts',
  find: "kind = 'orphaned' and status = 'open'",
  replace: "kind = 'orphaned' and status = 'never'",
}

/** What arrives, counts, leaves and is settled. */
export const MONEY: readonly Plant[] = [
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
    ...{ name: 'foreign-chain-believed', number: 4, story: 'foreignNode', times: 4 },
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
    edits: one(
      'src/chain/hearing/receipts.ts',
      '=> suspect(logsBloom, asked, logs)',
      "=> (logs ? 'none' : suspect(logsBloom, asked, logs))",
    ),
  },
  {
    ...{ name: 'agreement-outvotes-header', number: 4, story: 'emptyLogs' },
    fault: 'two nodes that both find nothing are believed against the block’s header',
    edits: one(
      'src/chain/hearing/receipts.ts',
      "&& !isStrong) return { logs, lacks: 'nothing' }",
      "&& (!isStrong || block.hash !== '')) return { logs, lacks: 'nothing' }",
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
      {
        file: 'src/orders/order-jobs.ts',
        find: '{ chains, after, limit: BATCH, heldUntil }',
        replace: '{ chains: [], after, limit: BATCH, heldUntil }',
      },
      { file: 'src/orders/order-jobs.ts', find: 'await beforeEnd(due)', replace: 'due' },
    ],
  },
  {
    ...{ name: 'refund-without-cover', number: 6, story: 'settledFirst' },
    fault: 'a refund after the settlement makes the company owe the operator',
    edits: one('src/refunds/refund-cover.ts', 'if (most >= units) return null', 'if (most >= -units) return null'),
  },
  {
    ...{ name: 'lease-not-renewed', number: 5, story: 'slowChain', nodes: 20 },
    fault: 'two nodes take a chain that they read slowly from each other, and no payment is seen',
    edits: one('src/chain/scanner.ts', 'setInterval(renew, leaseMs / 3)', 'setInterval(() => renew, leaseMs / 3)'),
  },
  {
    ...{ name: 'trouble-stays', number: 5, story: 'foreignNode' },
    fault: 'trouble that one node recorded is not taken back by the node that reads the chain after it',
    edits: one('src/chain/scanner.ts', 'this.trouble = lease?.trouble ?? null\n', '\n'),
  },
  {
    ...{ name: 'lag-invisible', number: 5, story: 'chainAway' },
    fault: 'no metric says that a chain is not read any more',
    edits: one('src/chain/open-chains.ts', 'Math.max(0, lagSeconds)', 'Math.min(0, lagSeconds)'),
  },
  {
    ...{ name: 'offered-without-chain', number: 5, story: 'chainAway' },
    fault: 'payers are sent to a chain that is not read',
    edits: one('src/chain/chain-health.ts', 'if (lag > maxLagSeconds)', 'if (lag > 1000 * maxLagSeconds)'),
  },
  {
    ...{ name: 'gap-stays', number: 0, story: 'refundUndone' },
    fault: 'an account nonce that no payout keeps any more stops all payouts after it',
    edits: one(
      'src/chain/payout/account-nonces.ts',
      'if (!(await isRelayerNonceKept(',
      'if (count < 0n && !(await isRelayerNonceKept(',
    ),
  },
  {
    ...{ name: 'undone-forgotten', number: 0, story: 'refundUndone' },
    fault: 'a refund that left the chain after it was final is not sent again',
    edits: one('src/assembly/money-checks.ts', "'payouts.recheck', HOUR", "'payouts.recheck', 1000 * HOUR"),
  },
]
