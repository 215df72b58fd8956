import { useCan } from '../api/session.ts'
import { Copy, Empty } from '../kit/parts.tsx'
import { useCore } from '../texts/lang.ts'

/** Before the first merchant: where companies come from. */
export function NoCompany() {
  const core = useCore()
  const can = useCan()
  if (!can('companies.approve')) {
    return (
      <Empty icon="shop" title={core.noneAssigned}>
        {core.noneAssignedText}
      </Empty>
    )
  }
  const address = `${location.origin}/app/register`
  return (
    <Empty icon="shop" title={core.noCompany}>
      <p className="mb-3">{core.noCompanyText}</p>
      <p className="mb-1 font-mono text-[13px] break-all text-ink">{address}</p>
      <Copy text={address} />
    </Empty>
  )
}
