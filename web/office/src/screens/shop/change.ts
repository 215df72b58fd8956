import { type Body, call, type Schemas } from '../../api/call.ts'
import { useAction } from '../../api/hooks.ts'
import { useCore } from '../../texts/lang.ts'

type Change = Body<'changeCompany'>

/** Sends only what was changed: an unchanged payout address needs no fresh code. */
function changesOf(company: Schemas['Company'], values: Record<string, unknown>): Change {
  const entries = Object.entries(values).filter(
    ([name, value]) => String(value ?? '') !== String(company[name as keyof typeof company] ?? ''),
  )
  return Object.fromEntries(entries) as Change
}

export function useChange(company: Schemas['Company']) {
  const core = useCore()
  return useAction({
    run: (values: Record<string, unknown>) =>
      call('PUT /api/next/companies/{id}', { path: { id: company._id }, body: changesOf(company, values) }),
    done: core.saved,
  })
}

/** A form resets when its own data changed, not when another panel of the company was saved. */
export const keyOf = (company: Schemas['Company'], names: readonly (keyof Schemas['Company'])[]): string =>
  JSON.stringify(names.map((name) => company[name] ?? null))
