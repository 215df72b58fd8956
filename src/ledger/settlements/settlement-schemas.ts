import { type TSchema, Type } from '../../kernel/schema.ts'
import { SETTLEMENT_STATUSES, type SettlementStatus } from './settlement-queries.ts'
import { LINE_KINDS } from './settlement-statement-queries.ts'

const Nullable = <Schema extends TSchema>(schema: Schema) => Type.Union([schema, Type.Null()])
const CompanyId = Type.Optional(
  Type.String({ pattern: '^[0-9a-f]{24}$', description: 'For users of several companies.' }),
)

export const SettlementSchema = Type.Object({
  _id: Type.String(),
  companyId: Type.String(),
  status: Type.String({ enum: [...SETTLEMENT_STATUSES] }),
  amount: Type.String({ description: 'USDC, 6 digits.' }),
  heldBack: Nullable(
    Type.String({
      description:
        'What was ready beyond this amount, in USDC: a settlement is at most the operator’s `SETTLEMENT_DAY_LIMIT`. It ' +
        'stays owed, for the next one. Null: nothing.',
      examples: ['1250.000000'],
    }),
  ),
  paidAmount: Nullable(
    Type.String({
      description: 'What left, in USDC: another amount only where it left before a restore. Null: not paid.',
      examples: ['54.000000'],
    }),
  ),
  paidTo: Nullable(
    Type.String({
      description:
        'Where it went: another address than `address` only where it left before a restore. Null: not paid, or ' +
        'nothing left.',
      examples: ['0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed'],
    }),
  ),
  address: Type.String(),
  network: Type.Integer({ description: 'Chain id.' }),
  addressChange: Nullable(
    Type.Object(
      {
        at: Nullable(
          Type.String({
            format: 'date-time',
            description: 'Null: an earlier version did not record it, or only the network is another.',
          }),
        ),
        by: Nullable(
          Type.String({ description: 'Name of the person who wrote the address.', examples: ['Ada Beispiel'] }),
        ),
        lastTo: Nullable(
          Type.String({
            description: 'Where the last payout went; null: this is the first.',
            examples: ['0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed'],
          }),
        ),
        lastNetwork: Nullable(Type.Integer({ description: 'Chain id of the last payout.', examples: [8453] })),
      },
      {
        description:
          'Before it is paid, if the last payout went to another address or network, or this is the first: who wrote ' +
          'the address, and when. Ask the company by a way that you know before you approve it. Otherwise null.',
      },
    ),
  ),
  fromBackup: Type.Boolean({
    description:
      'Before it is paid: its address is the one of a backup that was restored. It may have left since, so its ' +
      'transaction can be named while it is open, too.',
  }),
  txHash: Nullable(Type.String()),
  message: Nullable(Type.String({ description: 'Its current state, for people.' })),
  createdBy: Type.String(),
  firstApprovedBy: Nullable(Type.String()),
  approvedBy: Nullable(Type.String()),
  createdAt: Type.String({ format: 'date-time' }),
  updatedAt: Type.String({ format: 'date-time' }),
  paidAt: Nullable(Type.String({ format: 'date-time' })),
})

export const SettlementListQuery = Type.Object({
  companyId: CompanyId,
  status: Type.Optional(
    Type.Unsafe<SettlementStatus | 'waiting'>(
      Type.String({
        enum: [...SETTLEMENT_STATUSES, 'waiting'],
        description: '`waiting`: to be approved or paid, as `needs.settlements` of GET /summary counts them.',
      }),
    ),
  ),
  page: Type.Optional(Type.Integer({ minimum: 1, maximum: 100_000, default: 1 })),
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 100, default: 20 })),
})

export const CreateSettlementBody = Type.Object({ companyId: CompanyId })
export const SettlementPaidBody = Type.Object({ txHash: Type.String({ maxLength: 66 }) })

export const StatementQuery = Type.Object({
  after: Type.Optional(Type.String({ pattern: '^[0-9a-f]{24}$', description: '`nextCursor` of the previous page.' })),
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 500, default: 100, description: 'Lines on a page.' })),
  format: Type.Optional(Type.String({ enum: ['json', 'csv'], default: 'json' })),
})

const Signed = (description: string, example: string) =>
  Type.String({ description: `${description} In USDC; negative where it lessens the amount.`, examples: [example] })

const SummarySchema = Type.Object(
  {
    carriedOver: Signed(
      'What the settlement before left: the reserve, what it held back, or what it paid less than its amount.',
      '20.000000',
    ),
    payments: Type.Object(
      {
        count: Type.Integer({ description: 'How many.', examples: [412] }),
        gross: Signed('Prices of what was paid.', '21840.500000'),
        fees: Type.String({ description: 'What the operator kept of it, in USDC.', examples: ['109.202500'] }),
        net: Signed('What is left.', '21731.297500'),
      },
      { description: 'What was paid.' },
    ),
    refunds: Type.Object({
      count: Type.Integer({ description: 'How many were started.', examples: [3] }),
      amount: Signed('Refunds out of the company’s balance.', '-340.000000'),
    }),
    takenBack: Type.Object(
      {
        count: Type.Integer({ description: 'How many.', examples: [1] }),
        amount: Signed('What came back to the balance.', '20.000000'),
      },
      { description: 'Refunds that were rejected or refused, also those that an earlier settlement has as refunds.' },
    ),
    losses: Signed('Money that left the chain and that the company bears.', '0.000000'),
    owed: Signed('The sum of all above.', '21431.297500'),
    ownAccounts: Nullable(
      Signed('What the company holds of it itself, at its own accounts; null: not recorded then.', '0.000000'),
    ),
    undecided: Nullable(Signed('Money that left the chain, before a decision who bears it.', '0.000000')),
    reserve: Nullable(Signed('What stays with the operator as cover for refunds.', '-20.000000')),
    heldBack: Nullable(
      Signed('What stays owed, because a settlement is at most the operator’s limit of a day.', '0.000000'),
    ),
    amount: Signed('What is settled: the sum of the last five.', '21411.297500'),
  },
  { description: 'How the amount came about.' },
)

export const SettlementStatementSchema = Type.Object({
  settlement: { ...SettlementSchema, description: 'The settlement itself.' },
  since: Nullable(
    Type.String({ format: 'date-time', description: 'When the settlement before was made; null: this is the first.' }),
  ),
  summary: SummarySchema,
  lines: Type.Array(
    Type.Object({
      journalId: Type.String(),
      at: Type.String({ format: 'date-time' }),
      kind: Type.String({ enum: [...LINE_KINDS] }),
      code: Nullable(Type.String({ description: 'The order.' })),
      shortCode: Nullable(Type.String({ description: 'Its short code.' })),
      alias: Nullable(Type.String({ description: 'Your reference of it.' })),
      fromAmount: Nullable(
        Type.String({
          description:
            'A payment: what was paid of the price of its order, in your currency; of an accepted part, its share. Null for ' +
            'refunds and losses.',
          examples: ['50.00'],
        }),
      ),
      fromAsset: Nullable(Type.String()),
      gross: Signed('Before the fee.', '54.000000'),
      fee: Type.String({ description: 'What the operator kept of it, in USDC.', examples: ['0.270000'] }),
      amount: Signed('What it changed for the company.', '53.730000'),
      ownAccount: Type.Boolean({ description: 'The payer paid to the company’s own account.' }),
    }),
    { description: 'Oldest first.' },
  ),
  nextCursor: Nullable(Type.String()),
})
