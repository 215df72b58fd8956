import { type Clock, HOUR } from '../../kernel/clock.ts'
import type { Vault } from '../../kernel/vault.ts'
import { findFaults, type IdentityGiven } from './identity-fields.ts'
import type { PayView } from './pay-service.ts'

/** What a payer typed that was refused: what was looked for in vain, or who they are. */
export type Typed = { reference: string } | { identity: IdentityGiven }

/** Leads what was typed through the address of the page: sealed, because addresses end up in logs and histories. */
export type TypedKeeper = {
  seal(code: string, typed: Typed): string
  /** Null for what is not ours, of another order, or an hour old. */
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

/** The form as it was sent, with what is wrong with it. */
export function withTyped(view: PayView, typed: Typed | null): PayView {
  if (!view.identity || !typed || !('identity' in typed)) return view
  const given = typed.identity
  return { ...view, identity: { ...view.identity, given, faults: findFaults(view.identity, given) } }
}

type Address = { problem?: string; typed?: string; search?: string }

/** What the page's address says of the search, and what links to the page in other languages keep of it. */
export function searchOf({ problem, typed: sealed, search }: Address, typed: Typed | null) {
  const kept = Object.entries({ problem, typed: sealed, search }).filter(([, value]) => value !== undefined)
  const reference = typed && 'reference' in typed ? typed.reference : null
  return { search: reference ?? (search ? '' : null), kept: Object.fromEntries(kept) as Record<string, string> }
}
