import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { ChannelKind, Setting } from '../src/channels/kind.ts'
import { CHANNEL_KINDS } from '../src/channels/kinds.ts'
import { printExample } from '../src/config/example.ts'
import { USER_ROLES } from '../src/http/actor.ts'
import { PERMISSIONS, type Rule } from '../src/http/permissions.ts'
import { ORDER_STATUSES, type OrderStatus, TRANSITIONS } from '../src/orders/order-states.ts'
import { DEFAULT_EVENTS, EVENTS } from '../src/webhooks/outbox/events.ts'
import { printPages } from './print-pages.ts'

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

type Row = { from: readonly OrderStatus[]; to: OrderStatus; event: string | null; description: string }

const code = (words: readonly string[]): string => words.map((word) => `\`${word}\``).join(', ')

function printStates(): string {
  const rows = Object.entries(TRANSITIONS as Record<string, Row>).map(
    ([trigger, { from, to, event, description }]) =>
      `| \`${trigger}\` | ${code(from)} | \`${to}\` | ${event === null ? '–' : `\`${event}\``} | ${description} |`,
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

const cell = (text: string): string => text.replaceAll('|', '\\|')

function fallbackOf({ fallback }: Setting): string {
  if (fallback === undefined) return '**required**'
  return fallback === '' ? 'empty' : cell(code([fallback]))
}

const printSetting = (kind: ChannelKind, [name, setting]: [string, Setting]): string => {
  const who = setting.operatorOnly ? 'operator' : 'both'
  const row = [
    `\`CHANNEL_${kind.env}_${name}\``,
    cell(setting.description),
    fallbackOf(setting),
    setting.secret ? 'yes' : '',
    who,
  ]
  return `| ${row.join(' | ')} |`
}

const printKind = (kind: ChannelKind): string => `## \`${kind.id}\`

| Variable | What it is | Default | Secret | Set by |
|---|---|---|---|---|
${Object.entries(kind.settings)
  .map((setting) => printSetting(kind, setting))
  .join('\n')}
`

const printSettings = (): string => `# Settings of the payment channels

Printed from \`src/channels/kinds.ts\` by \`npm run docs\`; do not edit.
A channel is offered when its required variables are set; one that is set in part stops the start with a line for each
fault. Each variable may be given as \`<NAME>_FILE\`, the path of a file that holds the value. A company with an account of
its own at a provider sets the same names without prefix, \`PUT /api/next/channel-accounts/{channel}\`; they win over the
operator's, except for those that only the operator sets. The channel \`crypto\` needs a chain instead: \`CHAIN_…\` in
[.env.example](../../.env.example).

${CHANNEL_KINDS.map(printKind).join('\n')}`

function printPermission([name, rule]: [string, Rule]): string {
  const roles = USER_ROLES.map((role) => (rule.roles === 'anyone' || rule.roles.includes(role) ? 'yes' : '–'))
  const anyone = rule.roles === 'anyone' ? 'yes' : '–'
  const factor = rule.stepUp ? 'fresh' : '–'
  return `| \`${name}\` | ${[...roles, rule.scope ? `\`${rule.scope}\`` : '–', anyone, factor].join(' | ')} |`
}

const printPermissions = (): string => `# Who may call what

Printed from \`src/http/permissions.ts\` by \`npm run docs\`; do not edit, but read every change of it.
\`test/permissions.test.ts\` takes what it expects from this file, not from the code: for each endpoint, each role, an API key
with the scope and one with all others, it sends a request about an object of the caller's company, of another company and
of a colleague's till. A \`yes\` must have its effect, a \`–\` must change nothing.

What a role may do at all stands here. Whose objects it may touch follows from the object: another company's is 404 to
everyone but SuperAdmin; a SuperManager has the companies attached to it, a Cashier the orders of the tills given to it,
a SimpleUser its own orders. \`Second factor\` \`fresh\`: given within the last five minutes, by people (API keys have none).
\`users.invite\` and \`users.change\` need it too where the role, before or after, decides about money: to give it, to take it
away, to disable such a person or to let them in again.
\`Anyone\`: no credential is needed. Which endpoint asks for which row stands in the API reference (\`x-permission\`) and in
\`test/harness/permission-cases.ts\`.

| Permission | ${USER_ROLES.join(' | ')} | API key with scope | Anyone | Second factor |
|---${'|---'.repeat(USER_ROLES.length + 3)}|
${Object.entries(PERMISSIONS as Record<string, Rule>)
  .map(printPermission)
  .join('\n')}
`

/** The operator's variables of the channels; all of them, with their defaults, stand in docs/channels/settings.md. */
const printChannels = (): string => {
  const lines = CHANNEL_KINDS.flatMap(({ env, settings }) =>
    Object.entries(settings).flatMap(([name, setting]) => {
      if (setting.fallback !== undefined && name !== 'NON_CUSTODY') return []
      return [`# ${setting.description}`, `#CHANNEL_${env}_${name}=${setting.fallback ?? ''}`]
    }),
  )
  return `# ---- Payment channels ----
# A channel is offered when all of its variables below are set; \`npm start\` sets the imitated ones by itself.
# All variables, what they are and their defaults: docs/channels/settings.md
${[...new Set(lines)].join('\n')}
`
}

/** Documents that follow from the code, by file. */
export const printDocs = (): Record<string, string> => ({
  '.env.example': printExample(printChannels()),
  'docs/order-states.md': printStates(),
  'docs/permissions.md': printPermissions(),
  'docs/channels/settings.md': printSettings(),
  'docs/pages.md': printPages(),
})

if (process.argv[1] === import.meta.filename) {
  for (const [file, text] of Object.entries(printDocs())) {
    mkdirSync(dirname(join(ROOT, file)), { recursive: true })
    writeFileSync(join(ROOT, file), text)
    process.stdout.write(`${file}\n`)
  }
}
