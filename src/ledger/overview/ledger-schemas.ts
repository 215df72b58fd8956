import { type Static, type TSchema, Type } from '../../kernel/schema.ts'
import { ACCOUNTS } from '../ledger-queries.ts'

const Nullable = <Schema extends TSchema>(schema: Schema) => Type.Union([schema, Type.Null()])
const CompanyId = Type.Optional(
  Type.String({ pattern: '^[0-9a-f]{24}$', description: 'For users of several companies.' }),
)

export const LedgerQuery = Type.Object({
  companyId: CompanyId,
  from: Type.Optional(
    Type.String({ format: 'date-time', description: 'From this time on. A date alone: its beginning, UTC.' }),
  ),
  to: Type.Optional(Type.String({ format: 'date-time', description: 'Before this time. A date alone: its end, UTC.' })),
  final: Type.Optional(
    Type.Boolean({
      default: false,
      description:
        'Only what is before `finalUntil`, as if `to` were that time: what is answered does not change any more.',
    }),
  ),
  after: Type.Optional(
    Type.String({
      pattern: '^[0-9a-f]{24}(-[0-9a-f]{1,12}-[0-9a-f]{1,12})?$',
      description: '`nextCursor` of the previous page. Bookings after the first page was read are on no page.',
    }),
  ),
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 500, default: 100, description: 'Journals on a page.' })),
  format: Type.Optional(Type.String({ enum: ['json', 'csv'], default: 'json' })),
})
export type LedgerQuery = Static<typeof LedgerQuery>

const Account = Type.String({ enum: [...ACCOUNTS] })
const Amount = (description: string) => Type.String({ description: `${description} Decimal text, debits positive.` })

export const LedgerSchema = Type.Object({
  companyId: Type.String(),
  finalUntil: Type.String({
    format: 'date-time',
    description:
      'The end of the period, but at most 15 minutes before its first page was read, earlier while the database waits ' +
      'for a standby. No booking before it is missing; later ones may still be added, so the next period starts here.',
  }),
  balances: Type.Array(
    Type.Object({
      account: Account,
      asset: Type.String(),
      opening: Amount('Before the period.'),
      debit: Amount('Sum of debits in it.'),
      credit: Amount('Sum of credits in it, without sign.'),
      closing: Amount('After it.'),
    }),
  ),
  entries: Type.Array(
    Type.Object({
      journalId: Type.String(),
      at: Type.String({ format: 'date-time' }),
      kind: Type.String(),
      cause: Type.String({ description: 'What was booked: a payment, refund or settlement.' }),
      code: Nullable(Type.String({ description: 'The order.' })),
      account: Account,
      asset: Type.String(),
      amount: Amount(''),
    }),
  ),
  payout: Type.Object(
    {
      ready: Type.String({
        description: 'What a settlement would pay out, whatever the period. Negative: the company owes it.',
        examples: ['524.912100'],
      }),
      kept: Type.String({ description: 'What stays back as the reserve.', examples: ['20.000000'] }),
      owed: Type.String({
        description: 'The balance, less what the company holds at its own accounts. Negative: the company owes it.',
        examples: ['544.912100'],
      }),
      undecided: Type.String({
        description: 'What left its chain and waits for a decision who bears it: no debt, and not paid out either.',
        examples: ['0.000000'],
      }),
    },
    { description: 'Now, in USDC. What is ready and what is kept are parts of what is owed, less what is undecided.' },
  ),
  nextCursor: Nullable(Type.String()),
})
