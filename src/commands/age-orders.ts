import { parseArgs } from 'node:util'
import { findCompany } from '../companies/company-queries.ts'
import type { Config } from '../config/config.ts'
import type { Tx } from '../db/db.ts'
import { allowHistoryChanges, listOrderCodesById, updateOrderAge } from '../operator/order-age-queries.ts'
import { withDatabase } from './database.ts'

export const AGE_ORDERS_USAGE = `comptoir age-orders   sandbox: moves ended orders back in time, so that a demo shop has a past
  reads [{"code": "…", "seconds": 86400}, …] from standard input
  --company ID  refuse a database that does not hold this company
  --json        print the result as JSON`

const OPTIONS = { company: { type: 'string' }, json: { type: 'boolean', default: false } } as const

type Aged = { code: string; seconds: number }

/** Undefined for what is no JSON. */
function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

async function readOrders(): Promise<Aged[]> {
  const text = Buffer.concat(await process.stdin.toArray()).toString('utf8')
  const read = parse(text)
  const isAged = (one: Aged): boolean => typeof one?.code === 'string' && Number.isFinite(one.seconds)
  if (!Array.isArray(read) || !read.every(isAged)) throw new Error('Give a list of {"code", "seconds"} on stdin.')
  return read as Aged[]
}

/** The oldest id gets the oldest date, because lists sort by id and claim to be newest first. */
async function inOrderOfIds(tx: Tx, orders: readonly Aged[]): Promise<Aged[]> {
  const codes = await listOrderCodesById(
    tx,
    orders.map(({ code }) => code),
  )
  const movable = new Set(codes)
  const ages = orders.filter(({ code }) => movable.has(code)).map(({ seconds }) => seconds)
  ages.sort((left, right) => right - left)
  return codes.map((code, index) => ({ code, seconds: ages[index] ?? 0 }))
}

/** Does not exist where money is real: a history that can be moved proves nothing. */
export async function runAgeOrders(config: Config, args: string[], say: (line: string) => void): Promise<undefined> {
  const { values } = parseArgs({ args, options: OPTIONS })
  if (config.mode === 'live') throw new Error('Orders can be moved in time only in a sandbox; this is MODE=live.')
  const orders = await readOrders()
  const moved = await withDatabase(config, say, (db) =>
    db.tx(async (tx) => {
      if (values.company !== undefined && !(await findCompany(tx, values.company)))
        throw new Error('This database belongs to another service: it does not contain the shop.')
      await allowHistoryChanges(tx)
      let count = 0
      for (const { code, seconds } of await inOrderOfIds(tx, orders))
        if (await updateOrderAge(tx, code, seconds)) count += 1
      return count
    }),
  )
  process.stdout.write(values.json ? `${JSON.stringify({ moved })}\n` : `${moved} orders were moved.\n`)
}
