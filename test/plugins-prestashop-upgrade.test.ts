import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { hasPhp, openPhpShop, type PhpShop } from './harness/php-shop.ts'

/* The PrestaShop module whose files were replaced, before its upgrade, and while an upgrade is interrupted. */

let php: PhpShop

before(async () => {
  if (!hasPhp) return
  php = await openPhpShop('prestashop', 'comptoirpay', ({ host, merchant }) => {
    const { 'x-api-key': key, 'x-api-secret': secret } = merchant.headers
    const access = { COMPTOIR_BASE_URL: host.baseUrl, COMPTOIR_API_KEY: key, COMPTOIR_API_SECRET: secret }
    return { SETTINGS: { ...access, COMPTOIR_TILL: 'TILL-1', COMPTOIR_WEBHOOK_SECRET: merchant.webhookSecret } }
  })
  await ask({ do: 'install' })
})
after(() => php?.stop())

type Presta = { answer: unknown; orders: Record<string, { state: number }>; logged: string[] }
const STATES = { paid: 2, waiting: 20 }

const ask = (command: Record<string, unknown>): Promise<Presta> => php.tell<Presta>(command)
const withPhp = hasPhp ? test : () => {}

async function paidOrder(): Promise<{ id: number; code: string }> {
  const { answer, orders } = await ask({ do: 'pay' })
  const code = new URL((answer as [string])[0]).searchParams.get('code') ?? ''
  await php.payUntilPaid(code)
  return { id: Math.max(...Object.keys(orders).map(Number)), code }
}

const takeIn = async (code: string) => ask({ do: 'webhook', ...(await php.hookOf('order.paid', code)) })
const rows = { total_products_tax_incl: 20, total_products_tax_excl: 20, total_shipping_tax_incl: 0, amount: 20 }
const slip = { do: 'slip', slip: { ...rows, order_slip_type: 0 } }
const OLD = { do: 'asOld', drop: ['secret', 'refunds'], deleted: 0 }

withPhp('before the upgrade no payment is called a stray, and a credit slip says that it is not refunded', async () => {
  const { id, code } = await paidOrder()
  await ask(OLD)
  const early = await takeIn(code)
  assert.deepEqual([early.answer, early.logged], [503, []], 'Comptoir delivers again')
  assert.match(
    (await ask({ do: 'catchUp' })).logged.join(),
    /^Comptoir: The module was replaced and not upgraded, or an earlier [^:]*: what it keeps of the orders stays\.$/,
  )
  const { answer } = await ask({ ...slip, order: id })
  assert.match(
    (answer as string[])[0] ?? '',
    /credit slip \d+ of 20\.00 EUR was not refunded: The module was replaced and not/,
  )
  await ask({ do: 'upgrade', from: '0.3.0' })
  assert.equal((await takeIn(code)).orders[id]?.state, STATES.paid)
  await ask({ do: 'unpaid', order: id })
  const unpaid = await ask({ ...slip, order: id })
  assert.match((unpaid.answer as string[])[0] ?? '', /was not refunded: No payment through Comptoir is kept/)
})

for (const fails of ['ADD refunds', 'ADD secret', 'UPDATE']) {
  withPhp(`an upgrade that ends at ${fails} forgets no payment, and is finished by the next one`, async () => {
    const { id, code } = await paidOrder()
    const gone = await paidOrder()
    await ask({ ...OLD, deleted: gone.id })
    await ask({ do: 'upgrade', from: '0.3.0', fails })
    const between = await takeIn(code)
    assert.deepEqual([between.answer, between.orders[id]?.state, between.logged], [503, STATES.waiting, []])
    for (const from of ['0.3.0', '0.4.0']) await ask({ do: 'upgrade', from })
    const taken = await takeIn(code)
    assert.deepEqual([taken.answer, taken.orders[id]?.state], [200, STATES.paid])
    const next = await paidOrder()
    assert.equal(next.id, gone.id, 'the number of a deleted order is given again')
    assert.equal((await takeIn(next.code)).orders[next.id]?.state, STATES.paid)
  })
}

withPhp(
  'where an earlier version wrote rows that no upgrade reaches, the module says how they are read again',
  async () => {
    const { id, code } = await paidOrder()
    await ask({ ...OLD, drop: ['secret'] })
    await ask({ do: 'upgrade', from: '0.3.0', fails: 'UPDATE' })
    const { answer } = await ask({ ...slip, order: id })
    assert.match((answer as string[])[0] ?? '', /where it offers none, uninstall it there, install it again/)
    await ask({ do: 'install' })
    const taken = await takeIn(code)
    assert.deepEqual([taken.answer, taken.orders[id]?.state], [200, STATES.paid])
  },
)

type Row = { codes: string; paid: string; said: string; refunds: string }
const rowOf = async (order: number): Promise<[Row, string[]]> =>
  (await ask({ do: 'row', order })).answer as [Row, string[]]

withPhp('what every earlier version kept is read again after an installation, also beside a newer row', async () => {
  const { id, code } = await paidOrder()
  const beside = await paidOrder()
  await ask({ do: 'unpaid', order: id })
  const refund = 'f'.repeat(24)
  const known = {
    [`COMPTOIR_ORDER_${id}`]: code,
    [`COMPTOIR_SAID_${id}`]: 'abc',
    [`COMPTOIR_ORDER_${beside.id}`]: 'older',
    [`COMPTOIR_PAID_${beside.id}`]: '',
    COMPTOIR_REFUNDS: JSON.stringify({ [refund]: id }),
  }
  await ask({ do: 'install', known })
  const [row, left] = await rowOf(id)
  assert.deepEqual(
    [row.codes, row.said, JSON.parse(row.refunds), left],
    [code, 'abc', { [refund]: { account: '' } }, []],
  )
  assert.equal((await rowOf(beside.id))[0].codes, `${beside.code},older`)
  await ask({ do: 'install' })
  assert.deepEqual((await rowOf(id))[0], row)
  const taken = await takeIn(code)
  assert.deepEqual([taken.answer, taken.orders[id]?.state], [200, STATES.paid])
})

/** Without the word on a payment that was made up above. */
const newsOf = ({ logged }: Presta): string[] => logged.filter((entry) => !entry.includes('The payment older of'))

const NEVER = '1999-01-01 00:00:00'
const unpaidOrder = async (): Promise<{ id: number; code: string }> => {
  const order = await paidOrder()
  await ask({ do: 'unpaid', order: order.id })
  return order
}

withPhp(
  'what an earlier version kept of an order whose number a later one has now pays and refunds nothing',
  async () => {
    for (const [set, old] of [
      [{}, { date_add: NEVER, date_upd: NEVER }],
      [{ module: 'ps_wirepayment' }, {}],
      [{}, { id_shop: '2' }],
    ]) {
      const { id } = await unpaidOrder()
      await ask({ do: 'set', order: id, set })
      const known = {
        [`COMPTOIR_ORDER_${id}`]: 'theirs',
        [`COMPTOIR_PAID_${id}`]: 'theirs',
        COMPTOIR_REFUNDS: JSON.stringify({ ['f'.repeat(24)]: id }),
      }
      const { logged } = await ask({ do: 'install', known, old })
      const [row, left] = await rowOf(id)
      assert.deepEqual([row.codes, row.paid, row.refunds], ['', '', ''])
      assert.deepEqual(left, [`COMPTOIR_LEFT_ORDER_${id}`, `COMPTOIR_LEFT_PAID_${id}`])
      assert.equal(
        logged[0],
        `Comptoir: the setting COMPTOIR_ORDER_${id} (theirs) of an earlier version belongs to no order that is there ` +
          `now. It is kept as COMPTOIR_LEFT_ORDER_${id}.`,
      )
      assert.match(logged.at(-1) ?? '', /^Comptoir: the setting COMPTOIR_REFUNDS /)
      assert.deepEqual(newsOf(await ask({ do: 'catchUp' })), [], 'it holds nothing up')
    }
  },
)

withPhp('what each shop of several kept moves to its own order, whichever shop the page belongs to', async () => {
  const { id, code } = await unpaidOrder()
  await ask({ do: 'set', order: id, set: { id_shop: 2 } })
  const [order, paid, said] = ['ORDER', 'PAID', 'SAID'].map((kind) => `COMPTOIR_${kind}_${id}`)
  await ask({ do: 'known', known: { [`${order}`]: 'stale' }, old: { id_shop: '3', date_add: NEVER } })
  const known = { [`${order}`]: `older,${code}`, [`${paid}`]: code, [`${said}`]: 'abc' }
  await ask({ do: 'install', known, old: { id_shop: '2' } })
  const [row, left] = await rowOf(id)
  assert.deepEqual([row.codes, row.paid, row.said, left], [`older,${code}`, code, 'abc', [`COMPTOIR_LEFT_ORDER_${id}`]])
})

withPhp('an installation that is interrupted is finished by the round, and no payment is a stray before', async () => {
  const { id, code } = await unpaidOrder()
  const other = await unpaidOrder()
  const known = { [`COMPTOIR_ORDER_${id}`]: code, [`COMPTOIR_ORDER_${other.id}`]: other.code }
  await ask({ do: 'install', known, fails: `insert ${id}` })
  assert.equal((await rowOf(other.id))[0].codes, other.code, 'one order holds up no other one')
  const early = await takeIn(code)
  assert.deepEqual([early.answer, early.logged], [503, []], 'Comptoir delivers again')
  const stuck = await ask({ do: 'catchUp', fails: `insert ${id}` })
  assert.match(stuck.logged.at(-1) ?? '', /^Comptoir: What an earlier version kept of some orders could not be read/)
  assert.deepEqual([newsOf(await ask({ do: 'catchUp' })), (await rowOf(id))[1]], [[], []])
  assert.equal((await takeIn(code)).orders[id]?.state, STATES.paid)
})
