import { type Command, textOf, UsageError } from '../command.ts'
import { connectSandbox } from '../connection.ts'
import { openStage } from '../plays/stage.ts'
import { PLAYS } from '../plays/stories.ts'

export const trigger: Command = {
  name: 'trigger',
  summary: 'Play an event or a story in the sandbox',
  takes: 'NAME',
  arity: [0, 1],
  choices: Object.keys(PLAYS),
  flags: {
    code: { type: 'string', value: 'CODE', description: 'use this order instead of a new one' },
    'webhook-url': { type: 'string', value: 'URL', description: 'where the new order’s webhooks go' },
  },
  examples: ['comptoir trigger order.paid', 'comptoir trigger outage', 'comptoir trigger   # lists all names'],
  async run({ args, flags, say, show }) {
    const [name] = args
    const names = Object.entries(PLAYS).map(([key, { description }]) => ({ name: key, description }))
    if (name === undefined)
      return show(
        names,
        names.map((one) => `${one.name.padEnd(34)} ${one.description}`),
      )
    const play = Object.hasOwn(PLAYS, name) ? PLAYS[name] : undefined
    if (!play) throw new UsageError(`There is nothing named "${name}". "comptoir trigger" lists all names.`)
    const { client, sandbox } = connectSandbox(flags)
    const options = { code: textOf(flags, 'code'), webhookUrl: textOf(flags, 'webhook-url') }
    const { code } = await play.act(openStage(client, sandbox, say, options))
    const { status } = await client.orders.get(code)
    show(
      { name, code, status },
      `${name}: done with order ${code}, now ${status}. "comptoir explain ${code}" tells its story.`,
    )
  },
}
