import { type Command, numberOf } from '../command.ts'
import { connectSandbox } from '../connection.ts'
import { EVENT_PLAYS } from '../plays/events.ts'
import { openStage } from '../plays/stage.ts'

/** Out of twenty orders; the rest is paid. */
const FATES = [
  ...['order.initial', 'order.awaiting', 'order.cancelled', 'order.expired', 'order.refunded'],
  ...['order.full_refunded', 'order.error', 'order.kyt_failed'],
] as const
const AMOUNTS = ['4.50', '12.90', '29.00', '49.90', '75.00', '120.00', '249.00', '19.95']

export const fixtures: Command = {
  name: 'fixtures',
  summary: 'Fill the sandbox with orders of every fate, for demos',
  flags: { orders: { type: 'string', value: '40', description: 'how many' } },
  async run({ flags, show, say }) {
    const { client, sandbox } = connectSandbox(flags)
    const count = numberOf(flags, 'orders', 40)
    const made: { code: string; fate: string }[] = []
    for (let index = 0; index < count; index += 1) {
      const fate = FATES[index % 20] ?? 'order.paid'
      const amount = AMOUNTS[index % AMOUNTS.length] ?? '10.00'
      const { code } = await EVENT_PLAYS[fate].act(openStage(client, sandbox, () => {}, { amount }))
      made.push({ code, fate })
      say(`${index + 1} of ${count}: ${fate}`)
    }
    show(made, `${count} orders are there.`)
  },
}
