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
  app.setSerializerCompiler(({ schema }) => {
    const compiled = once(() =>
      fastJson(schema as FastJsonSchema, { schema: app.getSchemas() as Record<string, FastJsonSchema> }),
    )
    return (data) => compiled()(data)
  })
  app.decorate('compileSchemas', async () => {
    for (const get of waiting) {
      get()
      await new Promise(setImmediate)
    }
  })
}
