import { type Clock, HOUR } from '../../kernel/clock.ts'
import type { Vault } from '../../kernel/vault.ts'
import { findFaults, type IdentityGiven } from './identity-fields.ts'
import type { PayView } from './pay-service.ts'

/**
 * What a payer typed: a search without result, or identity fields. They were refused, unless they are a draft on its
 * way into another language.
 */
export type Typed = { reference: string } | { identity: IdentityGiven; isDraft?: true }

/** Carries the input through the page's URL: encrypted, because URLs end up in logs and histories. */
export type TypedKeeper = {
  seal(code: string, typed: Typed): string
  /** Null for text that is not ours, belongs to another order, or is an hour old. */
  open(code: string, sealed: string | undefined): Typed | null
}

export function openTypedKeeper({ vault, clock }: { vault: Vault; clock: Clock }): TypedKeeper {
  const contextOf = (code: string): string => `typed:${code}`
  return {
    seal: (code, typed) => vault.seal(JSON.stringify({ typed, at: clock() }), contextOf(code)),
    open(code, sealed) {
      if (sealed === undefined) return null
      try {
        const { typed, at } = JSON.parse(vault.open(sealed, contextOf(code))) as { typed: Typed; at: number }
        return clock() - at < HOUR ? typed : null
      } catch {
        return null
      }
    },
  }
}

/** The form as it was sent, with its faults if it has any. */
export function withTyped(view: PayView, typed: Typed | null): PayView {
  if (!view.identity || !typed || !('identity' in typed)) return view
  const { identity: given, isDraft } = typed
  return { ...view, identity: { ...view.identity, given, faults: isDraft ? {} : findFaults(view.identity, given) } }
}

type Address = { problem?: string; typed?: string; search?: string }

/** The search parameters of the page, and those that links to other languages keep. */
export function searchOf({ problem, typed: sealed, search }: Address, typed: Typed | null) {
  const kept = Object.entries({ problem, typed: sealed, search }).filter(([, value]) => value !== undefined)
  const reference = typed && 'reference' in typed ? typed.reference : null
  return { search: reference ?? (search ? '' : null), kept: Object.fromEntries(kept) as Record<string, string> }
}
