import type { FastifyInstance } from 'fastify'

type Pattern = { method: string; regex: RegExp }

function toRegex(url: string): RegExp {
  const escaped = url.replace(/[.+?^${}()|[\]\\]/g, '\\$&').replace(/:[A-Za-z]+/g, '[^/]+')
  return new RegExp(`^${escaped.replace(/\*/g, '.*')}$`)
}

/** The methods that exist at a path, for `Allow` and for preflights. Empty: nothing exists there. */
export type MethodsAt = (url: string) => string[]

/** Records every route registered after this call. */
export function openRouteTable(app: FastifyInstance): MethodsAt {
  const patterns: Pattern[] = []
  app.addHook('onRoute', (route) => {
    for (const method of [route.method].flat()) patterns.push({ method, regex: toRegex(route.url) })
  })
  return (url) => {
    const path = url.split('?')[0] ?? ''
    return [...new Set(patterns.filter(({ regex }) => regex.test(path)).map(({ method }) => method))].sort()
  }
}
