import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { PageQuery } from '../companies/company-schemas.ts'
import { actorOf, CompanyIdQuery } from '../http/actor.ts'
import { Envelope, ok, refTo } from '../http/envelope.ts'
import { listPermissions, PERMISSIONS } from '../http/permissions.ts'
import { contextOf } from '../http/request-context.ts'
import { Type } from '../kernel/schema.ts'
import { inviteUser } from './invitation-service.ts'
import { viewSelf, viewUser } from './user.ts'
import { CountryCode, Email, IdParams, LangSchema, PersonName, Role, UserSchema } from './user-schemas.ts'
import * as service from './user-service.ts'

const tags = ['companies']
const UserRef = refTo(UserSchema)

const ProfileBody = Type.Object({
  firstName: Type.Optional(PersonName),
  lastName: Type.Optional(PersonName),
  phoneNumber: Type.Optional(Type.String({ maxLength: 40 })),
  phoneNumberCountry: Type.Optional(CountryCode),
  lang: Type.Optional(LangSchema),
  saleMails: Type.Optional(
    Type.Boolean({ description: 'A mail for each sale that you may see: for the people of a company.' }),
  ),
})
const ListQuery = Type.Object({
  companyId: CompanyIdQuery,
  role: Type.Optional(Role),
  search: Type.Optional(Type.String({ maxLength: 100, description: 'Searches e-mail and name.' })),
  pending: Type.Optional(Type.Boolean({ description: 'Only users waiting for approval.' })),
  ...PageQuery,
})
const InvitationBody = Type.Object({
  email: Email,
  firstName: PersonName,
  lastName: PersonName,
  role: Role,
  companyId: Type.Optional(
    Type.String({ pattern: '^[0-9a-f]{24}$', description: 'For operators. Default: your own company.' }),
  ),
  lang: Type.Optional(LangSchema),
})
const ChangeBody = Type.Object({
  firstName: Type.Optional(PersonName),
  lastName: Type.Optional(PersonName),
  role: Type.Optional(Role),
  disabled: Type.Optional(Type.Boolean()),
})
const CompaniesBody = Type.Object({
  companies: Type.Array(Type.String({ pattern: '^[0-9a-f]{24}$' }), { maxItems: 1000 }),
})
const Page = Type.Object({
  users: Type.Array(UserRef),
  total: Type.Integer(),
  page: Type.Integer(),
  limit: Type.Integer(),
})

/** The caller's own profile, and the users of a company. */
export const userRoutes: FastifyPluginAsyncTypebox<service.UserDeps> = async (app, deps) => {
  app.get(
    '/users/me',
    {
      config: { permission: 'users.me' },
      schema: { operationId: 'getMe', summary: 'Your own profile', tags, response: { 200: Envelope(UserRef) } },
    },
    async (request) => ok(viewSelf(await service.readMe(deps, actorOf(request)))),
  )
  app.put(
    '/users/me',
    {
      config: { permission: 'users.me' },
      schema: {
        operationId: 'changeMe',
        summary: 'Change your own profile',
        tags,
        body: ProfileBody,
        response: { 200: Envelope(UserRef) },
      },
    },
    async (request) => {
      const change = request.body
      return ok(viewSelf(await service.changeMe(deps, contextOf(request), change)))
    },
  )
  app.get(
    '/users/me/permissions',
    {
      config: { permission: 'users.me' },
      schema: {
        operationId: 'listMyPermissions',
        summary: 'What you may do',
        description: 'The rows of the permission table that your role opens, so that a client offers nothing else.',
        tags,
        response: {
          200: Envelope(Type.Object({ permissions: Type.Array(Type.String({ enum: Object.keys(PERMISSIONS) })) })),
        },
      },
    },
    async (request) => ok({ permissions: listPermissions(actorOf(request)) }),
  )
  app.get(
    '/users',
    {
      config: { permission: 'users.list' },
      schema: {
        operationId: 'listUsers',
        summary: 'List the users of your company',
        tags,
        querystring: ListQuery,
        response: { 200: Envelope(Page) },
      },
    },
    async (request) => {
      const page = await service.listUsers(deps, actorOf(request), request.query)
      return ok({ ...page, users: page.users.map(viewUser) })
    },
  )
  app.post(
    '/users',
    {
      config: { permission: 'users.invite' },
      schema: {
        operationId: 'inviteUser',
        summary: 'Invite a user to your company',
        description:
          'The user gets a link to choose a password. Inviting again while no link was used sends a new one, and replaces names, language and role. Over an account that is no one’s the invited user waits until the link is used. Inviting a Manager, or a Manager who was invited before with another role, needs a fresh second factor.',
        tags,
        body: InvitationBody,
        response: { 200: Envelope(UserRef) },
      },
    },
    async (request) => {
      const invitation = request.body
      return ok(viewUser(await inviteUser(deps, contextOf(request), invitation)))
    },
  )
  app.get(
    '/users/:id',
    {
      config: { permission: 'users.list' },
      schema: {
        operationId: 'getUser',
        summary: 'One user of your company',
        tags,
        params: IdParams,
        response: { 200: Envelope(UserRef) },
      },
    },
    async (request) => ok(viewUser(await service.readUser(deps, actorOf(request), request.params.id))),
  )
  app.put(
    '/users/:id',
    {
      config: { permission: 'users.change' },
      schema: {
        operationId: 'changeUser',
        summary: 'Rename or disable a user, or change the role',
        description: 'Changing the role or disabling ends the user’s sessions at once.',
        tags,
        params: IdParams,
        body: ChangeBody,
        response: { 200: Envelope(UserRef) },
      },
    },
    async (request) => {
      const { id } = request.params
      const change = request.body
      return ok(viewUser(await service.changeUser(deps, contextOf(request), id, change)))
    },
  )
  app.post(
    '/users/:id/approve',
    {
      config: { permission: 'users.approve' },
      schema: {
        operationId: 'approveUser',
        summary: 'Approve a Cashier or an Observer',
        tags,
        params: IdParams,
        response: { 200: Envelope(UserRef) },
      },
    },
    async (request) => ok(viewUser(await service.approveUser(deps, contextOf(request), request.params.id))),
  )
  app.get(
    '/users/:id/companies',
    {
      config: { permission: 'users.companies' },
      schema: {
        operationId: 'listCompaniesOfUser',
        summary: 'The companies of a SuperManager',
        tags,
        params: IdParams,
        response: { 200: Envelope(Type.Object({ companies: Type.Array(Type.String()) })) },
      },
    },
    async (request) => {
      const user = await service.readUser(deps, actorOf(request), request.params.id)
      return ok({ companies: await service.listAttached(deps, user.id) })
    },
  )
  app.put(
    '/users/:id/companies',
    {
      config: { permission: 'users.companies' },
      schema: {
        operationId: 'attachCompanies',
        summary: 'Replace the companies of a SuperManager',
        tags,
        params: IdParams,
        body: CompaniesBody,
        response: { 200: Envelope(Type.Object({ companies: Type.Array(Type.String()) })) },
      },
    },
    async (request) => {
      const { params, body } = request
      return ok({
        companies: await service.attachCompanies(deps, contextOf(request), params.id, body.companies),
      })
    },
  )
  app.post(
    '/users/:id/reset-2fa',
    {
      config: { permission: 'users.resetTwoFactor' },
      schema: {
        operationId: 'resetTwoFactorOfUser',
        summary: 'Remove the authenticator of a user who lost it',
        tags,
        params: IdParams,
        response: { 200: Envelope(Type.Null()) },
      },
    },
    async (request) => {
      await service.resetTwoFactor(deps, contextOf(request), request.params.id)
      return ok(null)
    },
  )
}
