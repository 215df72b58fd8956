import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { parseYaml } from '@redocly/openapi-core'

/*
 * Rules and dashboards break silently when a metric is renamed. Every name and label in them must be registered in the
 * code, and those that operators rely on are listed below.
 */
const ROOT = join(import.meta.dirname, '..')
const read = (file: string): string => readFileSync(join(ROOT, file), 'utf8')

type Rule = {
  alert: string
  expr: string
  for?: string
  labels: { severity: string }
  annotations: { summary: string }
}
const rules = (parseYaml(read('deploy/monitoring/alerts.yaml')) as { groups: { rules: Rule[] }[] }).groups.flatMap(
  (group) => group.rules,
)
type Panel = { title: string; targets: { expr: string; legendFormat: string }[] }
const { panels } = JSON.parse(read('deploy/monitoring/grafana.json')) as { panels: Panel[] }

/** Labels by metric, as the code registers them. */
function registered(): Map<string, Set<string>> {
  const found = new Map<string, Set<string>>()
  for (const file of globSync('src/**/*.ts', { cwd: ROOT })) {
    const text = read(file)
    for (const [, name = '', rest = ''] of text.matchAll(/name: 'comptoir_(\w+)',([\s\S]{0,400}?)registers/g)) {
      const labels = /labelNames: \[([^\]]*)\]/.exec(rest)?.[1] ?? ''
      found.set(`comptoir_${name}`, new Set([...labels.matchAll(/'(\w+)'/g)].map(([, label = '']) => label)))
    }
    for (const [, kind = '', name = ''] of text.matchAll(/\b(gauge|byStatus)\(\s*'(\w+)'/g))
      found.set(`comptoir_${name}`, new Set(kind === 'byStatus' ? ['status'] : []))
  }
  return found
}

const known = registered()
const expressions = [
  ...rules.map(({ alert, expr }) => ({
    place: alert,
    expr,
    text: rules.find((one) => one.alert === alert)?.annotations.summary ?? '',
  })),
  ...panels.flatMap(({ title, targets }) =>
    targets.map(({ expr, legendFormat }) => ({ place: title, expr, text: legendFormat })),
  ),
]

test('every metric that operators rely on is registered', () => {
  const relied = [
    ...['chain_head', 'chain_lag_seconds', 'rpc_errors_total', 'ledger_differences', 'orphaned_units', 'orders'],
    ...['mispayments_open', 'refunds_waiting', 'settlements_waiting', 'rate_age_seconds', 'webhook_due'],
    ...['webhook_oldest_seconds', 'mail_waiting', 'wallet_units', 'jobs_parked', 'audit_entries', 'db_pool_waiting'],
  ]
  assert.deepEqual(
    relied.filter((name) => !known.has(`comptoir_${name}`)),
    [],
  )
})

test('rules and dashboard use metrics and labels that exist', () => {
  const wrong: string[] = []
  for (const { place, expr, text } of expressions) {
    const names = [...expr.matchAll(/\b(comptoir_\w+)/g)].map(([, name = '']) =>
      name.replace(/_(bucket|count|sum)$/, ''),
    )
    if (names.length === 0) wrong.push(`${place}: no metric`)
    // the operator gives `installation` to what is scraped of one
    const labels = new Set(['process', 'le', 'installation', ...names.flatMap((name) => [...(known.get(name) ?? [])])])
    for (const name of names) if (!known.has(name)) wrong.push(`${place}: ${name}`)
    const grouped = [...expr.matchAll(/by \(([^)]*)\)/g)].flatMap(([, list = '']) => list.split(/, */))
    const filtered = [...expr.matchAll(/[{,](\w+)(?:=|!=|=~|!~)"/g)].map(([, label = '']) => label)
    const shown = [...text.matchAll(/\{\{ *(?:\$labels\.)?(\w+) *\}\}/g)].map(([, label = '']) => label)
    for (const label of [...grouped, ...filtered, ...shown])
      if (!labels.has(label)) wrong.push(`${place}: label ${label}`)
    const depth = [...expr].reduce((sum, letter) => sum + ({ '(': 1, ')': -1 }[letter] ?? 0), 0)
    if (depth !== 0) wrong.push(`${place}: parentheses`)
    // what every process reads from the same database must not be added up
    const gauge = names.some((name) => !name.endsWith('_total') && !/_seconds$/.test(name))
    if (gauge && /\bsum\b/.test(expr) && !expr.includes('rate(')) wrong.push(`${place}: a gauge is summed`)
  }
  assert.deepEqual(wrong, [])
})

test('each rule says what it means, how bad it is, and has a name of its own', () => {
  assert.equal(new Set(rules.map(({ alert }) => alert)).size, rules.length)
  for (const { alert, labels, annotations } of rules) {
    assert.match(alert, /^Comptoir[A-Z]\w+$/)
    assert.ok(['page', 'ticket'].includes(labels.severity), alert)
    assert.match(annotations.summary, /^.{20,200}\.$/, alert)
  }
})

test('a backup is old by the interval that is set, not by a fixed one', () => {
  const { expr = '' } = rules.find(({ alert }) => alert === 'ComptoirBackupOld') ?? {}
  assert.match(expr, /comptoir_backup_age_seconds\) > max\(comptoir_backup_interval_seconds\) \+ \d+$/)
})

test('no rule goes by the age of a rate, which grows while no one buys', () => {
  assert.deepEqual(
    rules.filter(({ expr }) => expr.includes('rate_age_seconds')),
    [],
  )
})

test('no rule goes by how many refunds are under way, which is never none where many are made', () => {
  assert.deepEqual(
    rules.filter(({ expr }) => expr.includes('refunds_waiting')),
    [],
  )
})

test('without a worker its metrics are gone, and a rule says so; the metric that it misses is of workers only', () => {
  const { expr } = rules.find(({ alert }) => alert === 'ComptoirWorkersGone') ?? {}
  const one = 'count by (installation) (comptoir_webhook_in_flight)'
  const before = 'count by (installation) (last_over_time(comptoir_webhook_in_flight[1d]))'
  assert.equal(expr, `absent(comptoir_webhook_in_flight) or (${before} unless ${one})`)
  const openers = globSync('src/**/*.ts', { cwd: ROOT }).filter((file) => /\bsenderMetrics\(/.test(read(file)))
  assert.deepEqual(openers.sort(), ['src/webhooks/sender/sender-metrics.ts', 'src/webhooks/sender/sender.ts'])
})

test('an installation whose metrics vanish, or whose audit log gets shorter, is not hidden by another one', () => {
  for (const name of ['Down', 'WorkersGone', 'AuditShorter']) {
    const { expr = '' } = rules.find(({ alert }) => alert === `Comptoir${name}`) ?? {}
    assert.ok(expr.split('by (installation)').length === 3, name)
  }
})

test('what ends sales without a word has a rule that wakes someone', () => {
  const paged = rules.filter(({ labels }) => labels.severity === 'page').map(({ alert }) => alert)
  const fatal = [
    'BackupOld',
    'DiskFull',
    'ClockOff',
    'DatabaseDown',
    'DatabaseFull',
    'RateMissing',
    'WorkersGone',
    'Down',
  ]
  assert.deepEqual(
    fatal.filter((name) => !paged.includes(`Comptoir${name}`)),
    [],
  )
})
