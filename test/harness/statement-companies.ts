import pg from 'pg'
import { type Db, sql } from '../../src/db/db.ts'

/*
 * Which companies a statement touches, by PostgreSQL's own plan of it: for each table that is distributed by company,
 * what its company_id is compared with. `one`: a parameter. `some`: a list that is a parameter. `each`: every row of
 * the input brings its company. `any`: nothing narrows it to companies.
 */
export type Reach = 'one' | 'some' | 'each' | 'any'
export type Touch = { table: string; reach: Reach }

/** What one connection sent from `begin` to the end, or one statement outside of that. */
export type Work = { texts: string[]; values: string }

/** Records what every connection of this process sends, until it is stopped. */
export function recordWork(): { works: Work[]; stop(): void } {
  const works: Work[] = []
  const open = new WeakMap<pg.Client, Work>()
  const { query } = pg.Client.prototype
  pg.Client.prototype.query = function (this: pg.Client, ...given: unknown[]) {
    const [first] = given as [string | { text: string; values?: unknown[] }]
    const { text, values = [] } = typeof first === 'string' ? { text: first } : first
    const work = open.get(this) ?? { texts: [], values: '' }
    if (!works.includes(work)) works.push(work)
    work.texts.push(text)
    work.values += JSON.stringify(values, (_, value: unknown) => (typeof value === 'bigint' ? String(value) : value))
    if (/^\s*begin/.test(text)) open.set(this, work)
    if (/^\s*(commit|rollback)/.test(text)) open.delete(this)
    return Reflect.apply(query, this, given) as never
  } as typeof query
  return { works, stop: () => void Object.assign(pg.Client.prototype, { query }) }
}

type PlanNode = Record<string, unknown> & { Plans?: PlanNode[] }

const CONDITIONS = ['Index Cond', 'Recheck Cond', 'Filter', 'Hash Cond', 'Merge Cond', 'Join Filter']

const nodesOf = (node: PlanNode): PlanNode[] => [node, ...(node.Plans ?? []).flatMap(nodesOf)]

type Comparison = { alias: string; other: string }

/** Every `alias.company_id = other` in a plan, both ways round; a list is `any $1`. */
function comparisonsOf(condition: string): Comparison[] {
  const plain = condition.replaceAll(/::\w+(\[\])?|"/g, '').replaceAll(/\(([\w.$]+)\)/g, '$1')
  const found = [...plain.matchAll(/([\w.$]+) = (ANY )?([\w.$]+)/g)]
  return found.flatMap(([, left = '', any = '', right = '']) => {
    const sides = any === '' ? [left, right] : [left]
    return sides
      .filter((side) => side.endsWith('.company_id'))
      .map((side) => ({ alias: side.split('.')[0] ?? '', other: side === left ? `${any}${right}` : left }))
  })
}

const ORDER: Reach[] = ['one', 'some', 'each', 'any']
const worse = (one: Reach, other: Reach): Reach => (ORDER.indexOf(one) > ORDER.indexOf(other) ? one : other)

/** What the company of an alias is compared with, from alias to alias. */
function reachOf(alias: string, comparisons: readonly Comparison[], inputs: ReadonlySet<string>): Reach {
  const followed = new Set([alias])
  let reach: Reach = inputs.has(alias) ? 'each' : 'any'
  for (const at of followed) {
    for (const { other } of comparisons.filter((one) => one.alias === at)) {
      const found = /^\$\d+$/.test(other) ? 'one' : /^ANY \$\d+$/.test(other) ? 'some' : 'any'
      const next = /^(\w+)\.\w*company\w*$/i.exec(other)?.[1]
      if (next !== undefined) followed.add(next)
      const known = next !== undefined && inputs.has(next) ? 'each' : found
      if (ORDER.indexOf(known) < ORDER.indexOf(reach)) reach = known
    }
  }
  return reach
}

/** How far a statement goes in each of these tables. */
export async function touchesOf(db: Db, text: string, tables: ReadonlySet<string>): Promise<Touch[]> {
  const { rows } = await db.pool.query<{ 'QUERY PLAN': [{ Plan: PlanNode }] }>(
    `explain (generic_plan, verbose, format json) ${text}`,
  )
  const parents = await parentsOf(db)
  const nodes = rows.flatMap((row) => row['QUERY PLAN'].flatMap(({ Plan }) => nodesOf(Plan)))
  const isPartition = (node: PlanNode): boolean => parents.has(String(node['Relation Name']))
  const partitions = new Set(nodes.filter(isPartition).map((node) => String(node.Alias)))
  // the partitions of `deliveries d` are called d_1, d_2 …
  const whole = (alias: string): string => (partitions.has(alias) ? alias.replace(/_\d+$/, '') : alias)
  const comparisons = nodes
    .flatMap((node) => CONDITIONS.flatMap((name) => comparisonsOf(String(node[name] ?? ''))))
    .map(({ alias, other }) => ({ alias: whole(alias), other: other.replace(/^\w+(?=\.)/, whole) }))
  // a subquery's company is that of the table below it
  for (const { 'Node Type': type, Alias, Plans = [] } of nodes) {
    const outputs = type === 'Subquery Scan' ? Plans.flatMap(({ Output }) => Output as string[]) : []
    for (const output of outputs)
      if (/^\w+\.company_id$/.test(output)) comparisons.push({ alias: String(Alias), other: output })
  }
  const isInput = (node: PlanNode): boolean => /^(Function|CTE) Scan$/.test(String(node['Node Type']))
  const inputs = new Set(nodes.filter(isInput).map((node) => String(node.Alias)))
  const touches = new Map<string, Reach>()
  for (const node of nodes) {
    const name = String(node['Relation Name'] ?? '')
    const table = parents.get(name) ?? name
    if (!tables.has(table)) continue
    const isInsert = node['Node Type'] === 'ModifyTable' && node.Operation === 'Insert'
    if (node['Node Type'] === 'ModifyTable' && !isInsert) continue
    const reach = isInsert ? insertReach(text, table) : reachOf(whole(String(node.Alias)), comparisons, inputs)
    touches.set(table, worse(touches.get(table) ?? 'one', reach))
  }
  return [...touches].map(([table, reach]) => ({ table, reach }))
}

/** An insert of one row of parameters is of one company; of a list, of the company of each. */
function insertReach(text: string, table: string): Reach {
  const [, columns = '', values = ''] =
    new RegExp(`insert into ${table}(?: as \\w+)?\\s*\\(([^)]*)\\)\\s*(values)?`).exec(text) ?? []
  if (!/\bcompany_id\b/.test(columns)) return 'any'
  return values === '' ? 'each' : 'one'
}

/** The table of each partition. */
async function parentsOf(db: Db): Promise<Map<string, string>> {
  const rows = await db.many<{ child: string; parent: string }>(sql`
    select inhrelid::regclass::text as child, inhparent::regclass::text as parent from pg_inherits
    where inhparent in (select oid from pg_class where relkind = 'p')`)
  return new Map(rows.map(({ child, parent }) => [child, parent]))
}
