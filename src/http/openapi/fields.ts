import { CHOICES } from '../../kernel/schema.ts'
import type { OpenApi, Operation, Parameter, Schema } from './document.ts'
import { operationsOf } from './document.ts'
import { FIELD_WORDS } from './field-words.ts'

const TIME = '2026-07-03T09:30:00.000Z'
/** Tried where a pattern refuses what the words say: ids of 24 and of 32 characters. */
const HEX = ['66a1f0c2e4b07d3a5c9e1f20', '0f'.repeat(16)]

/** The schema that says what a field holds: of `T | null` it is `T`. */
function meaningOf(schema: Schema): Schema {
  const [only, second] = (schema.anyOf ?? []).filter(({ type }) => type !== 'null')
  return only !== undefined && second === undefined ? only : schema
}

/** Holds the field a value itself, rather than other fields or nothing? Those need an example of their own. */
export function holdsValue(schema: Schema): boolean {
  const { $ref, type, properties, items, anyOf, allOf } = meaningOf(schema)
  if ($ref !== undefined || properties !== undefined || allOf !== undefined || type === 'null') return false
  if (type === 'array') return items !== undefined && holdsValue(items)
  return type !== undefined || anyOf !== undefined
}

const fits = (schema: Schema, value: unknown): boolean => {
  const types = [schema.type ?? []].flat()
  if (schema.enum !== undefined && !schema.enum.includes(value)) return false
  if (schema.pattern !== undefined && !(typeof value === 'string' && new RegExp(schema.pattern).test(value)))
    return false
  const kind = Array.isArray(value) ? 'array' : typeof value
  if (types.length === 0) return true
  return types.some((type) => type === kind || (kind === 'number' && type === 'integer' && Number.isInteger(value)))
}

/** What follows from the schema alone, before the table of words is asked. */
function plainExample(schema: Schema): unknown {
  if (schema.const !== undefined) return schema.const
  if (schema.enum !== undefined) return schema.enum[0]
  if (schema.items?.enum !== undefined) return [schema.items.enum[0]]
  const [first, ...others] = schema.anyOf ?? []
  if (first && [first, ...others].every((part) => (part.const ?? part.enum) !== undefined)) return plainExample(first)
  if (schema.format === 'date-time') return TIME
  return schema.default
}

/** @param own what the words say for this place alone */
function exampleOf(schema: Schema, own: unknown, words: readonly unknown[]): unknown {
  const inner = meaningOf(schema)
  const [written] = inner.examples ?? []
  if (written !== undefined) return written
  if (own !== undefined && fits(inner, own)) return own
  const plain = plainExample(inner)
  if (plain !== undefined) return plain
  const candidates = inner.pattern === undefined ? words : [...words, ...HEX]
  const said = candidates.find((word) => word !== undefined && fits(inner, word))
  if (said !== undefined) return said
  return inner.type === 'boolean' ? true : undefined
}

const HTTP_STATUS = [['HTTP status of the answer.', 200]] as const
const isHttpStatus = ({ enum: values }: Schema, name: string): boolean => name === 'status' && values?.[0] === 200

const wordsOf = (name: string, place: string) => [FIELD_WORDS[`${place}.${name}`], FIELD_WORDS[name]]

function describeField(schema: Schema, name: string, place: string): void {
  const words = isHttpStatus(schema, name) ? HTTP_STATUS : wordsOf(name, place)
  const inner = meaningOf(schema)
  const description = schema.description ?? inner.description ?? words.find((word) => word !== undefined)?.[0]
  if (description !== undefined && schema.$ref === undefined) schema.description = description
  // beside a $ref, OpenAPI 3.1 allows a description of its own
  else if (description !== undefined) schema.description ??= description
  if (!holdsValue(schema) || schema.examples !== undefined) return
  const given = words.map((word) => word?.[1])
  const value = exampleOf(schema, FIELD_WORDS[`${place}.${name}`]?.[1], [
    ...given,
    ...given.map((one) => (one === undefined ? undefined : [one])),
  ])
  if (value !== undefined) schema.examples = [value]
}

function describeFields(schema: Schema, place: string): void {
  for (const [name, field] of Object.entries(schema.properties ?? {})) {
    describeField(field, name, place)
    describeFields(field, place)
  }
  const inner = [schema.items, schema.additionalProperties, ...(schema.anyOf ?? []), ...(schema.allOf ?? [])]
  for (const part of inner) if (typeof part === 'object') describeFields(part, place)
}

/** The words that a filter knows become the `enum` of what it takes; its own keyword is ours alone. */
function nameChoices(schema: Schema): void {
  const { [CHOICES]: choices, items = schema } = schema
  if (choices === undefined) return
  items.enum = [...choices]
  delete items.maxLength
  delete schema[CHOICES]
}

function describeParameter(parameter: Parameter, place: string): void {
  const { name = '', schema } = parameter
  if (schema === undefined) return
  nameChoices(schema)
  const holder: Schema = { ...schema }
  if (parameter.description !== undefined) holder.description = parameter.description
  describeField(holder, name, place)
  if (holder.description !== undefined) parameter.description = holder.description
  if (holder.examples !== undefined) schema.examples = holder.examples
}

const bodiesOf = ({ requestBody, responses }: Operation): Schema[] =>
  [requestBody?.content, ...Object.values(responses).map(({ content }) => content)].flatMap((content) =>
    Object.values(content ?? {}).flatMap(({ schema }) => schema ?? []),
  )

/** Two words that are lists elsewhere in the document: the answer names the same ones. */
function shareEnums(document: OpenApi): void {
  const { schemas } = document.components
  const statuses = schemas.Order?.properties?.status?.enum
  const bodies = operationsOf(document).flatMap(({ operation }) => bodiesOf(operation))
  const accept = document.paths['/api/next/confirm_conversion/accept/{code}']?.post
  const channels = accept?.requestBody?.content['application/json']?.schema?.properties?.paymentChannel?.enum
  const lists: Record<string, unknown[] | undefined> = {
    orderStatus: statuses,
    paymentChannel: channels,
    channel: channels,
  }
  const visit = (schema: Schema): void => {
    for (const [name, field] of Object.entries(schema.properties ?? {})) {
      const list = lists[name]
      const inner = meaningOf(field)
      const isText = [inner.type].flat().includes('string')
      const isNullable = inner === field && [field.type].flat().includes('null')
      if (list !== undefined && isText) inner.enum ??= isNullable ? [...list, null] : [...list]
      visit(field)
    }
    const parts = [schema.items, schema.additionalProperties, ...(schema.anyOf ?? []), ...(schema.allOf ?? [])]
    for (const part of parts) if (typeof part === 'object') visit(part)
  }
  for (const body of [...Object.values(schemas), ...bodies]) visit(body)
  const instructions = accept?.responses['200']?.content?.['application/json']?.schema?.properties?.data
  if (instructions?.properties?.status && statuses) instructions.properties.status.enum ??= [...statuses]
}

/** Gives every field and parameter its description and, where it holds a value, an example. */
export function completeFields(document: OpenApi): void {
  shareEnums(document)
  for (const [name, schema] of Object.entries(document.components.schemas)) describeFields(schema, name)
  for (const { content } of Object.values(document.components.responses ?? {})) {
    for (const { schema } of Object.values(content ?? {})) if (schema) describeFields(schema, 'Failure')
  }
  for (const { operation } of operationsOf(document)) {
    for (const parameter of operation.parameters ?? []) describeParameter(parameter, operation.operationId)
    for (const body of bodiesOf(operation)) describeFields(body, operation.operationId)
  }
}

const PLAIN: Record<string, unknown> = { object: {}, string: '' }

/** An example of a whole body, put together from those of its fields. */
export function sampleOf(schema: Schema, document: OpenApi, depth = 0): unknown {
  if (depth > 8) return null
  const name = schema.$ref?.replace('#/components/schemas/', '')
  if (name !== undefined) return sampleOf(document.components.schemas[name] ?? {}, document, depth + 1)
  if (schema.examples !== undefined) return schema.examples[0]
  if (schema.allOf) return Object.assign({}, ...schema.allOf.map((part) => sampleOf(part, document, depth + 1)))
  const inner = meaningOf(schema)
  if (inner !== schema) return sampleOf(inner, document, depth + 1)
  if (schema.properties) {
    const fields = Object.entries(schema.properties)
    return Object.fromEntries(fields.map(([field, part]) => [field, sampleOf(part, document, depth + 1)]))
  }
  if (schema.type === 'array') return schema.items ? [sampleOf(schema.items, document, depth + 1)] : []
  return plainExample(schema) ?? PLAIN[String(schema.type)] ?? null
}
