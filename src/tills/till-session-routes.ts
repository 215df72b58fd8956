import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { Config } from '../config/config.ts'
import { actorOf, companyOf } from '../http/actor.ts'
import { Envelope, ok } from '../http/envelope.ts'
import type { CookieOwners } from '../http/limits/cookie-limits.ts'
import { visitorContextOf } from '../http/request-context.ts'
import { MINUTE } from '../kernel/clock.ts'
import { AppError } from '../kernel/errors.ts'
import { firstIdAt } from '../kernel/ids.ts'
import { EXPONENTS, type Fiat, formatDecimal, isAsset } from '../kernel/money.ts'
import { noStore } from '../sessions/auth-service.ts'
import type { Cookies } from '../sessions/cookies.ts'
import { findShiftStart } from '../sessions/session-queries.ts'
import { findPlaceName, listTillPeople, type TillDevice } from './device-queries.ts'
import { enrolDevice, readDevice } from './device-service.ts'
import { MOST_WRONG, type PinDeps, signIn } from './pin-service.ts'
import * as shifts from './shift-queries.ts'
import type { TillCookies } from './till-cookies.ts'
import * as schemas from './till-schemas.ts'

export type TillSessionDeps = PinDeps & {
  cookies: Cookies
  tillCookies: TillCookies
  devices: CookieOwners<TillDevice>
  config: Pick<Config, 'fiatAssets'>
}

const tags = ['till']
const USDC_DIGITS = 6
/** How long the customer screen shows an order after its last change. */
const DISPLAY_MS = 20 * MINUTE
/** Maximum age of an order shown there; it limits the scan, because ids sort by time. */
const DISPLAY_AGE_MS = 60 * MINUTE

const CURRENCY: Readonly<Record<string, Fiat>> = { CH: 'CHF', LI: 'CHF', PF: 'XPF', NC: 'XPF', GB: 'GBP', US: 'USD' }

/** The country's own currency first, if it is offered; otherwise euros. */
function currenciesFor(country: string | null, offered: readonly Fiat[]): Fiat[] {
  const own = CURRENCY[country ?? ''] ?? 'EUR'
  return [...offered].sort((one, other) => Number(other === own) - Number(one === own))
}

const shortName = ({ firstName, lastName }: { firstName: string; lastName: string }): string =>
  lastName === '' ? firstName : `${firstName} ${[...lastName][0]}.`

const amountOf = (units: bigint, asset: string): string =>
  formatDecimal(units, isAsset(asset) ? EXPONENTS[asset] : USDC_DIGITS)

/** The API of a till's own page. Its device cookie identifies the till; a PIN then identifies the person. */
export const tillSessionRoutes: FastifyPluginAsyncTypebox<TillSessionDeps> = async (app, deps) => {
  const { db, clock, cookies, tillCookies, config } = deps
  app.addHook('onRequest', noStore)
  const viewTill = async (till: TillDevice) => {
    const [{ company, place, country }, people] = await Promise.all([
      findPlaceName(db, till),
      listTillPeople(db, till, MOST_WRONG),
    ])
    return {
      device: { _id: till.id, name: till.name },
      collector: { _id: till.collectorId, identifier: till.collectorIdentifier },
      ...{ company, place, currencies: currenciesFor(country, config.fiatAssets) },
      people: people.map((one) => ({ _id: one.id, name: shortName(one), hasPin: one.hasPin, locked: one.locked })),
    }
  }

  app.post(
    '/enrol',
    {
      config: { permission: 'till.enrol' },
      schema: {
        operationId: 'enrolTillDevice',
        summary: 'Enrol this browser as a till',
        tags,
        body: schemas.EnrolBody,
        response: { 200: Envelope(schemas.TillSchema) },
      },
    },
    async (request, reply) => {
      cookies.checkSite(request)
      const enrolled = await enrolDevice(deps, visitorContextOf(request), request.body.enrolmentCode)
      tillCookies.set(reply, enrolled.token)
      return ok(await viewTill(enrolled.device))
    },
  )
  app.get(
    '/device',
    {
      config: { permission: 'till.device' },
      schema: {
        operationId: 'getTill',
        summary: 'Which till this browser is, and who may sign in',
        tags,
        response: { 200: Envelope(schemas.TillSchema) },
      },
    },
    async (request, reply) => {
      const till = await readDevice(deps, request).catch((error: unknown) => {
        if (error instanceof AppError && error.code === 'UNAUTHORIZED') tillCookies.clear(reply)
        throw error
      })
      tillCookies.set(reply, tillCookies.tokenOf(request) ?? '')
      return ok(await viewTill(till))
    },
  )
  app.post(
    '/sign-in',
    {
      config: { permission: 'till.signIn' },
      schema: {
        operationId: 'signInAtTill',
        summary: 'Sign in at the till with a PIN',
        tags,
        body: schemas.SignInBody,
        response: { 200: Envelope(schemas.SignedInSchema) },
      },
    },
    async (request, reply) => {
      cookies.checkSite(request)
      const wanted = { device: await readDevice(deps, request), userId: request.body.user, pin: request.body.pin }
      const { user, started, accessToken } = await signIn(deps, visitorContextOf(request), wanted)
      cookies.setRefresh(reply, started.session, started.refreshToken)
      return ok({ token: accessToken, user: { _id: user.id, name: shortName(user) } })
    },
  )
  app.get(
    '/shift',
    {
      config: { permission: 'till.shift' },
      schema: {
        operationId: 'getTillShift',
        summary: 'What you sold since you signed in',
        tags,
        response: { 200: Envelope(schemas.ShiftSchema) },
      },
    },
    async (request) => {
      const actor = actorOf(request)
      const since = actor.sessionId === null ? undefined : await findShiftStart(db, actor.sessionId)
      if (!since) throw new AppError('UNAUTHORIZED')
      const facts = { companyId: companyOf(actor), userId: actor.id, collectorIds: actor.collectorIds }
      const shift = { ...facts, since, firstId: firstIdAt(since.getTime()) }
      const [sums, counts] = await Promise.all([shifts.listShiftSums(db, shift), shifts.countShift(db, shift)])
      return ok({
        startedAt: since.toISOString(),
        ...counts,
        sums: sums.map(({ asset, paid, amountUnits, settledUnits }) => ({
          ...{ asset, paid, amount: amountOf(amountUnits, asset), received: amountOf(settledUnits, 'USDC') },
        })),
      })
    },
  )
  app.get(
    '/display',
    {
      config: { permission: 'till.device' },
      schema: {
        operationId: 'getTillDisplay',
        summary: 'What the customer’s screen of this till shows',
        tags,
        response: { 200: Envelope(schemas.DisplaySchema) },
      },
    },
    async (request) => {
      const { companyId, collectorId } = await readDevice(deps, request)
      const since = new Date(clock() - DISPLAY_MS)
      const till = { companyId, collectorId, since, firstId: firstIdAt(clock() - DISPLAY_AGE_MS) }
      const order = await shifts.findDisplayOrder(db, till)
      if (!order) return ok({ order: null })
      const { code, fromUnits, fromAsset: asset, toUnits, status } = order
      const shown = { code, asset, status, amount: amountOf(fromUnits, asset), toAmount: amountOf(toUnits, 'USDC') }
      return ok({ order: shown })
    },
  )
}
