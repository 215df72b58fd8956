import { type Command, numberOf, textOf, UsageError } from '../command.ts'
import { connect } from '../connection.ts'
import { testReceiver } from '../contract.ts'

const test: Command = {
  name: 'test',
  summary: 'Try a receiver: good webhooks, forged, old, repeated, reordered, unknown ones',
  takes: 'URL',
  arity: [1, 1],
  flags: {
    secret: {
      type: 'string',
      value: 'whsec_…',
      description: 'the secret that the receiver verifies with; default: the sandbox’s',
    },
    timeout: { type: 'string', value: '10', description: 'seconds that an answer may take' },
  },
  examples: ['comptoir webhooks test http://localhost:4000/webhooks'],
  async run({ args, flags, show }) {
    const [url = ''] = args
    if (!URL.canParse(url)) throw new UsageError(`"${url}" is not a URL.`)
    const secret = textOf(flags, 'secret') ?? connect(flags).sandbox?.webhookSigningSecret
    if (secret === undefined) throw new UsageError('--secret is required outside the sandbox.')
    const results = await testReceiver(url, secret, numberOf(flags, 'timeout', 10) * 1000)
    const faults = results.filter(({ fault }) => typeof fault === 'string')
    const lines = results.map(({ name, fault }) => {
      if (fault === undefined) return `–     ${name}: not tried, for it takes no good webhook`
      return `${fault === null ? 'good ' : 'WRONG'} ${name}${fault ? `\n      ${fault}` : ''}`
    })
    const end = faults.length === 0 ? 'No fault was found.' : `${faults.length} of ${results.length} checks failed.`
    show({ url, faults: faults.map(({ name, fault }) => ({ name, fault })), checks: results.length }, [...lines, end])
    if (faults.length > 0) process.exitCode = 1
  },
}

const redeliver: Command = {
  name: 'redeliver',
  summary: 'Send one delivery again, under the same id',
  takes: 'ID',
  arity: [1, 1],
  async run({ args, flags, show }) {
    await connect(flags).client.webhooks.redeliver(args[0] ?? '')
    show({ id: args[0] }, `${args[0]} is sent again.`)
  },
}

export const webhooks: Command = {
  name: 'webhooks',
  summary: 'Try a receiver, send a delivery again',
  subcommands: [test, redeliver],
}
