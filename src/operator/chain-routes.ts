import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Envelope, ok } from '../http/envelope.ts'
import { type TSchema, type TSchemaOptions, Type } from '../kernel/schema.ts'
import { type ChainViewDeps, viewChains, viewSweepPlan, viewWallets } from './chain-view.ts'

const tags = ['operation']
const Nullable = <Schema extends TSchema>(schema: Schema, options: TSchemaOptions = {}) =>
  Type.Union([schema, Type.Null()], options)

const network = Type.Integer({ description: 'Chain id.', examples: [8453] })
const name = Type.String({ description: 'The network’s name.', examples: ['Base'] })
const address = Type.String({ examples: ['0x8ba1f109551bD432803012645Ac136ddd64DBA72'] })
const Decimal = (description: string, example: string) => Type.String({ description, examples: [example] })
const Time = (description: string) => Type.String({ format: 'date-time', description })

const NetworkSchema = Type.Object({
  ...{ network, name },
  testnet: Type.Boolean({ description: 'Its money is worth nothing.', examples: [false] }),
  explorerUrl: Nullable(
    Type.String({ description: 'Everything before `/tx/…`; null: none is known.', examples: ['https://basescan.org'] }),
  ),
})

const ChainSchema = Type.Object({
  ...{ network, name },
  ok: Type.Boolean({ description: 'Payments on it are seen soon; otherwise `crypto` on it is hidden from payers.' }),
  message: Type.String({
    description: 'What was found.',
    examples: ['Base (chain 8453) is read up to block 21407311'],
  }),
  fix: Nullable(
    Type.String({ description: 'What to do; null where nothing is wrong.', examples: ['Check CHAIN_8453_RPC_URL.'] }),
  ),
  head: Nullable(Type.Integer({ description: 'The newest block that was read.', examples: [21_407_311] })),
  blockAt: Nullable(Time('When that block was mined.')),
  lagSeconds: Nullable(
    Type.Integer({
      description: 'Seconds without a new block, or the age of the newest one that was read.',
      examples: [2],
    }),
  ),
  trouble: Type.Union([Type.Literal('foreign'), Type.Literal('disagreement'), Type.Literal('doubt'), Type.Null()], {
    description:
      'Why it is not read: it is another chain, its endpoints contradict each other, or (`doubt`) what they say does ' +
      'not fit together.',
    examples: ['disagreement'],
  }),
  endpoints: Type.Array(
    Type.Object({
      number: Type.Integer({ description: 'Its place in `CHAIN_<id>_RPC_URL`, from 1.', examples: [1] }),
      state: Type.String({
        enum: ['ok', 'down', 'behind', 'foreign', 'outvoted', 'unproven'],
        description: 'How it answers now. `unproven`: it has not shown yet that its token is USDC, and is not used.',
      }),
      head: Nullable(
        Type.Integer({ description: 'Its newest block; null: it did not answer.', examples: [21_407_312] }),
      ),
      answerMs: Nullable(Type.Integer({ description: 'How long it took to answer.', examples: [38] })),
    }),
    { description: 'The nodes that are asked, without their addresses.' },
  ),
})

const WalletsSchema = Type.Object({
  wallets: Type.Array(
    Type.Object({
      ...{ network, name, address },
      wallet: Type.Union([Type.Literal('payout'), Type.Literal('relayer')], {
        description: '`payout` pays refunds and settlements, `relayer` pays for gas.',
      }),
      asset: Type.Union([Type.Literal('USDC'), Type.Literal('native')], { description: 'What it holds.' }),
      balance: Nullable(Decimal('What it holds, as of `checkedAt`; null: not read yet.', '12500.000000')),
      perDay: Nullable(Decimal('What leaves it on a day, by the last seven.', '840.000000')),
      runwayDays: Nullable(
        Type.Number({
          description: 'For how many days it lasts at that pace; null while nothing leaves it.',
          examples: [14.8],
        }),
      ),
      low: Type.Boolean({ description: 'It runs low; the operator was warned by mail.' }),
      warnBelow: Nullable(
        Decimal('The operator is warned below so much USDC, or below three days of payouts.', '500.000000'),
      ),
      checkedAt: Nullable(Time('When the chain was asked.')),
    }),
    { description: 'The wallets that pay, chain by chain.' },
  ),
  limits: Type.Object(
    {
      dayLimit: Nullable(Decimal('So much USDC is settled in 24 hours at most; null: no limit.', '50000.000000')),
      released: Decimal('USDC settled in the last 24 hours.', '12000.000000'),
      twoPersonsFrom: Nullable(
        Decimal('From so much USDC on, two persons approve a settlement; null: never.', '10000.000000'),
      ),
      allowList: Type.Array(address, {
        description: 'Settlements go to these addresses only; empty: to any.',
        examples: [['0x8ba1f109551bD432803012645Ac136ddd64DBA72']],
      }),
    },
    { description: 'What the settings allow to leave (`SETTLEMENT_…`).' },
  ),
  gas: Type.Array(
    Type.Object({
      ...{ network, name },
      maxGwei: Decimal('Most that one gas may cost (`CHAIN_<id>_MAX_FEE_GWEI`).', '50.000000000'),
      override: Nullable(
        Type.Object({
          maxGwei: Decimal('The higher ceiling.', '500.000000000'),
          until: Time('When it ends.'),
          allowedBy: Type.String({ description: 'Who allowed it.', examples: ['Ada'] }),
          reason: Type.String({ description: 'Why.', examples: ['payday'] }),
        }),
        { description: 'A higher ceiling for a while (`comptoir admin allow-fee`); null: none.' },
      ),
    }),
    { description: 'The ceiling for gas, chain by chain.' },
  ),
})

const SweepPlanSchema = Type.Object({
  deposits: Type.Array(Type.Object({ network, address, amount: Decimal('USDC.', '49.900000') }), {
    description: 'Deposit addresses that can be emptied now, at most 1000 of a network.',
  }),
  held: Type.Array(
    Type.Object({
      ...{ network, address, amount: Decimal('USDC.', '49.900000') },
      reason: Type.String({ description: 'Why it stays.', examples: ['its order is AWAITING'] }),
    }),
    { description: 'Money that stays where it is.' },
  ),
  networks: Type.Array(
    Type.Object({
      ...{ network, name },
      deposits: Type.Integer({ description: 'Addresses to empty.', examples: [12] }),
      total: Decimal('USDC that comes home.', '1840.500000'),
      fee: Decimal('What it costs at the current fee, in the chain’s native coin.', '0.000210000000000000'),
      dust: Decimal('USDC that stays: moving it costs more than it is worth.', '0.420000'),
    }),
    { description: 'The plan, chain by chain.' },
  ),
  silent: Type.Array(Type.String({ examples: ['Base'] }), {
    description: 'Networks that do not answer now.',
    examples: [['Base']],
  }),
})

/** Chains and wallets of the installation, for its operator. */
export const operatorChainRoutes: FastifyPluginAsyncTypebox<ChainViewDeps> = async (app, deps) => {
  app.get(
    '/networks',
    {
      config: { permission: 'channels.read' },
      schema: {
        operationId: 'listNetworks',
        summary: 'Networks that are set up here',
        description: 'By name, for choosing where payouts go and for links to their explorers.',
        tags: ['channels'],
        response: { 200: Envelope(Type.Array(NetworkSchema)) },
      },
    },
    async () =>
      ok(
        deps.chains.map(({ network: { chainId, name, testnet, explorerUrl } }) => ({
          ...{ network: chainId, name, testnet, explorerUrl },
        })),
      ),
  )
  app.get(
    '/operator/chains',
    {
      config: { permission: 'operator.status' },
      schema: {
        operationId: 'listOperatorChains',
        summary: 'Chains and their endpoints',
        description: 'Asks every endpoint, which may take some seconds.',
        tags,
        response: {
          200: Envelope(
            Type.Object({ chains: Type.Array(ChainSchema, { description: 'The chains that are set up.' }) }),
          ),
        },
      },
    },
    async () => ok({ chains: await viewChains(deps) }),
  )
  app.get(
    '/operator/wallets',
    {
      config: { permission: 'operator.status' },
      schema: {
        operationId: 'listOperatorWallets',
        summary: 'Wallets that pay, and the limits of what may leave them',
        description: 'Levels are as of the last minute; the worker reads them.',
        tags,
        response: { 200: Envelope(WalletsSchema) },
      },
    },
    async () => ok(await viewWallets(deps)),
  )
  app.get(
    '/operator/sweep-plan',
    {
      config: { permission: 'operator.status' },
      schema: {
        operationId: 'getSweepPlan',
        summary: 'What a sweep would bring home',
        description: 'The plan of `comptoir sweep`; nothing is moved.',
        tags,
        response: { 200: Envelope(SweepPlanSchema) },
      },
    },
    async () => ok(await viewSweepPlan(deps)),
  )
}
