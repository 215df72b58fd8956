import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { buildService } from '../src/app.ts'
import { loadConfig } from '../src/config/config.ts'
import { openDb } from '../src/db/db.ts'
import { type OpenApi, type Operation, operationsOf, type Schema } from '../src/http/openapi/document.ts'
import { openApiOf } from '../src/http/reference/openapi.ts'
import { systemClock } from '../src/kernel/clock.ts'
import { openVault } from '../src/kernel/vault.ts'

/*
 * npm run sdk: writes what the SDK knows of the API, from the OpenAPI document.
 */

const ROOT = join(import.meta.dirname, '..')

/** The document, without a database: its routes are registered, none is called. */
export async function readOpenApi(): Promise<OpenApi> {
  const config = loadConfig({ PORT: '3000', BASE_URL: 'http://localhost:3000' })
  const db = openDb({ connectionString: 'postgres://127.0.0.1:1/none' })
  const vault = openVault(Buffer.alloc(32, 1))
  const service = await buildService({
    config,
    db,
    vault,
    clock: systemClock,
    logStream: { write: () => {} },
    isStopping: () => false,
  })
  await service.app.ready()
  const document = openApiOf(service.app, config.baseUrl)
  await service.app.close()
  await db.close()
  return document
}

const comment = (text: string | undefined, indent: string): string =>
  text === undefined ? '' : `${indent}/** ${text.replaceAll('*/', '*\u200b/').replaceAll('\n', ' ')} */\n`

const isName = (text: string): boolean => /^[A-Za-z_$][\w$]*$/.test(text)
const nameOf = (text: string): string => (isName(text) ? text : JSON.stringify(text))

function printObject(schema: Schema, indent: string): string {
  const required = new Set(schema.required ?? [])
  const inner = `${indent}  `
  const fields = Object.entries(schema.properties ?? {}).map(
    ([name, field]) =>
      `${comment(field.description, inner)}${inner}${nameOf(name)}${required.has(name) ? '' : '?'}: ${printType(field, inner)}\n`,
  )
  return `{\n${fields.join('')}${indent}}`
}

const PLAIN: Record<string, string> = {
  string: 'string',
  number: 'number',
  integer: 'number',
  boolean: 'boolean',
  null: 'null',
  object: 'Record<string, unknown>',
}

/** A JSON Schema as a TypeScript type. */
export function printType(schema: Schema, indent = ''): string {
  if (schema.$ref) return schema.$ref.split('/').at(-1) ?? 'unknown'
  if (schema.const !== undefined) return JSON.stringify(schema.const)
  if (schema.enum) return schema.enum.map((value) => JSON.stringify(value)).join(' | ')
  const union = schema.anyOf ?? schema.oneOf
  if (union) return union.map((part) => printType(part, indent)).join(' | ')
  if (schema.allOf) return schema.allOf.map((part) => printType(part, indent)).join(' & ')
  if (schema.type === 'array') return `Array<${printType(schema.items ?? {}, indent)}>`
  const types = [schema.type ?? []].flat()
  return types.map((type) => printOne(schema, type, indent)).join(' | ') || 'unknown'
}

function printOne(schema: Schema, type: string, indent: string): string {
  if (type === 'object' && schema.properties) return printObject(schema, indent)
  const values = schema.additionalProperties
  if (type === 'object' && typeof values === 'object') return `Record<string, ${printType(values, indent)}>`
  return PLAIN[type] ?? 'unknown'
}

const own = ({ parameters = [] }: Operation) =>
  parameters.filter(({ $ref, in: place }) => $ref === undefined && (place === 'path' || place === 'query'))

function printParams(operation: Operation): string {
  const fields = own(operation).map(
    ({ name = '', required, description, schema }) =>
      `${comment(description, '      ')}      ${nameOf(name)}${required ? '' : '?'}: ${printType(schema ?? {}, '      ')}\n`,
  )
  const body = operation.requestBody
  const json = body?.content['application/json']?.schema
  if (json) fields.push(`      body${body?.required ? '' : '?'}: ${printType(json, '      ')}\n`)
  return fields.length === 0 ? 'Record<never, never>' : `{\n${fields.join('')}    }`
}

/** The type of `data`; of an answer that is no JSON, the answer itself. */
function printData({ responses }: Operation): string {
  const content = Object.entries(responses).find(([status]) => status.startsWith('2'))?.[1].content
  const json = content?.['application/json']?.schema
  return json?.properties?.data ? printType(json.properties.data, '    ') : 'Response'
}

const printOperation = (operation: Operation): string =>
  `${comment(`${operation.summary}. ${operation.description ?? ''}`, '  ')}  ${operation.operationId}: {\n` +
  `    params: ${printParams(operation)}\n    data: ${printData(operation)}\n  }\n`

type Row = { path: string; method: string; operation: Operation }

function printRow({ path, method, operation }: Row): string {
  const query = own(operation).flatMap(({ in: place, name = '' }) => (place === 'query' ? [name] : []))
  const named = (operation.parameters ?? []).map(({ $ref }) => $ref?.split('/').at(-1))
  const keyed = named.includes('IdempotencyKeyWithCredential') ? `'withCredential'` : named.includes('IdempotencyKey')
  const fields = [
    `method: '${method.toUpperCase()}'`,
    `path: '${path}'`,
    `query: [${query.map((name) => `'${name}'`).join(', ')}]`,
    `keyed: ${keyed}`,
    `json: ${printData(operation) !== 'Response'}`,
  ]
  return `  ${operation.operationId}: { ${fields.join(', ')} },\n`
}

const HEAD = '// Printed from the OpenAPI document by `npm run sdk`; do not edit.\n\n'

function printSchemas(document: OpenApi): string {
  const printed = Object.entries(document.components.schemas).map(
    ([name, schema]) => `${comment(schema.description, '')}export type ${name} = ${printType(schema)}\n`,
  )
  const codes = document.components.schemas.Failure?.properties?.error?.properties?.code?.enum ?? []
  const list = codes.map((code) => `  | '${String(code)}'`).join('\n')
  const statuses = document.components.schemas.Order?.properties?.status?.enum ?? []
  const states = statuses.map((status) => `  '${String(status)}',\n`).join('')
  return (
    `${HEAD}${printed.join('\n')}\n/** Every state that an order may have. */\n` +
    `export const ORDER_STATUSES = [\n${states}] as const satisfies readonly Order['status'][]\n\n` +
    `/** Every code that a failure may have. */\nexport type ErrorCode =\n${list}\n`
  )
}

function printOperations(document: OpenApi): string {
  const rows = operationsOf(document)
  const names = Object.keys(document.components.schemas).filter((name) => !/^(Failure|\w+Webhook)$/.test(name))
  return (
    `${HEAD}import type { ${names.join(', ')} } from './schemas.ts'\n\n` +
    `/** What each operation takes and answers. */\nexport interface Operations {\n` +
    `${rows.map(({ operation }) => printOperation(operation)).join('')}}\n\n` +
    `/** How each operation is called. */\nexport const OPERATIONS = {\n${rows.map(printRow).join('')}} as const\n`
  )
}

/** What `verifyWebhook` makes of a body with `"test": true`: none of the types that a shop acts on. */
const TEST_CASE =
  "  | { id: string; type: 'test'; createdAt: string; data: (OrderWebhook | KycWebhook) & { event: EventType; test: true } }\n"

function printEvents(document: OpenApi): string {
  const events = Object.keys(document.webhooks ?? {})
  const cases = events.map((event) => {
    const data = event.startsWith('kyc.') ? 'KycWebhook' : 'OrderWebhook'
    return `  | { id: string; type: '${event}'; createdAt: string; data: ${data} & { event: '${event}' } }\n`
  })
  return (
    `${HEAD}import type { KycWebhook, OrderWebhook } from './schemas.ts'\n\n` +
    `/** Every event that is sent. */\nexport const EVENT_TYPES = [\n${events.map((event) => `  '${event}',\n`).join('')}] as const\n` +
    `export type EventType = (typeof EVENT_TYPES)[number]\n\n` +
    `/** A verified webhook; \`type\` tells what \`data\` is. */\nexport type ComptoirEvent =\n${cases.join('')}${TEST_CASE}`
  )
}

/** The generated files of the SDK, by name. */
export const printSdk = (document: OpenApi): Record<string, string> => ({
  'sdk/generated/schemas.ts': printSchemas(document),
  'sdk/generated/operations.ts': printOperations(document),
  'sdk/generated/events.ts': printEvents(document),
})

if (process.argv[1] === import.meta.filename) {
  mkdirSync(join(ROOT, 'sdk/generated'), { recursive: true })
  for (const [file, text] of Object.entries(printSdk(await readOpenApi()))) {
    writeFileSync(join(ROOT, file), text)
    process.stdout.write(`${file}\n`)
  }
  process.exit(0)
}
