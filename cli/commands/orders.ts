import { type Comptoir, isComptoirError, ORDER_STATUSES, type Order } from '../../sdk/index.ts'
import { type Command, numberOf, type Run, textOf, UsageError, type Values } from '../command.ts'
import { connect, connectSandbox } from '../connection.ts'
import { orderCodeOf } from '../order-code.ts'
import { doOnce, KEY_FLAG } from '../repeat.ts'
import { openSandbox } from '../sandbox.ts'
import { exportOrders } from './orders-export.ts'

const line = ({ code, status, fromAmount, fromAsset, alias, createdAt }: Order): string =>
  [createdAt, status.padEnd(10), `${fromAmount} ${fromAsset}`.padStart(14), code, alias ?? ''].join('  ').trimEnd()

const words = (order: Order): string[] =>
  Object.entries(order).map(
    ([name, value]) =>
      `${name.padEnd(20)} ${typeof value === 'object' && value ? JSON.stringify(value) : String(value ?? '–')}`,
  )

type Status = Order['status']
const isState = (word: string): word is Status => (ORDER_STATUSES as readonly string[]).includes(word)

/** @throws UsageError for an unknown state */
function statesOf(flags: Values): Status[] | undefined {
  const words = textOf(flags, 'status')
    ?.split(',')
    .map((word) => word.trim())
  const unknown = words?.find((word) => !isState(word))
  if (unknown !== undefined) {
    throw new UsageError(`"${unknown}" is no state. Choose from: ${ORDER_STATUSES.join(', ')}.`)
  }
  return words?.filter(isState)
}

/** @throws UsageError for an invalid amount */
function amountOf(flags: Values): string | undefined {
  const amount = textOf(flags, 'amount')
  if (amount === undefined) return undefined
  if (!/^\d+(\.\d+)?$/.test(amount)) throw new UsageError(`--amount takes a decimal like 50.00, not "${amount}".`)
  if (!/[1-9]/.test(amount)) throw new UsageError('--amount must be more than 0.')
  return amount
}

function need(flags: Values, name: string): string {
  const value = textOf(flags, name)
  if (value === undefined) throw new UsageError(`--${name} is required.`)
  return value
}

const create: Command = {
  name: 'create',
  summary: 'Create an order, or with --alias a payment link',
  flags: {
    amount: { type: 'string', value: 'AMOUNT', description: 'in the currency, for example 50.00' },
    currency: { type: 'string', value: 'EUR', description: 'EUR, CHF, XPF, USD or GBP' },
    till: { type: 'string', value: 'TILL-1', description: 'the till (merchantIdentifier)' },
    alias: { type: 'string', value: 'REFERENCE', description: 'your reference; makes it a payment link' },
    'webhook-url': { type: 'string', value: 'URL', description: 'receives the order’s events' },
    key: KEY_FLAG,
  },
  examples: ['comptoir orders create --amount 50 --currency EUR --till TILL-1'],
  async run({ flags, show }) {
    const { client, sandbox } = connect(flags)
    const till = textOf(flags, 'till') ?? sandbox?.merchantIdentifier
    const [alias, webhookUrl] = [textOf(flags, 'alias'), textOf(flags, 'webhook-url')]
    const body = {
      amount: need(flags, 'amount'),
      fromAsset: need(flags, 'currency'),
      ...(till ? { merchantIdentifier: till } : {}),
      ...(alias ? { alias } : {}),
      ...(webhookUrl ? { webhookUrl } : {}),
    }
    const deed = { command: 'comptoir orders create', flags, what: 'the order', look: 'comptoir orders list' }
    const made = await doOnce(deed, (options) => client.orders.create(body, options))
    show(made, [`Order ${made.code} is ${made.order.status}.`, `Pay page: ${made.paymentUrl}`])
  },
}

const list: Command = {
  name: 'list',
  summary: 'List orders, newest first',
  flags: {
    status: { type: 'string', value: 'PAID,REFUNDED', description: 'only these states' },
    till: { type: 'string', value: 'TILL-1', description: 'only this till (merchantIdentifier)' },
    limit: { type: 'string', value: '20', description: 'at most so many' },
  },
  async run({ flags, show, isJson }) {
    const { client } = connect(flags)
    const status = statesOf(flags)
    const limit = numberOf(flags, 'limit', 20)
    if (limit < 1) throw new UsageError('--limit must be at least 1.')
    const till = textOf(flags, 'till')
    const filter = {
      limit: Math.min(limit, 100),
      ...(status ? { status } : {}),
      ...(till ? { merchantIdentifier: till } : {}),
    }
    const orders = await client.orders.list(filter).take(limit)
    if (isJson) return show(orders, '')
    show(orders, orders.length === 0 ? 'There are no such orders.' : orders.map(line))
  },
}

const showOrder: Command = {
  name: 'show',
  summary: 'Show one order',
  takes: 'CODE',
  arity: [1, 1],
  async run({ args, flags, show }) {
    const { client } = connect(flags)
    const order = await client.orders.get(await orderCodeOf(client, args[0] ?? ''))
    show(order, words(order))
  },
}

const pay: Command = {
  name: 'pay',
  summary: 'Pay an order with test money (sandbox)',
  takes: 'CODE',
  arity: [1, 1],
  flags: {
    channel: { type: 'string', value: 'CHANNEL', description: 'the channel to pay through; default crypto' },
    amount: { type: 'string', value: 'AMOUNT', description: 'another amount than is due, in what the channel takes' },
  },
  examples: ['comptoir orders pay CODE', 'comptoir orders pay CODE --channel binance --amount 5'],
  async run({ args, flags, say, show }) {
    const amount = amountOf(flags)
    const { client, sandbox } = connectSandbox(flags)
    const channel = textOf(flags, 'channel') ?? 'crypto'
    const code = await orderCodeOf(client, args[0] ?? '')
    const order = await client.orders.get(code)
    const given = await client.orders.accept(code, { paymentChannel: channel as 'crypto' })
    const desk = openSandbox(sandbox)
    if (channel === 'crypto') {
      say(`sent in ${await desk.payFromWallet(given.toAddress ?? '', amount ?? given.tokenAmount ?? order.toAmount)}`)
    } else {
      const reference = channel === 'coinbase' ? given.toAddress : given.providerReference
      await desk.act(reference ?? '', 'pay', amount ? { amount } : {})
    }
    if (amount) return show({ code, paid: amount }, `${amount} was paid towards order ${code}.`)
    const paid = await client.orders.waitUntil(code, 'PAID', { timeoutMs: 60_000, pollMs: 250 })
    show(paid, `Order ${code} is ${paid.status}.`)
  },
}

/** What is known of a refund that was made: that it cannot be read is no reason to make it again. */
async function tellRefund(client: Comptoir, refundId: string, { show }: Pick<Run, 'show'>): Promise<void> {
  try {
    const made = await client.refunds.get(refundId)
    const where = made.addressUrl ? [`The payer says where it goes: ${made.addressUrl}`] : []
    show(made, [`Refund ${refundId} of ${made.amount} USDC is ${made.status}.`, ...where])
  } catch (error) {
    if (!isComptoirError(error)) throw error
    show({ _id: refundId }, [`Refund ${refundId} was made. It could not be read: ${error.message}`])
  }
}

const refund: Command = {
  name: 'refund',
  summary: 'Refund a paid order, wholly or in part',
  takes: 'CODE',
  arity: [1, 1],
  flags: {
    amount: { type: 'string', value: 'AMOUNT', description: 'in USDC; default: all that is left' },
    reason: { type: 'string', value: 'TEXT', description: 'why, for the history' },
    key: KEY_FLAG,
  },
  examples: ['comptoir orders refund CODE --amount 4 --key "return 118"'],
  async run({ args, flags, show }) {
    const { client } = connect(flags)
    const [amount, reason] = [amountOf(flags), textOf(flags, 'reason')]
    const body = { ...(amount ? { amount } : {}), ...(reason ? { reason } : {}) }
    const code = await orderCodeOf(client, args[0] ?? '')
    const look = `comptoir orders show ${code}`
    const deed = { command: `comptoir orders refund ${code}`, flags, what: 'the refund', look }
    const { refundId } = await doOnce(deed, (options) => client.orders.refund(code, body, options))
    await tellRefund(client, refundId, { show })
  },
}

const wait: Command = {
  name: 'wait',
  summary: 'Wait until an order has a state; exits 1 when it ends otherwise',
  takes: 'CODE',
  arity: [1, 1],
  flags: {
    status: { type: 'string', value: 'PAID', description: 'the state, or several with commas' },
    timeout: { type: 'string', value: '60', description: 'seconds' },
  },
  async run({ args, flags, show }) {
    const { client } = connect(flags)
    const statuses = statesOf(flags) ?? ['PAID']
    const timeoutMs = numberOf(flags, 'timeout', 60) * 1000
    const code = await orderCodeOf(client, args[0] ?? '')
    const reached = await client.orders.waitUntil(code, statuses, { timeoutMs, pollMs: 250 })
    show(reached, `Order ${reached.code} is ${reached.status}.`)
  },
}

export const orders: Command = {
  name: 'orders',
  summary: 'Create, list, show, pay, await, refund and export orders',
  subcommands: [create, list, showOrder, pay, wait, refund, exportOrders],
}
