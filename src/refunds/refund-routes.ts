import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyRequest } from 'fastify'
import { type Actor, actorOf, companiesSeen, sees } from '../http/actor.ts'
import { Envelope, ok } from '../http/envelope.ts'
import { contextOf } from '../http/request-context.ts'
import { AppError } from '../kernel/errors.ts'
import { formatDecimal } from '../kernel/money.ts'
import { Type } from '../kernel/schema.ts'
import { CodeParams } from '../orders/order-schemas.ts'
import { readAddressMessage, setRefundAddress } from './destination/refund-address.ts'
import { settleByHand } from './manual-refund.ts'
import { findMispaymentGoal, type MispaymentRefundDeps, refundMispayment } from './mispayment-refund.ts'
import { proofApi } from './proof/proof-api.ts'
import { PROOF_BODY_BYTES, ProofText, readProof } from './proof/proof-file.ts'
import { approveRefund } from './refund-decisions.ts'
import type { RefundDeps } from './refund-deps.ts'
import { readTxHash, rejectRefund, reportTransaction } from './refund-naming.ts'
import { countRefundsListed, findRefund, listRefunds, type Refund } from './refund-queries.ts'
import {
  AddressMessageQuery,
  AddressMessageSchema,
  Goal,
  MispaymentRefundBody,
  RefundAddressBody,
  Refundable,
  RefundList,
  RefundListQuery,
  RefundSchema,
  RevertBody,
} from './refund-schemas.ts'
import { findRefundable, revertOrder } from './refund-service.ts'
import { viewRefund, viewRefunds } from './refund-views.ts'

const tags = ['payments']
const RevertAnswer = Type.Object({ refundId: Type.String({ description: 'Follow it with GET /refunds/{id}.' }) })
const IdParams = Type.Object({ id: Type.String({ pattern: '^[0-9a-f]{24}$' }) })

async function findReachableRefund(deps: RefundDeps, actor: Actor, id: string): Promise<Refund> {
  const refund = await findRefund(deps.db, id)
  if (!refund || !sees(actor, refund.companyId)) throw new AppError('OBJECT_NOT_FOUND')
  return refund
}

/**
 * Whoever holds the money sends it. If the company sent what the operator holds, it would be booked as the operator's
 * and the company would pay twice.
 * @throws FORBIDDEN
 */
function checkSends({ role }: Actor, { heldBy }: Refund): void {
  if (heldBy === 'company' || role === 'SuperAdmin') return
  const message =
    'The operator of this service holds this money and sends it: only a SuperAdmin names its transaction or settles ' +
    'it. Do not send it yourself. If you have sent it, tell the operator the transaction before he sends it, too.'
  throw new AppError('FORBIDDEN', { message })
}

/** Starts refunds, under the order’s path. */
export const revertRoutes: FastifyPluginAsyncTypebox<RefundDeps> = async (app, deps) => {
  app.get(
    '/revert/:code',
    {
      config: { permission: 'refunds.revert' },
      schema: {
        operationId: 'getRefundable',
        summary: 'How much of an order can be refunded, and where to',
        description:
          'What arrived, less what was refunded, returned separately or ignored. It may differ from the price: more or ' +
          'less than the price may have arrived.',
        tags,
        params: CodeParams,
        response: { 200: Envelope(Refundable) },
      },
    },
    async (request) => {
      const { units, ...facts } = await findRefundable(deps, actorOf(request), request.params.code)
      return ok({ refundableAmount: formatDecimal(units, 6), asset: 'USDC' as const, ...facts })
    },
  )
  app.post(
    '/revert/:code',
    {
      // a part or a bound that is misspelt or lost would refund more than was meant
      config: { permission: 'refunds.revert', allWithout: ['amount', 'mostOwed'], refuseUnknown: { except: [] } },
      schema: {
        operationId: 'revertOrder',
        summary: 'Refund a paid order, wholly or in part',
        description:
          'The body is optional; without it, refunds all that is left. An unknown name and an empty `amount` or `mostOwed` are refused. ' +
          'Follow `refundId` with GET /refunds/{id}.',
        tags,
        params: CodeParams,
        body: RevertBody,
        response: { 200: Envelope(RevertAnswer) },
      },
    },
    async (request) => ok(await revertOrder(deps, contextOf(request), request.params.code, request.body)),
  )
}

/** Refunds: list, decide, set a destination, report one sent by hand. */
export const refundRoutes: FastifyPluginAsyncTypebox<MispaymentRefundDeps> = async (app, deps) => {
  app.get(
    '/refunds',
    {
      config: { permission: 'refunds.read' },
      schema: {
        operationId: 'listRefunds',
        summary: 'List refunds',
        tags,
        querystring: RefundListQuery,
        response: { 200: Envelope(RefundList) },
      },
    },
    async (request) => {
      const { companyId, status = null, code = null, page = 1, limit = 20 } = request.query
      const actor = actorOf(request)
      const isOperator = actor.role === 'SuperAdmin'
      const filter = { companyIds: companiesSeen(actor, companyId), status, isOperator, code }
      const [rows, total] = await Promise.all([
        listRefunds(deps.db, filter, { limit, offset: (page - 1) * limit }),
        countRefundsListed(deps.db, filter),
      ])
      const refunds = await viewRefunds(deps, actor, rows)
      return ok({ refunds, total, page, limit })
    },
  )
  app.get(
    '/refunds/:id',
    {
      config: { permission: 'refunds.read' },
      schema: {
        operationId: 'getRefund',
        summary: 'One refund',
        tags,
        params: IdParams,
        response: { 200: Envelope(RefundSchema) },
      },
    },
    async (request) => {
      const actor = actorOf(request)
      return ok(await viewRefund(deps, actor, await findReachableRefund(deps, actor, request.params.id)))
    },
  )
  app.get(
    '/refunds/address-message',
    {
      config: { permission: 'refunds.revert', allWithout: ['amount'] },
      schema: {
        operationId: 'getRefundAddressMessage',
        summary: 'What a payer signs to have a refund sent to an address',
        description:
          'For the refund that waits for its address, otherwise for the next one. To be signed as ' +
          'wallets sign texts (EIP-191, personal_sign), by the address itself or by the one that paid.',
        tags,
        querystring: AddressMessageQuery,
        response: { 200: Envelope(AddressMessageSchema) },
      },
    },
    async (request) => {
      const { message, facts } = await readAddressMessage(deps, actorOf(request), request.query)
      return ok({ message, refund: facts.number, amount: formatDecimal(facts.units, 6), network: facts.network })
    },
  )
  const answer = async (request: FastifyRequest, refund: Refund) =>
    ok(await viewRefund(deps, actorOf(request), (await findRefund(deps.db, refund.id)) ?? refund))
  app.post(
    '/refunds/:id/approve',
    {
      config: { permission: 'refunds.decide', personal: true },
      schema: {
        operationId: 'approveRefund',
        summary: 'Approve a refund',
        tags,
        params: IdParams,
        response: { 200: Envelope(RefundSchema) },
      },
    },
    async (request) => {
      const refund = await findReachableRefund(deps, actorOf(request), request.params.id)
      await approveRefund(deps, refund, contextOf(request))
      return answer(request, refund)
    },
  )
  app.post(
    '/refunds/:id/reject',
    {
      config: { permission: 'refunds.decide' },
      schema: {
        operationId: 'rejectRefund',
        summary: 'Reject a refund; the order returns to its earlier state',
        tags,
        params: IdParams,
        body: Type.Object({ reason: Type.String({ minLength: 1, maxLength: 256 }) }),
        response: { 200: Envelope(RefundSchema) },
      },
    },
    async (request) => {
      const refund = await findReachableRefund(deps, actorOf(request), request.params.id)
      await rejectRefund(deps, refund, request.body.reason, contextOf(request))
      return answer(request, refund)
    },
  )
  app.post(
    '/refunds/:id/address',
    {
      config: { permission: 'refunds.revert', personal: true },
      schema: {
        operationId: 'setRefundAddress',
        summary: 'Set where an on-chain refund goes',
        tags,
        params: IdParams,
        description:
          'Without a proof, an address that the payer did not state is a proposal: the payer is asked to confirm it. ' +
          'Statement and evidence count only for the address that is proposed now; otherwise the answer is 409.',
        body: RefundAddressBody,
        response: { 200: Envelope(RefundSchema) },
      },
    },
    async (request) => {
      const refund = await findReachableRefund(deps, actorOf(request), request.params.id)
      await setRefundAddress(deps, refund, request.body, contextOf(request))
      return answer(request, refund)
    },
  )
  app.get(
    '/mispayments/:id/refund',
    {
      config: { permission: 'mispayments.decide' },
      schema: {
        operationId: 'getMispaymentRefund',
        summary: 'Where money that never paid its order would go back to',
        tags,
        params: IdParams,
        response: { 200: Envelope(Goal) },
      },
    },
    async (request) => ok(await findMispaymentGoal(deps, actorOf(request), request.params.id)),
  )
  app.post(
    '/mispayments/:id/refund',
    {
      config: { permission: 'mispayments.decide', allWithout: ['amount'] },
      schema: {
        operationId: 'refundMispayment',
        summary: 'Refund money that never paid its order',
        description: 'Answers with the refund; the order’s state does not change.',
        tags,
        params: IdParams,
        body: Type.Optional(MispaymentRefundBody),
        response: { 200: Envelope(Type.Object({ refundId: Type.String() })) },
      },
    },
    async (request) => {
      const { params, body = {} } = request
      return ok({ refundId: await refundMispayment(deps, contextOf(request), params.id, body) })
    },
  )
  app.post(
    '/refunds/:id/settle',
    {
      bodyLimit: PROOF_BODY_BYTES,
      config: { permission: 'refunds.settle' },
      schema: {
        operationId: 'settleRefund',
        summary: 'Settle a refund that was sent outside Comptoir, with proof',
        description:
          'For channels whose provider cannot refund: what was sent, and where to find it. Only a SuperAdmin settles what ' +
          'the operator holds (`heldBy`).',
        tags,
        params: IdParams,
        body: Type.Object({
          reference: Type.String({ minLength: 4, maxLength: 200, description: 'Id of the withdrawal or transfer.' }),
          statement: Type.String({ minLength: 4, maxLength: 500, description: 'How it was sent.' }),
          proof: Type.Optional(ProofText),
        }),
        response: { 200: Envelope(RefundSchema) },
      },
    },
    async (request) => {
      const refund = await findReachableRefund(deps, actorOf(request), request.params.id)
      checkSends(actorOf(request), refund)
      const { reference, statement, proof } = request.body
      const file = proof === undefined ? null : await readProof(proof, 'proof')
      await settleByHand(deps, contextOf(request), refund, { reference, statement, file })
      return answer(request, refund)
    },
  )
  await app.register(proofApi, { ...deps, findReachable: findReachableRefund.bind(null, deps), answer })
  app.post(
    '/refunds/:id/transaction',
    {
      config: { permission: 'refunds.revert' },
      schema: {
        operationId: 'reportRefundTransaction',
        summary: 'Report the transaction of a refund sent by hand',
        description:
          'The transaction is checked on its chain. The refund is settled once it is final. Only a SuperAdmin names one ' +
          'for what the operator holds (`heldBy`).',
        tags,
        params: IdParams,
        body: Type.Object({ txHash: Type.String({ maxLength: 66 }) }),
        response: { 200: Envelope(RefundSchema) },
      },
    },
    async (request) => {
      const refund = await findReachableRefund(deps, actorOf(request), request.params.id)
      checkSends(actorOf(request), refund)
      await reportTransaction(deps, refund, readTxHash(request.body.txHash), contextOf(request))
      return answer(request, refund)
    },
  )
}
