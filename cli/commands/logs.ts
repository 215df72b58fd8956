import { type Command, textOf } from '../command.ts'
import { connect } from '../connection.ts'

export const logs: Command = {
  name: 'logs',
  summary: 'What happened to an order, line by line, with request ids',
  takes: 'CODE',
  arity: [1, 1],
  flags: { request: { type: 'string', value: 'ID', means: 'only what this request caused' } },
  examples: ['comptoir logs CODE', 'comptoir logs CODE --request 0190fe2c5d3a4f7b8c1d2e3f'],
  async run({ args, flags, show }) {
    const { client } = connect(flags)
    const request = textOf(flags, 'request')
    const { entries } = await client.api.getOrderStory({ code: args[0] ?? '' })
    const found = entries.filter(({ facts }) => request === undefined || facts.requestId === request)
    const lines = found.map(({ at, kind, facts }) => {
      const words = Object.entries(facts).flatMap(([name, value]) => (value === null ? [] : [`${name}=${value}`]))
      return `${at}  ${kind.padEnd(10)} ${words.join(' ')}`
    })
    show(found, lines.length === 0 ? 'Nothing was found.' : lines)
  },
}
