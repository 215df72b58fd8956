import type { HttpRequest } from '../virtual/network.ts'
import { currentScope, type Scheduler, type Scope } from '../virtual/scheduler.ts'

/** Fails when two nodes send one refund to a provider at the same time. */
export function watchRefunds(scheduler: Scheduler) {
  const underWay = new Map<string, Scope | null>()
  return ({ method, url, body }: HttpRequest): (() => void) | undefined => {
    if (method !== 'POST' || !url.pathname.includes('refund') || url.host !== 'providers.example') return undefined
    const key = `${url.pathname} ${body}`
    const other = underWay.get(key)
    if (other?.alive)
      scheduler.fail(new Error(`Broken: ${currentScope()?.name} and ${other.name} ask for one refund at once: ${key}`))
    underWay.set(key, currentScope())
    return () => void underWay.delete(key)
  }
}
