/*
 * What OpenAPI 3.0 cannot say and the public down-converter leaves: `type: null`, and a choice of types. It becomes
 * `nullable`, one enum for a choice of enums, and any value for a choice of types such as number or text.
 */
type Node = { [key: string]: unknown }

const isNode = (value: unknown): value is Node => typeof value === 'object' && value !== null && !Array.isArray(value)

function lowerChoice(choices: Node[]): Node {
  const [only, ...others] = choices
  if (only && others.length === 0) return only.$ref === undefined ? only : { allOf: [only] }
  const values = choices.flatMap((choice) => (Array.isArray(choice.enum) ? choice.enum : [undefined]))
  return values.includes(undefined) ? {} : { type: 'string', enum: values }
}

/** The document with each `anyOf` and each `type: null` in words of 3.0; examples are left as they are. */
export function lowerSchemas(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(lowerSchemas)
  if (!isNode(value)) return value
  const entries = Object.entries(value).map(([key, part]) => [key, /^examples?$/.test(key) ? part : lowerSchemas(part)])
  const { anyOf, ...rest } = Object.fromEntries(entries) as Node
  if (rest.type === 'null') return { ...rest, type: undefined, nullable: true }
  if (!Array.isArray(anyOf)) return rest
  const choices = anyOf.filter(isNode).filter(({ type, nullable }) => type !== undefined || nullable !== true)
  const nullable = choices.length < anyOf.length ? { nullable: true } : {}
  return { ...lowerChoice(choices), ...rest, ...nullable }
}
