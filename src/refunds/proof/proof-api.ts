import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { type Actor, actorOf } from '../../http/actor.ts'
import { Envelope, type ok } from '../../http/envelope.ts'
import { contextOf } from '../../http/request-context.ts'
import { type Static, Type } from '../../kernel/schema.ts'
import type { MispaymentRefundDeps } from '../mispayment-refund.ts'
import type { Refund } from '../refund-queries.ts'
import { RefundSchema } from '../refund-schemas.ts'
import { PROOF_BODY_BYTES, type ProofFile, ProofText, readProof } from './proof-file.ts'
import { addProof, openProof } from './proof-service.ts'

type ProofApiDeps = Pick<MispaymentRefundDeps, 'db' | 'clock' | 'audit' | 'links'> & {
  /** @throws OBJECT_NOT_FOUND for another company’s */
  findReachable(actor: Actor, id: string): Promise<Refund>
  answer(request: FastifyRequest, refund: Refund): Promise<ReturnType<typeof ok<Static<typeof RefundSchema>>>>
}

const tags = ['payments']
const IdParams = Type.Object({ id: Type.String({ pattern: '^[0-9a-f]{24}$' }) })
const KINDS = ['image/png', 'image/jpeg', 'image/webp', 'application/pdf']

/** The browser never displays it: a PDF is stored as it was sent. */
function sendProof(reply: FastifyReply, refundId: string, { mime, bytes }: Pick<ProofFile, 'mime' | 'bytes'>) {
  const ending = mime === 'application/pdf' ? 'pdf' : 'webp'
  return reply
    .headers({
      'content-type': mime,
      'content-disposition': `attachment; filename="refund-${refundId}.${ending}"`,
      'cache-control': 'private, no-store',
      'content-security-policy': "default-src 'none'; sandbox",
      'x-content-type-options': 'nosniff',
    })
    .send(bytes)
}

/** The proof file of a refund settled by hand. A plugin of its own, because it accepts files as bodies. */
export const proofApi: FastifyPluginAsyncTypebox<ProofApiDeps> = async (app, deps) => {
  app.addContentTypeParser(KINDS, { parseAs: 'buffer' }, (_request, body, done) =>
    done(null, { file: body.toString('base64') }),
  )
  app.post(
    '/refunds/:id/proof',
    {
      bodyLimit: PROOF_BODY_BYTES,
      config: { permission: 'refunds.settle' },
      schema: {
        operationId: 'addRefundProof',
        summary: 'Add the proof file of a refund settled by hand',
        description:
          'PNG, JPEG, WebP or PDF, at most 1 MB, in base64; or send the file itself as the body, with its type in ' +
          'Content-Type. Pictures are redrawn without their metadata. A refund takes one file, which cannot be replaced.',
        tags,
        params: IdParams,
        body: Type.Object({ file: ProofText }),
        response: { 200: Envelope(RefundSchema) },
      },
    },
    async (request) => {
      const refund = await deps.findReachable(actorOf(request), request.params.id)
      await addProof(deps, contextOf(request), refund, await readProof(request.body.file, 'file'))
      return deps.answer(request, refund)
    },
  )
  app.get(
    '/refunds/:id/proof',
    {
      exposeHeadRoute: false,
      // a bank receipt names the payer and the account, so it is payer information
      config: { permission: 'payers.read' },
      schema: {
        operationId: 'downloadRefundProof',
        summary: 'Download the proof file of a refund',
        description:
          'Always as an attachment. The reading is in the audit log. For those who may read payer information.',
        tags,
        params: IdParams,
        response: {
          200: {
            description: 'The file.',
            content: {
              'image/webp': { schema: Type.String({ description: 'A picture, redrawn.' }) },
              'application/pdf': { schema: Type.String({ description: 'A PDF, as it was sent.' }) },
            },
          },
        },
      },
    },
    async (request, reply) => {
      const refund = await deps.findReachable(actorOf(request), request.params.id)
      return sendProof(reply, refund.id, await openProof(deps, contextOf(request), refund))
    },
  )
}
