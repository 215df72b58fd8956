import { lockActor } from '../companies/company-scope.ts'
import type { RequestContext } from '../http/request-context.ts'
import type { Static } from '../kernel/schema.ts'
import type { Kyc } from './kyc.ts'
import { listKycHistory, listWaitingOrders } from './kyc-queries.ts'
import { isPermitted, listKycActions } from './kyc-rules.ts'
import type { KycDetailSchema, KycSchema } from './kyc-schemas.ts'
import { type KycDeps, openEmail } from './kyc-service.ts'

export const viewKyc = (kyc: Kyc): Static<typeof KycSchema> => ({
  _id: kyc.id,
  company: kyc.companyId,
  provider: kyc.provider,
  status: kyc.status,
  eddStatus: kyc.eddStatus,
  eddOutcome: kyc.eddOutcome,
  spendingLimit: kyc.spendingLimit,
  message: kyc.providerStatus,
  createdAt: kyc.createdAt.toISOString(),
  updatedAt: kyc.updatedAt.toISOString(),
})

/** The payer's e-mail; the audit log records the look, as it does at the order. */
async function readEmail(deps: KycDeps, context: RequestContext, kyc: Kyc): Promise<string | null> {
  const email = openEmail(deps, kyc)
  if (email === null) return null
  const { companyId, id } = kyc
  await deps.db.tx(async (tx) => {
    await lockActor(tx, context.actor, companyId)
    const detail = { fields: ['email'] }
    await deps.audit.write(tx, context, { action: 'payer.read', companyId, object: `kyc:${id}`, detail })
  })
  return email
}

/** One check with its history; the payer's e-mail only for those who may read it. */
export async function viewKycDetail(
  deps: KycDeps,
  context: RequestContext,
  kyc: Kyc,
): Promise<Static<typeof KycDetailSchema>> {
  const [history, orders] = await Promise.all([listKycHistory(deps.db, kyc), listWaitingOrders(deps.db, kyc, 100)])
  return {
    ...viewKyc(kyc),
    payer: isPermitted(context.actor, 'payers.read') ? { email: await readEmail(deps, context, kyc) } : null,
    orders: orders.map(({ code, shortCode, alias }) => ({ code, shortCode, alias })),
    mayDo: listKycActions(deps, context.actor, kyc),
    history: history.map(({ at, ...entry }) => ({ ...entry, at: at.toISOString() })),
  }
}
