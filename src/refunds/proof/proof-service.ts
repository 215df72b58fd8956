import { lockActor } from '../../companies/company-scope.ts'
import type { Tx } from '../../db/db.ts'
import type { RequestContext } from '../../http/request-context.ts'
import { AppError } from '../../kernel/errors.ts'
import type { RefundDeps } from '../refund-deps.ts'
import type { RefundLinks } from '../refund-link.ts'
import { lockRefund, type Refund } from '../refund-queries.ts'
import { rememberRefund } from '../refund-views.ts'
import { type ProofFile, proofAuditFacts } from './proof-file.ts'
import { findProofBytes, insertProof } from './proof-queries.ts'

type ProofDeps = Pick<RefundDeps, 'db' | 'clock' | 'audit'>

/** Runs in the caller's transaction. @throws OBJECT_CONFLICT if there is one already: evidence is never overwritten */
export async function keepProof(
  { clock }: Pick<RefundDeps, 'clock'>,
  tx: Tx,
  refund: Refund,
  file: ProofFile & { by: string },
): Promise<void> {
  if (await insertProof(tx, refund, { ...file, at: new Date(clock()) })) return
  throw new AppError('OBJECT_CONFLICT', { message: 'This refund has its proof already. It cannot be replaced.' })
}

/** Adds the file to a refund that was settled by hand. @throws OBJECT_CONFLICT */
export async function addProof(
  deps: ProofDeps & { links: RefundLinks },
  context: RequestContext,
  refund: Refund,
  file: ProofFile,
): Promise<void> {
  const { companyId, id } = refund
  const { actor } = context
  await deps.db.tx(async (tx) => {
    await lockActor(tx, actor, companyId)
    const current = await lockRefund(tx, companyId, id)
    if (!current?.settledByHand)
      throw new AppError('OBJECT_CONFLICT', { message: 'Only a refund that was settled by hand takes a proof.' })
    await keepProof(deps, tx, current, { ...file, by: `${actor.kind}:${actor.id}` })
    await rememberRefund(deps, tx, context, current)
    const detail = proofAuditFacts(file)
    await deps.audit.write(tx, context, { companyId, action: 'refund.proof_added', object: `refund:${id}`, detail })
  })
}

const ERASED =
  'This proof file was erased with the payer’s data. Its SHA-256 stays in the refund, to recognise a copy that you keep elsewhere.'

/**
 * The file itself. The audit log records who downloaded it.
 * @throws OBJECT_NOT_FOUND if the refund has no proof, UNAUTHORIZED
 */
export function openProof(deps: ProofDeps, context: RequestContext, { companyId, id }: Refund) {
  return deps.db.tx(async (tx) => {
    await lockActor(tx, context.actor, companyId)
    const file = await findProofBytes(tx, { companyId, id })
    if (!file) throw new AppError('OBJECT_NOT_FOUND', { message: 'This refund has no proof file.' })
    if (file.erasedAt) throw new AppError('OBJECT_NOT_FOUND', { message: ERASED })
    const detail = { sha256: file.sha256 }
    await deps.audit.write(tx, context, { companyId, action: 'refund.proof_read', object: `refund:${id}`, detail })
    return file
  })
}
