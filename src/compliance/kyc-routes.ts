import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyRequest } from 'fastify'
import { pageOf } from '../companies/company-schemas.ts'
import { companiesFor } from '../companies/company-scope.ts'
import { actorOf } from '../http/actor.ts'
import { Envelope, ok, refTo } from '../http/envelope.ts'
import { callbackOf, keepRawBodies } from '../http/raw-bodies.ts'
import { contextOf } from '../http/request-context.ts'
import { Type } from '../kernel/schema.ts'
import { takeCallback } from './kyc-callback.ts'
import { decideByHand, finishEdd, requestEdd } from './kyc-decisions.ts'
import { countKycs, listKycs } from './kyc-queries.ts'
import * as schemas from './kyc-schemas.ts'
import { findSeenKyc, type KycDeps, startCheck } from './kyc-service.ts'
import { viewKyc, viewKycDetail } from './kyc-views.ts'

const tags = ['kyc']
const KycRef = refTo(schemas.KycSchema)
const params = schemas.KycParams
const answer = { 200: Envelope(KycRef) }

type Decision = { id: string; reason?: string | undefined; updatedAt?: string | undefined }

const deciding = (request: FastifyRequest, { id, reason, updatedAt }: Decision) => ({
  context: contextOf(request),
  ...{ id, reason, updatedAt },
})

/** Identity checks of payers: start, read, decide manually, enhanced due diligence. */
export const kycRoutes: FastifyPluginAsyncTypebox<KycDeps> = async (app, deps) => {
  app.get(
    '/kyc',
    {
      config: { permission: 'kyc.read' },
      schema: {
        operationId: 'listKyc',
        summary: 'List identity checks',
        tags,
        querystring: schemas.KycListQuery,
        response: { 200: Envelope(pageOf('checks', KycRef)) },
      },
    },
    async (request) => {
      const { page, limit, status, ...choice } = request.query
      const companyIds = await companiesFor(deps.db, actorOf(request), choice)
      const filter = { companyIds, status: status ?? null }
      const [rows, total] = await Promise.all([
        listKycs(deps.db, filter, { limit, offset: (page - 1) * limit }),
        countKycs(deps.db, filter),
      ])
      return ok({ checks: rows.map(viewKyc), total, page, limit })
    },
  )
  app.post(
    '/kyc',
    {
      config: { permission: 'kyc.start' },
      schema: {
        operationId: 'startKyc',
        summary: 'Check the payer of an order',
        description: 'Repeating it returns the same check. The payer gets the link by mail.',
        tags,
        body: schemas.StartKycBody,
        response: { 200: Envelope(schemas.AskedSchema) },
      },
    },
    async (request) => ok(await startCheck(deps, contextOf(request), request.body.code)),
  )
  app.get(
    '/kyc/:id',
    {
      config: { permission: 'kyc.read' },
      schema: {
        operationId: 'getKyc',
        summary: 'One identity check with its history',
        tags,
        params,
        response: { 200: Envelope(schemas.KycDetailSchema) },
      },
    },
    async (request, reply) => {
      const context = contextOf(request)
      void reply.header('cache-control', 'no-store')
      return ok(await viewKycDetail(deps, context, await findSeenKyc(deps, context.actor, request.params.id)))
    },
  )
  app.post(
    '/kyc/:id/approve',
    {
      config: { permission: 'kyc.decide' },
      schema: {
        operationId: 'approveKyc',
        summary: 'Approve a check that has no provider',
        tags,
        params,
        body: schemas.ApproveBody,
        response: answer,
      },
    },
    async (request) => {
      const decision = deciding(request, { ...request.params, ...request.body })
      return ok(viewKyc(await decideByHand(deps, decision, 'approved')))
    },
  )
  app.post(
    '/kyc/:id/refuse',
    {
      config: { permission: 'kyc.decide' },
      schema: {
        operationId: 'refuseKyc',
        summary: 'Refuse a check that has no provider',
        tags,
        params,
        body: schemas.RefuseBody,
        response: answer,
      },
    },
    async (request) => {
      const decision = deciding(request, { ...request.params, ...request.body })
      return ok(viewKyc(await decideByHand(deps, decision, 'refused')))
    },
  )
  app.post(
    '/kyc/:id/edd',
    {
      config: { permission: 'kyc.requestEdd' },
      schema: {
        operationId: 'requestEdd',
        summary: 'Request enhanced due diligence for an approved payer',
        description: 'For a higher spending limit. The payer gets the link by mail.',
        tags,
        params,
        body: schemas.EddBody,
        response: answer,
      },
    },
    async (request) => {
      const decision = deciding(request, { ...request.params, ...request.body })
      return ok(viewKyc(await requestEdd(deps, decision, request.body.spendingLimit)))
    },
  )
  app.post(
    '/kyc/:id/edd/complete',
    {
      config: { permission: 'kyc.completeEdd' },
      schema: {
        operationId: 'completeEdd',
        summary: 'Complete enhanced due diligence and set the spending limit',
        tags,
        params,
        body: schemas.EddCompleteBody,
        response: answer,
      },
    },
    async (request) => {
      const decision = deciding(request, { ...request.params, ...request.body })
      return ok(viewKyc(await finishEdd(deps, decision, request.body)))
    },
  )
}

/** Keeps the raw bytes of callbacks, over which the digest is computed. */
export const kycCallbackRoutes: FastifyPluginAsyncTypebox<KycDeps & { live: boolean }> = async (app, deps) => {
  keepRawBodies(app)
  app.post(
    '/kyc/sumsub/callback',
    {
      config: { permission: 'compliance.callback' },
      schema: {
        operationId: 'takeSumsubCallback',
        summary: 'Callbacks of Sumsub',
        description: 'Enter this address as a webhook at Sumsub, with the algorithm HMAC_SHA256_HEX.',
        tags,
        response: { 200: Envelope(Type.Null()) },
      },
    },
    async (request) => {
      await takeCallback(deps, callbackOf(request))
      return ok(null)
    },
  )
}
