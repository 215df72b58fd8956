import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { buildService } from '../src/app.ts'
import { loadConfig } from '../src/config/config.ts'
import { openDb } from '../src/db/db.ts'
import { systemClock } from '../src/kernel/clock.ts'
import { openVault } from '../src/kernel/vault.ts'

/*
 * The back office's client, generated from the OpenAPI document: one type for each operation, named by its
 * operationId, and one for each named schema. Types alone, so that a change of the API changes no built file.
 */

const ROOT = join(import.meta.dirname, '..')
export const API_TYPES = join(ROOT, 'web/office/src/api/operations.d.ts')

type Schema = {
  $ref?: string
  type?: string | string[]
  enum?: unknown[]
  const?: unknown
  anyOf?: Schema[]
  oneOf?: Schema[]
  allOf?: Schema[]
  items?: Schema
  properties?: Record<string, Schema>
  required?: string[]
  additionalProperties?: boolean | Schema
}
type Parameter = { name: string; in: string; required?: boolean; schema?: Schema }
type Operation = {
  operationId?: string
  'x-permission'?: string
  parameters?: Parameter[]
  requestBody?: { required?: boolean; content?: Record<string, { schema?: Schema }> }
  responses?: Record<string, { content?: Record<string, { schema?: Schema }> }>
}
export type Document = {
  paths: Record<string, Record<string, Operation>>
  components?: { schemas?: Record<string, Schema> }
}

const METHODS = ['get', 'post', 'put', 'patch', 'delete']
const PRIMITIVES: Record<string, string> = {
  string: 'string',
  integer: 'number',
  number: 'number',
  boolean: 'boolean',
  null: 'null',
}
const quote = (value: unknown): string => JSON.stringify(value)
const property = (name: string): string => (/^[A-Za-z_]\w*$/.test(name) ? name : quote(name))
const union = (parts: string[]): string => [...new Set(parts)].join(' | ') || 'unknown'

function printObject(schema: Schema): string {
  const required = new Set(schema.required)
  const fields = Object.entries(schema.properties ?? {}).map(
    ([name, value]) => `${property(name)}${required.has(name) ? '' : '?'}: ${printType(value)}`,
  )
  if (fields.length > 0) return `{ ${fields.join('; ')} }`
  const rest = schema.additionalProperties
  return `Record<string, ${typeof rest === 'object' ? printType(rest) : 'unknown'}>`
}

function printType(schema: Schema | undefined): string {
  if (!schema) return 'unknown'
  if (schema.$ref !== undefined) return `Schemas[${quote(schema.$ref.split('/').at(-1))}]`
  if (schema.const !== undefined) return quote(schema.const)
  if (schema.enum) return union(schema.enum.map(quote))
  const choices = schema.anyOf ?? schema.oneOf
  if (choices) return union(choices.map(printType))
  if (schema.allOf) return schema.allOf.map((part) => `(${printType(part)})`).join(' & ')
  if (Array.isArray(schema.type)) return union(schema.type.map((type) => printType({ ...schema, type })))
  if (schema.type === 'array') return `Array<${printType(schema.items)}>`
  if (schema.type === 'object' || schema.properties) return printObject(schema)
  return PRIMITIVES[schema.type ?? ''] ?? 'unknown'
}

const jsonOf = (content: Record<string, { schema?: Schema }> | undefined): Schema | undefined =>
  content?.['application/json']?.schema

function printParameters(operation: Operation, place: string): string {
  const own = (operation.parameters ?? []).filter((parameter) => parameter.in === place)
  const fields = own.map(
    ({ name, required, schema }) => `${property(name)}${required ? '' : '?'}: ${printType(schema)}`,
  )
  return fields.length === 0 ? 'Record<never, never>' : `{ ${fields.join('; ')} }`
}

function printOperation(path: string, method: string, operation: Operation): string {
  const body = jsonOf(operation.requestBody?.content)
  const answer = operation.responses?.['200']?.content
  const data = jsonOf(answer)?.properties?.data ?? answer?.['text/plain']?.schema
  return `  ${property(operation.operationId ?? '')}: {
    route: ${quote(`${method.toUpperCase()} ${path}`)}
    permission: ${quote(operation['x-permission'] ?? '')}
    path: ${printParameters(operation, 'path')}
    query: ${printParameters(operation, 'query')}
    body: ${body ? printType(body) : 'undefined'}
    data: ${printType(data)}
  }`
}

export function printApiTypes(document: Document): string {
  const schemas = Object.entries(document.components?.schemas ?? {}).map(
    ([name, schema]) => `  ${property(name)}: ${printType(schema)}`,
  )
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    METHODS.flatMap((method) => {
      const operation = methods[method]
      return operation?.operationId === undefined ? [] : [printOperation(path, method, operation)]
    }),
  )
  return `// Printed from the OpenAPI document by \`npm run check\` and \`npm run build:office\`; not kept in git.
export interface Schemas {\n${schemas.join('\n')}\n}
export interface Operations {\n${operations.join('\n')}\n}\n`
}

/** The OpenAPI document of this checkout; no database is asked. */
export async function readOpenApi(): Promise<Document> {
  const db = openDb({ connectionString: 'postgres://127.0.0.1:1/none' })
  const config = loadConfig({ LOG_LEVEL: 'silent' })
  const vault = openVault(Buffer.alloc(32, 1))
  const { app } = await buildService({ config, db, vault, clock: systemClock, isStopping: () => false })
  await app.ready()
  const document = app.swagger() as unknown as Document
  await app.close()
  await db.close()
  return document
}

/** Writes the types unless they are the same already; the check of the office's types needs them. */
export async function writeApiTypes(): Promise<void> {
  const text = printApiTypes(await readOpenApi())
  mkdirSync(dirname(API_TYPES), { recursive: true })
  const known = readFileSync(API_TYPES, { encoding: 'utf8', flag: 'a+' })
  if (known !== text) writeFileSync(API_TYPES, text)
}

if (process.argv[1] === import.meta.filename) await writeApiTypes()
