import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { ChoiceOnly, ChoiceQuery, IdParams, PageQuery, pageOf } from '../companies/company-schemas.ts'
import { actorOf } from '../http/actor.ts'
import { Envelope, ok, refTo } from '../http/envelope.ts'
import { contextOf } from '../http/request-context.ts'
import { Type } from '../kernel/schema.ts'
import { createDevice, readDevices, revokeDevice, viewDevice } from './device-service.ts'
import { changePin, type PinDeps, readPin } from './pin-service.ts'
import * as schemas from './till-schemas.ts'

const tags = ['companies']

/** Till devices, as the back office manages them, and the caller's own PIN. */
export const tillDeviceRoutes: FastifyPluginAsyncTypebox<PinDeps> = async (app, deps) => {
  app.post(
    '/till-devices',
    {
      config: { permission: 'tillDevices.create', sealAnswer: true },
      schema: {
        operationId: 'createTillDevice',
        summary: 'Make a code that enrols a tablet or phone as a till',
        tags,
        querystring: ChoiceOnly,
        body: schemas.DeviceBody,
        response: { 200: Envelope(schemas.NewDeviceSchema) },
      },
    },
    async (request) => ok(await createDevice(deps, contextOf(request), request.query, request.body)),
  )
  app.get(
    '/till-devices',
    {
      config: { permission: 'tillDevices.read' },
      schema: {
        operationId: 'listTillDevices',
        summary: 'List till devices',
        tags,
        querystring: Type.Object({ ...ChoiceQuery, ...PageQuery }),
        response: { 200: Envelope(pageOf('tillDevices', refTo(schemas.DeviceSchema))) },
      },
    },
    async (request) => {
      const page = await readDevices(deps, actorOf(request), request.query)
      return ok({ ...page, tillDevices: page.tillDevices.map(viewDevice) })
    },
  )
  app.delete(
    '/till-devices/:id',
    {
      config: { permission: 'tillDevices.revoke' },
      schema: {
        operationId: 'revokeTillDevice',
        summary: 'Revoke a till device and end its sessions',
        tags,
        params: IdParams,
        response: { 200: Envelope(Type.Null()) },
      },
    },
    async (request) => {
      await revokeDevice(deps, contextOf(request), request.params.id)
      return ok(null)
    },
  )
  app.get(
    '/users/me/till-pin',
    {
      config: { permission: 'tillPins.read' },
      schema: {
        operationId: 'getTillPin',
        summary: 'Whether you have a till PIN',
        tags: ['authentication'],
        response: { 200: Envelope(schemas.PinSchema) },
      },
    },
    async (request) => ok(await readPin(deps, actorOf(request).id)),
  )
  app.put(
    '/users/me/till-pin',
    {
      config: { permission: 'tillPins.change' },
      schema: {
        operationId: 'changeTillPin',
        summary: 'Set your till PIN',
        tags: ['authentication'],
        body: schemas.PinBody,
        response: { 200: Envelope(Type.Null()) },
      },
    },
    async (request) => {
      await changePin(deps, contextOf(request), request.body.pin)
      return ok(null)
    },
  )
}
