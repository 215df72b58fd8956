import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { actorOf } from '../http/actor.ts'
import { Envelope, ok, refTo } from '../http/envelope.ts'
import { contextOf } from '../http/request-context.ts'
import { Type } from '../kernel/schema.ts'
import type { Vault } from '../kernel/vault.ts'
import { openSessionTokens } from './button-landing.ts'
import * as service from './button-service.ts'
import * as schemas from './company-schemas.ts'

const tags = ['companies']
const ButtonRef = refTo(schemas.ButtonSchema)
const SessionRef = refTo(schemas.SessionSchema)

/** Buy buttons of websites. */
export const buttonRoutes: FastifyPluginAsyncTypebox<service.ButtonDeps> = async (app, deps) => {
  app.get(
    '/buy-buttons',
    {
      config: { permission: 'buttons.read' },
      schema: {
        operationId: 'listBuyButtons',
        summary: 'List buy buttons',
        tags,
        querystring: Type.Object({ ...schemas.ChoiceQuery, ...schemas.PageQuery }),
        response: { 200: Envelope(schemas.pageOf('buyButtons', ButtonRef)) },
      },
    },
    async (request) => {
      const page = await service.listButtons(deps, actorOf(request), request.query)
      return ok({ ...page, buyButtons: page.buyButtons.map(service.viewButton) })
    },
  )
  app.post(
    '/buy-buttons',
    {
      config: { permission: 'buttons.write' },
      schema: {
        operationId: 'createBuyButton',
        summary: 'Add a buy button',
        tags,
        querystring: schemas.ChoiceOnly,
        body: schemas.ButtonBody,
        response: { 200: Envelope(ButtonRef) },
      },
    },
    async (request) => {
      const { query } = request
      const fields = request.body
      const button = await service.createButton(deps, contextOf(request), query, fields)
      return ok(service.viewButton(button))
    },
  )
  app.get(
    '/buy-buttons/:id',
    {
      config: { permission: 'buttons.read' },
      schema: {
        operationId: 'getBuyButton',
        summary: 'One buy button',
        tags,
        params: schemas.IdParams,
        response: { 200: Envelope(ButtonRef) },
      },
    },
    async (request) => ok(service.viewButton(await service.readButton(deps, actorOf(request), request.params.id))),
  )
  app.put(
    '/buy-buttons/:id',
    {
      config: { permission: 'buttons.write' },
      schema: {
        operationId: 'changeBuyButton',
        summary: 'Change a buy button',
        description: 'Changes only the fields you send.',
        tags,
        params: schemas.IdParams,
        body: schemas.ButtonChange,
        response: { 200: Envelope(ButtonRef) },
      },
    },
    async (request) => {
      const fields = request.body
      const { id } = request.params
      const button = await service.changeButton(deps, contextOf(request), id, fields)
      return ok(service.viewButton(button))
    },
  )
  app.delete(
    '/buy-buttons/:id',
    {
      config: { permission: 'buttons.write' },
      schema: {
        operationId: 'deleteBuyButton',
        summary: 'Remove a buy button and end its sessions',
        tags,
        params: schemas.IdParams,
        response: { 200: Envelope(Type.Null()) },
      },
    },
    async (request) => {
      await service.deleteButton(deps, contextOf(request), request.params.id)
      return ok(null)
    },
  )
}

/** Buy-button sessions: each order on a website belongs to one. */
export const buttonSessionRoutes: FastifyPluginAsyncTypebox<service.ButtonDeps & { vault: Vault }> = async (
  app,
  deps,
) => {
  const sessionTokens = openSessionTokens(deps.vault)
  app.post(
    '/buy-button/sessions',
    {
      config: { permission: 'buttonSessions.write' },
      schema: {
        operationId: 'createBuyButtonSession',
        summary: 'Start a session for one buyer',
        tags,
        body: schemas.SessionBody,
        response: { 200: Envelope(SessionRef) },
      },
    },
    async (request) => {
      const fields = request.body
      const session = await service.createSession(deps, contextOf(request), fields)
      return ok(service.viewSession(session))
    },
  )
  app.get(
    '/buy-button/sessions/:id',
    {
      config: { permission: 'buttonSessions.read' },
      schema: {
        operationId: 'getBuyButtonSession',
        summary: 'One session',
        tags,
        params: schemas.IdParams,
        response: { 200: Envelope(SessionRef) },
      },
    },
    async (request) => {
      const { id } = request.params
      return ok(service.viewSession(await service.readSession(deps, actorOf(request), { id })))
    },
  )
  app.get(
    '/buy-button/sessions/code/:code',
    {
      config: { permission: 'buttonSessions.read' },
      schema: {
        operationId: 'getBuyButtonSessionByCode',
        summary: 'One session by its code',
        tags,
        params: Type.Object({ code: Type.String({ minLength: 1, maxLength: 64 }) }),
        response: { 200: Envelope(SessionRef) },
      },
    },
    async (request) => {
      const { code } = request.params
      return ok(service.viewSession(await service.readSession(deps, actorOf(request), { code })))
    },
  )
  app.delete(
    '/buy-button/sessions/:id',
    {
      config: { permission: 'buttonSessions.end' },
      schema: {
        operationId: 'endBuyButtonSession',
        summary: 'End a session and cancel its open order',
        tags,
        params: schemas.IdParams,
        response: { 200: Envelope(Type.Null()) },
      },
    },
    async (request) => {
      const { headers, params } = request
      // the buyer's own page ends its session with the token that it was given
      if (sessionTokens.isBorneBy(params.id, headers.authorization)) await service.endOwnSession(deps, params.id)
      else await service.endSession(deps, contextOf(request), params.id)
      return ok(null)
    },
  )
}
