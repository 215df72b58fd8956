import type { CHOICES } from '../../kernel/schema.ts'

/** The parts of an OpenAPI 3.1 document that are read or written here. */
export type Schema = {
  $ref?: string
  type?: string | string[]
  title?: string
  description?: string
  enum?: unknown[]
  const?: unknown
  format?: string
  pattern?: string
  maxLength?: number
  default?: unknown
  examples?: unknown[]
  properties?: Record<string, Schema>
  required?: string[]
  items?: Schema
  additionalProperties?: Schema | boolean
  anyOf?: Schema[]
  oneOf?: Schema[]
  allOf?: Schema[]
  [CHOICES]?: unknown[]
}

export type Media = { schema?: Schema; example?: unknown; examples?: Record<string, unknown> }
export type Header = { $ref: string }
export type Response = {
  $ref?: string
  description?: string
  headers?: Record<string, Header>
  content?: Record<string, Media>
}
export type Parameter = {
  $ref?: string
  name?: string
  in?: string
  required?: boolean
  description?: string
  example?: unknown
  schema?: Schema
}
export type Operation = {
  operationId: string
  summary?: string
  description?: string
  tags?: string[]
  security?: Record<string, string[]>[]
  parameters?: Parameter[]
  requestBody?: { required?: boolean; content: Record<string, Media> }
  responses: Record<string, Response>
  'x-permission'?: string
}
export type PathItem = Record<string, Operation>
export type OpenApi = {
  openapi: string
  paths: Record<string, PathItem>
  webhooks?: Record<string, PathItem>
  tags?: { name: string; description: string }[]
  components: {
    schemas: Record<string, Schema>
    responses?: Record<string, Response>
    headers?: Record<string, unknown>
    parameters?: Record<string, unknown>
    examples?: Record<string, unknown>
    securitySchemes: Record<string, unknown>
  }
}

export const operationsOf = (document: OpenApi): { path: string; method: string; operation: Operation }[] =>
  Object.entries(document.paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => ({ path, method, operation })),
  )
