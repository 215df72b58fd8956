import { type Body, call, type Schemas } from '../../api/call.ts'
import { useAction } from '../../api/hooks.ts'
import { changed } from '../../kit/changed.ts'
import { useCore } from '../../texts/lang.ts'

type Change = Body<'changeCompany'>

/**
 * Sends only what was changed; an unchanged payout address also needs no fresh code. One of a backup is sent unchanged,
 * too: whoever saves it confirms it.
 */
export function useChange(company: Schemas['Company']) {
  const core = useCore()
  return useAction({
    run: (values: Record<string, unknown>) => {
      const { settlementAddress } = values
      const confirmed = company.settlementRestored && settlementAddress !== undefined ? { settlementAddress } : {}
      const body = { ...changed(company, values), ...confirmed } as Change
      return call('PUT /api/next/companies/{id}', { path: { id: company._id }, body })
    },
    done: core.saved,
  })
}

/** A form resets when its own data changed, not when another panel of the company was saved. */
export const keyOf = (company: Schemas['Company'], names: readonly (keyof Schemas['Company'])[]): string =>
  JSON.stringify(names.map((name) => company[name] ?? null))
