import type { Type as Library, TSchema } from 'typebox'

export type { Static, TInteger, TSchema, TSchemaOptions } from 'typebox'

/*
 * JSON Schemas as values, with the types that TypeBox reads from them. The types are the library's; the values are made
 * here, because it loads 373 files to make them: a sixth of every start's processor time
 * (docs/benchmarks.md, "Growth and start"). `schema.test.ts` compares each builder with the library's.
 */
type Keywords = Record<string, unknown>
type Schemas = Record<string, Keywords>

/** Not enumerable, as in the library: a schema that is spread into another becomes required again. */
const OPTIONAL = '~optional'
const isOptional = (schema: Keywords): boolean => Object.hasOwn(schema, OPTIONAL)

const optional = (schema: Keywords): Keywords => Object.defineProperty({ ...schema }, OPTIONAL, { value: true })

/** Creates a builder for schemas that consist of keywords only. */
const plain =
  (keywords: Keywords) =>
  (options?: Keywords): Keywords => ({ ...keywords, ...options })

function object(properties: Schemas, options?: Keywords): Keywords {
  const required = Object.keys(properties).filter((name) => !isOptional(properties[name] ?? {}))
  return { type: 'object', ...(required.length > 0 && { required }), properties, ...options }
}

const optionalEach = (properties: Schemas): Schemas =>
  Object.fromEntries(Object.entries(properties).map(([name, schema]) => [name, optional(schema)]))

const builders = {
  Any: plain({}),
  Array: (items: Keywords, options?: Keywords) => ({ type: 'array', items, ...options }),
  Boolean: plain({ type: 'boolean' }),
  Enum: (values: Record<string, string>, options?: Keywords) => ({ enum: Object.values(values), ...options }),
  Integer: plain({ type: 'integer' }),
  Literal: (value: string | number | boolean, options?: Keywords) => ({ type: typeof value, const: value, ...options }),
  Null: plain({ type: 'null' }),
  Number: plain({ type: 'number' }),
  Object: object,
  Optional: optional,
  Partial: ({ properties }: { properties: Schemas }, options?: Keywords) => ({
    ...object(optionalEach(properties)),
    ...options,
  }),
  /** Keys may be any text. */
  Record: (_key: Keywords, value: Keywords, options?: Keywords) => ({
    type: 'object',
    patternProperties: { '^.*$': value },
    ...options,
  }),
  Ref: (name: string, options?: Keywords) => ({ $ref: name, ...options }),
  String: plain({ type: 'string' }),
  Union: (anyOf: Keywords[], options?: Keywords) => ({ anyOf, ...options }),
  Unknown: plain({}),
  Unsafe: (schema: TSchema) => schema,
}

export const Type = builders as unknown as Pick<typeof Library, keyof typeof builders>

/**
 * Keyword for the words that a filter knows, where its schema takes more than single words: several with commas, or
 * small letters. They are checked where they are read, and the OpenAPI document names them.
 */
export const CHOICES = 'x-choices'

/** The text that a list is filtered by. An empty field of a form is sent as empty text, and filters by nothing. */
export const filterText = (text: string | undefined): string | null => text?.trim() || null
