import { OPERATIONS, type Operations } from './generated/operations.ts'
import type { CallOptions, Transport } from './transport.ts'

type Name = keyof Operations
type Params<Key extends Name> = Operations[Key]['params']
export type Data<Key extends Name> = Operations[Key]['data']

type Args<Key extends Name> =
  Record<never, never> extends Params<Key>
    ? [params?: Params<Key>, options?: CallOptions]
    : [params: Params<Key>, options?: CallOptions]

/** Every operation of the API, by the name it has in the reference. */
export type Api = { [Key in Name]: (...args: Args<Key>) => Promise<Data<Key>> }

type Row = { method: string; path: string; query: readonly string[]; keyed: boolean; json: boolean }

async function callOperation(
  transport: Transport,
  row: Row,
  params: Record<string, unknown>,
  options: CallOptions | undefined,
): Promise<unknown> {
  const path = row.path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(String(params[name] ?? '')))
  const query = Object.fromEntries(row.query.map((name) => [name, params[name]]))
  const { method, keyed } = row
  const body = method === 'POST' || method === 'PUT' ? (params.body ?? {}) : params.body
  const answer = await transport.send({ method, path, query, keyed, options, body })
  if (!row.json) return answer
  return ((await answer.json()) as { data: unknown }).data
}

/** Makes one method for each operation of the document. */
export function openApi(transport: Transport): Api {
  const rows = Object.entries(OPERATIONS as Record<string, Row>)
  const methods = rows.map(([name, row]) => [
    name,
    (params: Record<string, unknown> = {}, options?: CallOptions) => callOperation(transport, row, params, options),
  ])
  return Object.fromEntries(methods) as Api
}
