import { hash } from 'node:crypto'
import type { ValidateFunction } from 'ajv'
import fastJson, { type Schema as FastJsonSchema } from 'fast-json-stringify'
import type { FastifyInstance, FastifySchemaValidationError } from 'fastify'

declare module 'fastify' {
  interface FastifyInstance {
    /**
     * Compiles the schemas that no request has needed yet, one per turn of the event loop.
     * @throws Error that names the schema's fault
     */
    compileSchemas(): Promise<void>
  }
}

type Compile = (schema: object, httpPart: string | undefined) => ValidateFunction
type Serialize = ReturnType<typeof fastJson>

/** By what they are made of: a process that runs several services, or one after another, compiles each schema once. */
const serializers = new Map<string, Serialize>()

/** @returns what makes a serializer; a schema may refer to those that the service shares between its endpoints */
function openSerializers(app: FastifyInstance): (schema: unknown) => Serialize {
  let shared: { schemas: Record<string, FastJsonSchema>; text: string } | undefined
  const readShared = () => {
    const schemas = app.getSchemas() as Record<string, FastJsonSchema>
    return { schemas, text: JSON.stringify(schemas) }
  }
  return (schema) => {
    shared ??= readShared()
    const key = hash('sha1', shared.text + JSON.stringify(schema))
    const made = serializers.get(key) ?? fastJson(schema as FastJsonSchema, { schema: shared.schemas })
    serializers.set(key, made)
    return made
  }
}

/**
 * Schemas are compiled at the first call of their endpoint. Together they would take 0.6 s of CPU at the start, and a
 * process that runs only workers needs none. A serving process calls `compileSchemas` once it listens.
 */
export function registerSchemas(app: FastifyInstance, compile: Compile): void {
  const waiting = new Set<() => unknown>()
  const once = <Compiled>(make: () => Compiled): (() => Compiled) => {
    let made: Compiled | undefined
    const get = (): Compiled => {
      if (made === undefined) {
        made = make()
        waiting.delete(get)
      }
      return made
    }
    waiting.add(get)
    return get
  }
  app.setValidatorCompiler(({ schema, httpPart }) => {
    const compiled = once(() => compile(schema as object, httpPart))
    // Fastify reads the errors from the function itself
    const validate = (data: unknown): boolean => {
      const own = compiled()
      const fits = own(data)
      validate.errors = (own.errors ?? null) as FastifySchemaValidationError[] | null
      return fits
    }
    validate.errors = null as FastifySchemaValidationError[] | null
    return validate
  })
  const serializerOf = openSerializers(app)
  app.setSerializerCompiler(({ schema }) => {
    const compiled = once(() => serializerOf(schema))
    return (data) => compiled()(data)
  })
  app.decorate('compileSchemas', async () => {
    for (const get of waiting) {
      get()
      await new Promise(setImmediate)
    }
  })
}
