import type { Actor } from '../http/actor.ts'
import { listPermissions, type PermissionName } from '../http/permissions.ts'
import { isEddAsked, type Kyc, type KycAction } from './kyc.ts'
import type { KycDeps } from './kyc-service.ts'

type Deps = Pick<KycDeps, 'provider'>

/** Roles only: API keys neither decide nor read about payers. */
export const isPermitted = (actor: Actor, name: PermissionName): boolean =>
  actor.kind === 'user' && listPermissions(actor).includes(name)

/**
 * Why this person may not decide the check by hand; null: he may. One of a provider that is not set up here is the
 * operator's: the settings may be missing on this node only.
 */
export function findByHandFault({ provider }: Deps, actor: Actor, kyc: Kyc): string | null {
  if (kyc.provider === 'manual') return null
  if (kyc.provider === provider.id)
    return `${kyc.provider} decides this check. Decide it there; the result arrives automatically.`
  return actor.role === 'SuperAdmin'
    ? null
    : `${kyc.provider} decides this check, and is not set up here. Ask the operator.`
}

export const maySetLimit = ({ role }: Actor): boolean => role === 'SuperAdmin'

/** What this person may do with the check as it stands, and what would change it. */
export function listKycActions(deps: Deps, actor: Actor, kyc: Kyc): KycAction[] {
  const { status, provider } = kyc
  const isByHand = isPermitted(actor, 'kyc.decide') && findByHandFault(deps, actor, kyc) === null
  const isApproved = status === 'approved'
  const mayAsk = isApproved && !isEddAsked(kyc) && isPermitted(actor, 'kyc.requestEdd')
  const may: Record<KycAction, boolean> = {
    approve: isByHand && !isApproved,
    refuse: isByHand && status !== 'refused',
    requestEdd: mayAsk,
    // granted when a provider approves, which `manual` never does
    grantLimit: mayAsk && maySetLimit(actor) && provider !== 'manual',
    completeEdd: isApproved && isEddAsked(kyc) && isPermitted(actor, 'kyc.completeEdd'),
  }
  return (Object.keys(may) as KycAction[]).filter((action) => may[action])
}
