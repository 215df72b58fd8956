import type { FastifyInstance } from 'fastify'
import { AppError } from '../../kernel/errors.ts'
import type { PermissionName } from '../permissions.ts'

const READS = ['GET', 'HEAD', 'OPTIONS']

/**
 * Whoever tries out a restored copy logs in and looks; anything else could reach a provider, a payer or a shop. What
 * makes or changes an account is no login: it would be lost with the copy.
 */
const LOGINS: ReadonlySet<unknown> = new Set<PermissionName>([
  'auth.login',
  'auth.otp',
  'auth.otpEmail',
  'auth.refresh',
  'auth.signOut',
])

/** For a copy that was restored for a rehearsal. Call it before the routes are registered. */
export function registerRehearsal(app: FastifyInstance): void {
  app.addHook('onRequest', async ({ method, routeOptions }) => {
    const { permission, writes } = routeOptions.config
    if ((READS.includes(method) && writes !== true) || LOGINS.has(permission)) return
    throw new AppError('BUSY', { message: 'This is a copy for a rehearsal: it only answers reads.' })
  })
}
