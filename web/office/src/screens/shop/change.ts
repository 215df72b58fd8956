import { type Body, call, type Schemas } from '../../api/call.ts'
import { useAction } from '../../api/hooks.ts'
import { changed } from '../../kit/changed.ts'
import { useCore } from '../../texts/lang.ts'

type Change = Body<'changeCompany'>

/** Of a backup: the person says that the payout address is right. It is sent, though it is the same. */
export const ADDRESS_IS_RIGHT = 'addressIsRight'

/** Sends only what was changed; an unchanged payout address also needs no fresh code. */
export function useChange(company: Schemas['Company']) {
  const core = useCore()
  return useAction({
    run: ({ [ADDRESS_IS_RIGHT]: isRight, ...values }: Record<string, unknown>) => {
      const { settlementAddress } = values
      const body = { ...changed(company, values), ...(isRight ? { settlementAddress } : {}) } as Change
      return call('PUT /api/next/companies/{id}', { path: { id: company._id }, body })
    },
    done: core.saved,
  })
}

/** A form resets when its own data changed, not when another panel of the company was saved. */
export const keyOf = (company: Schemas['Company'], names: readonly (keyof Schemas['Company'])[]): string =>
  JSON.stringify(names.map((name) => company[name] ?? null))
