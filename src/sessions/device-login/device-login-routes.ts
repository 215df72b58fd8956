import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { ChoiceOnly } from '../../companies/company-schemas.ts'
import { companyFor } from '../../companies/company-scope.ts'
import type { ApiScope } from '../../http/actor.ts'
import { Envelope, ok } from '../../http/envelope.ts'
import { contextOf, visitorContextOf } from '../../http/request-context.ts'
import { NAME_PATTERN } from '../../kernel/names.ts'
import { Type } from '../../kernel/schema.ts'
import { noStore } from '../auth-service.ts'
import * as service from './device-login-service.ts'

const tags = ['authentication']
const Scopes = Type.Array(Type.String({ enum: [...service.DEVICE_SCOPES] }), { minItems: 1, uniqueItems: true })
const clientName = {
  description: 'What the program calls itself. The person who confirms reads it as a claim.',
  examples: ['comptoir on lena-laptop'],
}
const StartBody = Type.Object({
  clientName: Type.String({ minLength: 1, maxLength: 60, pattern: NAME_PATTERN, ...clientName }),
  scopes: Type.Optional(Scopes),
})
const DEVICE_CODE = { description: 'Secret of the program that waits.', examples: ['dvc_9xQm2…'] }
const StartedSchema = Type.Object({
  deviceCode: Type.String(DEVICE_CODE),
  userCode: Type.String(),
  verificationUri: Type.String({
    format: 'uri',
    description: 'Where the person types the code.',
    examples: ['https://pay.example/app/device'],
  }),
  verificationUriComplete: Type.String({
    format: 'uri',
    description: 'The same page with the code filled in.',
    examples: ['https://pay.example/app/device?code=7KQ4-M2XP'],
  }),
  expiresInSeconds: Type.Integer({ description: 'How long both codes live.', examples: [600] }),
  intervalSeconds: Type.Integer({ description: 'The shortest pause between two questions.', examples: [5] }),
})
const ClaimBody = Type.Object({ deviceCode: Type.String({ minLength: 1, maxLength: 100, ...DEVICE_CODE }) })
const KeySchema = Type.Object({
  _id: Type.String(),
  name: Type.String(),
  company: Type.String(),
  apiKey: Type.String(),
  apiSecret: Type.String(),
  scopes: Type.Array(Type.String({ enum: [...service.DEVICE_SCOPES] })),
  expiresAt: Type.String({ format: 'date-time' }),
})
const UserCodeParams = Type.Object({ userCode: Type.String({ minLength: 1, maxLength: 20 }) })
const LoginSchema = Type.Object({
  clientName: Type.String(clientName),
  ip: Type.String(),
  sameAddress: Type.Boolean({
    description: 'Whether the login was started from the address that you ask from.',
    examples: [true],
  }),
  scopes: Type.Array(Type.String({ enum: [...service.DEVICE_SCOPES] })),
  status: Type.String({ enum: ['pending', 'approved', 'denied', 'used'] }),
  createdAt: Type.String({ format: 'date-time' }),
  expiresAt: Type.String({ format: 'date-time' }),
})
const ApproveBody = Type.Object({
  scopes: Type.Optional(Scopes),
  days: Type.Optional(
    Type.Integer({ minimum: 1, maximum: 365, description: 'Days that the key lives; default 90.', examples: [90] }),
  ),
})

/** Logging in a program without giving it a password: the device flow of RFC 8628. */
export const deviceLoginRoutes: FastifyPluginAsyncTypebox<service.DeviceLoginDeps> = async (app, deps) => {
  app.addHook('onRequest', noStore)
  app.post(
    '/device',
    {
      config: { permission: 'deviceLogins.start' },
      schema: {
        operationId: 'startDeviceLogin',
        summary: 'Start logging in a program',
        tags,
        body: StartBody,
        response: { 200: Envelope(StartedSchema) },
      },
    },
    async (request) => {
      const { clientName, scopes = service.DEVICE_SCOPES } = request.body
      return ok(
        await service.startDeviceLogin(deps, visitorContextOf(request), { clientName, scopes: scopes as ApiScope[] }),
      )
    },
  )
  app.post(
    '/device/token',
    {
      config: { permission: 'deviceLogins.claim' },
      schema: {
        operationId: 'claimDeviceLogin',
        summary: 'Fetch the key of a confirmed login',
        tags,
        body: ClaimBody,
        response: { 200: Envelope(KeySchema) },
      },
    },
    async (request) => ok(await service.claimDeviceLogin(deps, visitorContextOf(request), request.body.deviceCode)),
  )
  app.get(
    '/device/:userCode',
    {
      config: { permission: 'deviceLogins.read' },
      schema: {
        operationId: 'getDeviceLogin',
        summary: 'Read what a waiting login asks for',
        tags,
        params: UserCodeParams,
        response: { 200: Envelope(LoginSchema) },
      },
    },
    async (request) => {
      const login = await service.readDeviceLogin(deps, contextOf(request), request.params.userCode)
      const { clientName, ip, sameAddress, scopes, status, createdAt, expiresAt } = login
      const times = { createdAt: createdAt.toISOString(), expiresAt: expiresAt.toISOString() }
      return ok({ clientName, ip, sameAddress, scopes, status, ...times })
    },
  )
  app.post(
    '/device/:userCode/approve',
    {
      config: { permission: 'deviceLogins.approve' },
      schema: {
        operationId: 'approveDeviceLogin',
        summary: 'Confirm a login; needs a fresh second factor',
        tags,
        params: UserCodeParams,
        querystring: ChoiceOnly,
        body: ApproveBody,
        response: { 200: Envelope(Type.Null()) },
      },
    },
    async (request) => {
      const context = contextOf(request)
      const { scopes, days = service.DEFAULT_DAYS } = request.body
      const companyId = await companyFor(deps.db, context.actor, request.query)
      const decision = { approved: true as const, companyId, scopes: scopes as ApiScope[] | undefined, days }
      await service.decideDeviceLogin(deps, context, { userCode: request.params.userCode, decision })
      return ok(null)
    },
  )
  app.post(
    '/device/:userCode/deny',
    {
      config: { permission: 'deviceLogins.deny' },
      schema: {
        operationId: 'denyDeviceLogin',
        summary: 'Refuse a login',
        tags,
        params: UserCodeParams,
        response: { 200: Envelope(Type.Null()) },
      },
    },
    async (request) => {
      const { userCode } = request.params
      await service.decideDeviceLogin(deps, contextOf(request), { userCode, decision: { approved: false } })
      return ok(null)
    },
  )
}
