import assert from 'node:assert/strict'
import type { Service } from '../../src/app.ts'
import { operationsOf, type Response } from '../../src/http/openapi/document.ts'
import { openApiOf } from '../../src/http/reference/openapi.ts'

type Documented = { method: string; path: RegExp; codes: ReadonlySet<unknown> }

/** What any address answers, whatever operation stands there. */
const EVERYWHERE = ['NOT_FOUND', 'METHOD_NOT_ALLOWED', 'MALFORMED_REQUEST']
const PREFIX = /^\/api\/(next\/)?/

/** Of the first service of the process that was started; the document is the same for every one. */
let first: Service | undefined
let known: Documented[] | undefined

export function documentedBy(service: Service): void {
  first ??= service
}

function readDocument({ app }: Service): Documented[] {
  const document = openApiOf(app, 'http://localhost')
  const codesOf = ({ $ref, content }: Response): readonly unknown[] => {
    const shared = document.components.responses?.[$ref?.split('/').at(-1) ?? '']
    const schema = (shared?.content ?? content)?.['application/json']?.schema
    // 500 has the common schema, whose list of codes is the whole catalogue
    return schema?.$ref ? ['INTERNAL_ERROR'] : (schema?.properties?.error?.properties?.code?.enum ?? [])
  }
  const operations = operationsOf(document).map(({ path, method, operation }) => ({
    method: method.toUpperCase(),
    path: new RegExp(`^${path.replace('{reference}', '.+').replace(/\{\w+\}/g, '[^/]+')}$`),
    codes: new Set([...EVERYWHERE, ...Object.values(operation.responses).flatMap(codesOf)]),
    parameters: path.split('{').length,
  }))
  // `/refunds/address-message` is no `/refunds/{id}`
  return operations.sort((one, other) => one.parameters - other.parameters)
}

/**
 * Every refusal that a test provokes is one that the OpenAPI document names for the operation: a client generated from
 * it knows no other. The older prefix answers like the canonical one.
 */
export function checkDocumented(method: string, url: string, code: string | undefined): void {
  if (code === undefined || first === undefined) return
  const [path = ''] = url.split('?')
  known ??= readDocument(first)
  const find = (spelling: string) => known?.find((one) => one.method === method && one.path.test(spelling))
  const operation = find(path) ?? find(path.replace(PREFIX, '/api/next/'))
  assert.ok(
    operation === undefined || operation.codes.has(code),
    `${method} ${path} answered ${code}, which src/http/openapi/operation-words.ts does not name for it`,
  )
}
