import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ORDER_STATUSES, type OrderStatus, TRANSITIONS } from '../src/orders/order-states.ts'
import { DEFAULT_EVENTS, EVENTS } from '../src/webhooks/events.ts'

const ROOT = join(import.meta.dirname, '..')

const MEANINGS: Record<OrderStatus, string> = {
  INITIAL: 'created, no payment channel chosen',
  PENDING: 'a channel was chosen; its provider is being asked',
  AWAITING: 'the payer has what he needs; nothing, or too little, has arrived',
  PAID: 'the full payment is final',
  CANCELLED: 'given up by the merchant or the payer',
  ERROR: 'the provider reported a definite failure',
  REFUNDING: 'a refund was started and is not settled',
  REFUNDED: 'a part was refunded',
  FULL_REFUNDED: 'all was refunded',
  EXPIRED: 'not paid in time',
  WAITING_CHAIN_CONFIRMATION: 'the full payment is on the chain, not final',
  KYT_FAILED: 'the payer’s wallet did not pass the screening',
}

const PICTURE = `
                 ┌───────── accept again ─────────┐
                 ▼                                │
  INITIAL ──▶ PENDING ──▶ AWAITING ◀──▶ WAITING_CHAIN_CONFIRMATION
     │           │           │  │              │        │
     │           │           │  └─────┬────────┘        │
     └───────────┴─────┬─────┘        ▼                 ▼
                       ▼             PAID ◀─┐       KYT_FAILED
        CANCELLED  EXPIRED  ERROR     │     │
             └────────┴───────┘       ▼     │
                 │  late money    REFUNDING ┴──▶ REFUNDED, FULL_REFUNDED
                 └──────────────▶ PAID
`

type Row = { from: readonly OrderStatus[]; to: OrderStatus; event: string | null; means: string }

const code = (words: readonly string[]): string => words.map((word) => `\`${word}\``).join(', ')

function printStates(): string {
  const rows = Object.entries(TRANSITIONS as Record<string, Row>).map(
    ([trigger, { from, to, event, means }]) =>
      `| \`${trigger}\` | ${code(from)} | \`${to}\` | ${event === null ? '–' : `\`${event}\``} | ${means} |`,
  )
  const states = ORDER_STATUSES.map((status) => `| \`${status}\` | ${MEANINGS[status]} |`)
  const optional = EVENTS.filter((event) => !(DEFAULT_EVENTS as readonly string[]).includes(event))
  return `# Order states

Printed from \`src/orders/order-states.ts\` by \`npm run docs\`; do not edit.
\`transitionOrder\` (\`src/orders/order-transition.ts\`) is the only function that moves an order. It checks this table and writes
the status, the history and the webhook in one transaction.
\`\`\`text${PICTURE}\`\`\`

| trigger | from | to | webhook | what happened |
|---|---|---|---|---|
| \`create\` | – | \`INITIAL\` | \`order.initial\` | a valid request |
${rows.join('\n')}

| state | meaning |
|---|---|
${states.join('\n')}

Every account is sent ${code(DEFAULT_EVENTS)}. The operator can enable ${code(optional)}.
`
}

/** Documents that follow from the code, by file. */
export const printDocs = (): Record<string, string> => ({ 'docs/order-states.md': printStates() })

if (process.argv[1] === import.meta.filename) {
  for (const [file, text] of Object.entries(printDocs())) {
    writeFileSync(join(ROOT, file), text)
    process.stdout.write(`${file}\n`)
  }
}
