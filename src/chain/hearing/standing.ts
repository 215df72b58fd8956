import type { Endpoint } from '../endpoints/endpoint.ts'

/**
 * What an endpoint's word is worth. `current`: it is heard. `paused`: its last call failed, so it is asked only where
 * no other one answers. `unproven`: it may contradict, and confirms nothing. `syncing`: its newest block is so old that
 * what it lacks says nothing. `foreign`: it knows nothing about our heights.
 *
 * That it was wrong, or is behind, is no standing: it is then read last, and heard like any other. A liar could else
 * have the honest one excluded, and be believed alone.
 */
export type Standing = 'current' | 'paused' | 'unproven' | 'syncing' | 'foreign'

export function standingOf(endpoint: Endpoint): Standing {
  if (endpoint.foreign) return 'foreign'
  if (endpoint.unproven) return 'unproven'
  if (endpoint.stale) return 'syncing'
  return endpoint.paused ? 'paused' : 'current'
}

/** Whether we wait for an endpoint that answers, and does not have yet what it is asked about. */
export function isWaitedFor(endpoint: Endpoint): boolean {
  const standing = standingOf(endpoint)
  if (standing === 'unproven') return !endpoint.behind && !endpoint.stale
  return standing === 'current' || standing === 'paused'
}
