import type { Comptoir } from '../../sdk/index.ts'
import { type Command, type Run, textOf, UsageError } from '../command.ts'
import { connect } from '../connection.ts'
import { orderCodeOf } from '../order-code.ts'

/** One order, line by line; with a request id, only what that request caused. */
async function logOrder(client: Comptoir, code: string, { flags, show }: Run): Promise<void> {
  const request = textOf(flags, 'request')
  const { entries } = await client.api.getOrderStory({ code })
  const found = entries.filter(({ facts }) => request === undefined || facts.requestId === request)
  const lines = found.map(({ at, kind, facts }) => {
    const words = Object.entries(facts).flatMap(([name, value]) => (value === null ? [] : [`${name}=${value}`]))
    return `${at}  ${kind.padEnd(10)} ${words.join(' ')}`
  })
  show(found, lines.length === 0 ? 'Nothing was found.' : lines)
}

/** Requests to the API, newest first. */
async function logRequests(client: Comptoir, { flags, show }: Run): Promise<void> {
  const requestId = textOf(flags, 'request')
  const limit = Number(textOf(flags, 'limit') ?? 20)
  if (!Number.isInteger(limit) || limit < 1 || limit > 100) throw new UsageError('--limit is a number from 1 to 100.')
  const { requests } = await client.api.listRequests({
    limit,
    ...(requestId === undefined ? {} : { requestId }),
    ...(flags.failed === true ? { failed: true } : {}),
  })
  if (requestId !== undefined && requests.length === 0) {
    throw new Error(
      `No request in the log has the id "${requestId}". It keeps the last days, without what a person’s page only reads.`,
    )
  }
  const lines = requests.map(({ at, status, method, path, errorCode, durationMs, requestId: id }) =>
    [at, status, method.padEnd(6), path, errorCode ?? '', `${durationMs} ms`, id]
      .filter((part) => part !== '')
      .join('  '),
  )
  show(requests, lines.length === 0 ? 'No such request is in the log.' : lines)
}

export const logs: Command = {
  name: 'logs',
  summary: 'Requests to the API by id; with a code, what happened to one order',
  takes: '[CODE]',
  arity: [0, 1],
  flags: {
    request: { type: 'string', value: 'ID', description: 'only this request, or what it caused' },
    failed: { type: 'boolean', description: 'only refused and failed requests' },
    limit: { type: 'string', value: '20', description: 'how many requests, at most 100' },
  },
  examples: ['comptoir logs --failed', 'comptoir logs --request checkout-20260703-118', 'comptoir logs CODE'],
  async run(run) {
    const { client } = connect(run.flags)
    const [code] = run.args
    await (code === undefined ? logRequests(client, run) : logOrder(client, await orderCodeOf(client, code), run))
  },
}
