import { OPERATIONS, type Operations } from './generated/operations.ts'
import type { Call, CallOptions, Transport } from './transport.ts'

type Name = keyof Operations
type Params<Key extends Name> = Operations[Key]['params']
export type Data<Key extends Name> = Operations[Key]['data']

type Args<Key extends Name> =
  Record<never, never> extends Params<Key>
    ? [params?: Params<Key>, options?: CallOptions]
    : [params: Params<Key>, options?: CallOptions]

/** Every operation of the API, by its name in the reference. */
export type Api = { [Key in Name]: (...args: Args<Key>) => Promise<Data<Key>> }

type Row = { method: string; path: string; query: readonly string[]; keyed: Call['keyed']; json: boolean }

/** An empty part of a path, and the dots that a URL resolves, would make it the path of something else. */
const namesNothing = (value: unknown): boolean => ['', '.', '..'].includes(String(value ?? '').trim())

/**
 * Without this, a filter with a typo would return everything, and a missing code the list of all.
 * @throws TypeError for mistakes that no type checker saw
 */
export function refuseWrongParams({ operation, row, params }: Wanted): void {
  const inPath = [...row.path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name)
  const missing = inPath.find((name) => namesNothing(params[name]))
  if (missing) throw new TypeError(`${operation} needs “${missing}”.`)
  const known = [...inPath, ...row.query, ...(row.method === 'GET' ? [] : ['body'])]
  const unknown = Object.keys(params).find((name) => params[name] !== undefined && !known.includes(name))
  if (unknown) throw new TypeError(`${operation} knows no “${unknown}”. It takes: ${known.join(', ')}.`)
}

type Wanted = { operation: string; row: Row; params: Record<string, unknown> }

async function callOperation(transport: Transport, wanted: Wanted, options: CallOptions | undefined): Promise<unknown> {
  refuseWrongParams(wanted)
  const { operation, row, params } = wanted
  const path = row.path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(String(params[name])))
  const query = Object.fromEntries(row.query.map((name) => [name, params[name]]))
  const { method, keyed, json } = row
  const body = method === 'POST' || method === 'PUT' ? (params.body ?? {}) : params.body
  const { answer, data } = await transport.send({ operation, method, path, query, keyed, json, options, body })
  return json ? data : answer
}

/** Creates one method per operation of the document. */
export function openApi(transport: Transport): Api {
  const rows = Object.entries(OPERATIONS as Record<string, Row>)
  const methods = rows.map(([operation, row]) => [
    operation,
    (params: Record<string, unknown> = {}, options?: CallOptions) =>
      callOperation(transport, { operation, row, params }, options),
  ])
  return Object.fromEntries(methods) as Api
}
