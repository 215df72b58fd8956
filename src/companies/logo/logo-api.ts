import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Envelope, ok, refTo } from '../../http/envelope.ts'
import { contextOf } from '../../http/request-context.ts'
import { Type } from '../../kernel/schema.ts'
import { CompanySchema, IdParams } from '../company-schemas.ts'
import { type CompanyDeps, changeLogo, viewCompany } from '../company-service.ts'
import { MAX_LOGO_BYTES, readLogo } from './logo-image.ts'

const LogoBody = Type.Object({
  image: Type.String({
    minLength: 1,
    maxLength: Math.ceil(MAX_LOGO_BYTES / 3) * 4 + 4,
    pattern: '^[A-Za-z0-9+/]+={0,2}$',
    description: 'The picture in base64. Or send the file itself as the body, with its type in Content-Type.',
  }),
})

/** The logo that payers see: a plugin of its own, because it takes pictures as bodies. */
export const logoApi: FastifyPluginAsyncTypebox<CompanyDeps> = async (app, deps) => {
  const kinds = ['image/png', 'image/jpeg', 'image/webp']
  app.addContentTypeParser(kinds, { parseAs: 'buffer' }, (_request, body, done) =>
    done(null, { image: body.toString('base64') }),
  )
  app.put(
    '/companies/:id/logo',
    {
      bodyLimit: Math.ceil(MAX_LOGO_BYTES * 1.4),
      config: { permission: 'companies.change' },
      schema: {
        operationId: 'setCompanyLogo',
        summary: 'Set the logo that payers see',
        description: 'PNG, JPEG or WebP, at most 200 kB. It is drawn again and served from this service.',
        tags: ['companies'],
        params: IdParams,
        body: LogoBody,
        response: { 200: Envelope(refTo(CompanySchema)) },
      },
    },
    async (request) => {
      const logo = await readLogo(Buffer.from(request.body.image, 'base64'))
      return ok(viewCompany(deps, await changeLogo(deps, contextOf(request), request.params.id, logo)))
    },
  )
  app.delete(
    '/companies/:id/logo',
    {
      config: { permission: 'companies.change' },
      schema: {
        operationId: 'removeCompanyLogo',
        summary: 'Remove the logo',
        tags: ['companies'],
        params: IdParams,
        response: { 200: Envelope(refTo(CompanySchema)) },
      },
    },
    async (request) => ok(viewCompany(deps, await changeLogo(deps, contextOf(request), request.params.id, null))),
  )
}
