import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { CHANNEL_IDS } from '../../channels/channel.ts'
import { CHANNEL_NAMES } from '../../channels/channel-names.ts'
import type { Health } from '../../channels/supervised.ts'
import { ChoiceOnly, ChoiceQuery } from '../../companies/company-schemas.ts'
import { companiesFor, companyFor } from '../../companies/company-scope.ts'
import { actorOf, isOperator } from '../../http/actor.ts'
import { Envelope, ok } from '../../http/envelope.ts'
import { contextOf } from '../../http/request-context.ts'
import { SECOND } from '../../kernel/clock.ts'
import { invalid } from '../../kernel/errors.ts'
import { convert, formatMoney, isAsset, parseMoney } from '../../kernel/money.ts'
import { Type } from '../../kernel/schema.ts'
import { CodeParams } from '../../orders/order-schemas.ts'
import { findReachableOrder } from '../../orders/order-service.ts'
import { findEuroRate } from '../../rates/euro.ts'
import { listOffers, type OfferedPrice } from '../accept/offers.ts'
import {
  AccountBody,
  AccountChangeSchema,
  AccountSchema,
  AccountVerdictSchema,
  ChannelNameSchema,
  OfferQuery,
  OfferSchema,
  ProviderCallSchema,
} from '../payment-schemas.ts'
import {
  type ChannelSettingsDeps,
  checkAccount,
  listAccounts,
  readProviderCalls,
  removeAccount,
  saveAccount,
} from './channel-service.ts'
import { channelRuleApi } from './rule-api.ts'

const tags = ['channels']
const ForceQuery = Type.Object({
  ...ChoiceQuery,
  force: Type.Optional(
    Type.Boolean({ description: 'Also while open payments or unfinished refunds need the account that goes.' }),
  ),
})
const ChannelParams = Type.Object({ channel: Type.String({ maxLength: 40 }) })

type Query = { code?: string; amount?: string; fromAsset?: string }

/** The price: that of an order, or an amount at today's rate. */
async function readPrice(
  deps: ChannelSettingsDeps,
  actor: ReturnType<typeof actorOf>,
  query: Query,
): Promise<OfferedPrice> {
  const euroRate = () => findEuroRate(deps.payers)
  if (query.code !== undefined) {
    const order = await findReachableOrder(deps.db, actor, query.code)
    return { due: order.to, fiat: order.from, euroRate }
  }
  const from = (query.fromAsset ?? 'EUR').toUpperCase()
  if (!isAsset(from) || from === 'USDC') throw invalid('fromAsset', 'must be a currency that orders can have')
  const fiat = parseMoney(query.amount ?? '50', from)
  const quote = await deps.payers.rates.quote(from)
  return { fiat, due: convert(fiat, quote.rate, 'USDC'), euroRate }
}

/** For the operator’s people only. An account that anyone can open has no company either. */
const viewCircuit = ({ circuit, clockAheadMs }: Health) => ({
  ...circuit,
  openUntil: circuit.openUntil === null ? null : new Date(circuit.openUntil).toISOString(),
  clockAheadSeconds: clockAheadMs === null ? null : clockAheadMs / SECOND,
})

/** Channels, the accounts they use, and calls to providers. */
export const channelRoutes: FastifyPluginAsyncTypebox<ChannelSettingsDeps> = async (app, deps) => {
  await app.register(channelRuleApi, deps)
  app.get(
    '/channels',
    {
      config: { permission: 'channels.read' },
      schema: {
        operationId: 'listChannels',
        summary: 'Payment channels, and why one is hidden from the payer',
        description:
          'In the order in which payers see them. For an order (`code`), or for an amount at today’s rate; by default for ' +
          '50 EUR.',
        tags,
        querystring: Type.Object({ ...OfferQuery.properties, ...ChoiceQuery }),
        response: { 200: Envelope(Type.Array(OfferSchema)) },
      },
    },
    async (request) => {
      const actor = actorOf(request)
      const price = await readPrice(deps, actor, request.query)
      const { companyId, childManager } = request.query
      const chosen = await companiesFor(deps.db, actor, { companyId, childManager })
      const own = actor.companyId ?? (chosen?.length === 1 ? (chosen[0] ?? null) : null)
      const set = own === null ? deps.channels.operator : await deps.channels.of(own)
      const offers = await listOffers(set, price)
      return ok(
        offers.map(({ channel: paymentChannel, networks, available, fault, rule }) => ({
          ...{ paymentChannel, networks: [...networks], available },
          reason: fault?.sentence ?? null,
          reasonCode: fault?.code ?? null,
          limit: fault?.limit ? { amount: formatMoney(fault.limit), asset: fault.limit.asset } : null,
          texts: rule.texts,
          circuit: isOperator(actor) ? viewCircuit(set.health(paymentChannel)) : null,
        })),
      )
    },
  )
  app.get(
    '/channel-names',
    {
      config: { permission: 'channels.read' },
      schema: {
        operationId: 'listChannelNames',
        summary: 'Every channel that this version knows, with its name',
        description: 'Also those that are not set up here; an order may have been paid through one.',
        tags,
        response: { 200: Envelope(Type.Array(ChannelNameSchema)) },
      },
    },
    async () => ok(CHANNEL_IDS.map((id) => ({ paymentChannel: id, name: CHANNEL_NAMES[id] }))),
  )
  app.get(
    '/channel-accounts',
    {
      config: { permission: 'channels.accounts' },
      schema: {
        operationId: 'listChannelAccounts',
        summary: 'A company’s own accounts at providers',
        description: 'What can be set, and hints of what is set. Secrets are never shown again.',
        tags,
        querystring: ChoiceOnly,
        response: { 200: Envelope(Type.Array(AccountSchema)) },
      },
    },
    async (request) => ok(await listAccounts(deps, await companyFor(deps.db, actorOf(request), request.query))),
  )
  app.put(
    '/channel-accounts/:channel',
    {
      config: { permission: 'channels.account' },
      schema: {
        operationId: 'saveChannelAccount',
        summary: 'Use the company’s own account at a provider',
        description:
          'All settings at once; they win over the operator’s for new payments. Stored encrypted. If they name another ' +
          'account than before, it is as if that one were removed: while it is needed, `force` has to say so. New ' +
          'secrets of the same account change nothing for payments that have begun. Where only secrets name the account, the ' +
          'provider is asked whether it is the same; while it does not answer, `force` saves it as another one. Where a wallet (`crypto`) no longer ' +
          'has the address that the payer of an open order was shown, the page offers it no more, and he chooses again.',
        tags,
        params: ChannelParams,
        querystring: ForceQuery,
        body: AccountBody,
        response: { 200: Envelope(AccountChangeSchema) },
      },
    },
    async (request) => {
      const context = contextOf(request)
      const { channel } = request.params
      const companyId = await companyFor(deps.db, context.actor, request.query)
      const { force: isForced = false } = request.query
      const target = { companyId, channel, isForced, values: request.body.settings }
      return ok(await saveAccount(deps, context, target))
    },
  )
  app.delete(
    '/channel-accounts/:channel',
    {
      config: { permission: 'channels.account' },
      schema: {
        operationId: 'removeChannelAccount',
        summary: 'Back to the operator’s account',
        tags,
        params: ChannelParams,
        querystring: ForceQuery,
        response: { 200: Envelope(AccountChangeSchema) },
      },
    },
    async (request) => {
      const context = contextOf(request)
      const { channel } = request.params
      const companyId = await companyFor(deps.db, context.actor, request.query)
      return ok(await removeAccount(deps, context, { companyId, channel, isForced: request.query.force ?? false }))
    },
  )
  app.post(
    '/channel-accounts/:channel/check',
    {
      config: { permission: 'channels.accounts' },
      schema: {
        operationId: 'checkChannelAccount',
        summary: 'Ask the provider whether it takes the company’s own account',
        description: 'A signed question about a payment that does not exist; nothing changes there.',
        tags,
        params: ChannelParams,
        querystring: ChoiceOnly,
        response: { 200: Envelope(AccountVerdictSchema) },
      },
    },
    async (request) => {
      const companyId = await companyFor(deps.db, actorOf(request), request.query)
      return ok(await checkAccount(deps, { companyId, channel: request.params.channel }))
    },
  )
  app.get(
    '/channel-exchanges/:code',
    {
      config: { permission: 'channels.exchanges' },
      schema: {
        operationId: 'listChannelExchanges',
        summary: 'Calls to the providers of an order',
        description: 'For support: requests and answers without headers and secrets, the newest 500, oldest first.',
        tags,
        params: CodeParams,
        response: { 200: Envelope(Type.Array(ProviderCallSchema)) },
      },
    },
    async (request) => {
      const rows = await readProviderCalls(deps, actorOf(request), request.params.code)
      return ok(
        rows.map(({ id, at, channel: paymentChannel, ...rest }) => ({
          _id: id,
          paymentChannel,
          ...rest,
          at: at.toISOString(),
        })),
      )
    },
  )
}
