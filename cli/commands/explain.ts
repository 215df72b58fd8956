import type { Command } from '../command.ts'
import { connect } from '../connection.ts'
import { explain as tell } from '../explain.ts'
import { orderCodeOf } from '../order-code.ts'

export const explain: Command = {
  name: 'explain',
  summary: 'Tell the whole story of an order, and what to do next',
  takes: 'CODE',
  arity: [1, 1],
  async run({ args, flags, show }) {
    const { client } = connect(flags)
    const code = await orderCodeOf(client, args[0] ?? '')
    const order = await client.orders.get(code)
    const { entries, omitted } = await client.api.getOrderStory({ code })
    show({ order, entries, omitted }, tell(order, entries, omitted))
  },
}
