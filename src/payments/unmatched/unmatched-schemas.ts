import { CompanyIdQuery } from '../../http/actor.ts'
import { type Static, type TSchema, Type } from '../../kernel/schema.ts'
import { UNMATCHED_STATUSES } from './unmatched-queries.ts'

const Nullable = <Schema extends TSchema>(schema: Schema) => Type.Union([schema, Type.Null()])

const CandidateSchema = Type.Object(
  {
    code: Type.String(),
    shortCode: Type.String(),
    orderStatus: Type.String(),
    tokenAmount: Type.String({ description: 'What this order asks for, in USDC.' }),
    namesSender: Type.Boolean({
      description: 'It names the sender (`userAddress` at accept). Anyone can type that, so it proves nothing.',
    }),
  },
  { description: 'An unpaid order that may have been meant.' },
)

const UnmatchedSchema = Type.Object(
  {
    _id: Type.String(),
    status: Type.String({
      enum: [...UNMATCHED_STATUSES],
      description:
        '`open`: a person decides; `matched`: it counts for an order; `ignored`: set aside; `gone`: it left the chain ' +
        'before a decision, and is open again if it comes back.',
    }),
    companyId: Nullable(Type.String({ description: 'Whose address it is; null: the operator’s.' })),
    network: Type.Integer({ description: 'Chain id.' }),
    address: Type.String({ description: 'Where it arrived.' }),
    from: Type.String({ description: 'Who sent it; an exchange sends from an address of its own.' }),
    txHash: Type.String(),
    explorerUrl: Nullable(
      Type.String({
        description: 'The transaction on a block explorer.',
        examples: ['https://polygonscan.com/tx/0x5c504ed4…'],
      }),
    ),
    asset: Type.String(),
    units: Type.String({ description: 'Smallest units of the asset.' }),
    amount: Nullable(Type.String({ description: 'Decimal text; null for tokens that are not USDC.' })),
    arrivedAt: Type.String({ format: 'date-time', description: 'When its block was made.' }),
    isFinal: Type.Boolean({ description: 'Deep enough in the chain to stay.' }),
    onChain: Type.Boolean({ description: 'False: its block left the chain.' }),
    isNetworkAccepted: Type.Boolean({
      description:
        'False: orders at this address take no money on this network (`NETWORKS` of the wallet). The address may not ' +
        'be the company’s there, so look into the wallet before you match the transfer.',
    }),
    next: Type.String({ description: 'What happens next, in English.', examples: ['It counts for order 7K3QZ9MD.'] }),
    candidates: Type.Array(CandidateSchema, {
      description: 'Up to three orders: one that names its sender, which proves nothing, then the closest amounts.',
    }),
    code: Nullable(Type.String({ description: 'The order that it was matched to.' })),
    shortCode: Nullable(Type.String()),
    orderStatus: Nullable(Type.String()),
    decidedBy: Nullable(Type.String()),
    reason: Nullable(Type.String()),
  },
  { description: 'A transfer to an address of ours that no order asked for.' },
)

export const UnmatchedListQuery = Type.Object({
  companyId: CompanyIdQuery,
  status: Type.Optional(Type.String({ enum: [...UNMATCHED_STATUSES] })),
  dust: Type.Optional(
    Type.Boolean({ default: false, description: 'Also USDC below the dust limit, which anyone can send.' }),
  ),
  page: Type.Optional(Type.Integer({ minimum: 1, maximum: 100_000, default: 1 })),
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 100, default: 20 })),
})
export type UnmatchedListQuery = Static<typeof UnmatchedListQuery>

export const UnmatchedList = Type.Object({
  transfers: Type.Array(UnmatchedSchema),
  total: Type.Integer(),
  page: Type.Integer(),
  limit: Type.Integer(),
})

export const MatchBody = Type.Object({
  code: Type.String({ minLength: 1, maxLength: 64, description: 'The order that the money came for.' }),
  reason: Type.Optional(Type.String({ maxLength: 256 })),
})
export const IgnoreUnmatchedBody = Type.Object({
  reason: Type.String({ minLength: 1, maxLength: 256, description: 'Why it belongs to no order.' }),
})
