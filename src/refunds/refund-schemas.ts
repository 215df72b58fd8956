import { CompanyIdQuery } from '../http/actor.ts'
import { type Static, type TSchema, Type } from '../kernel/schema.ts'
import { HOLDERS } from '../ledger/payable-queries.ts'
import { ShownUnits } from '../payments/mispayments/mispayment-schemas.ts'
import { PROOF_KINDS } from './destination/address-proof.ts'
import { REFUND_STATUSES, type RefundStatus } from './refund-queries.ts'

const Nullable = <Schema extends TSchema>(schema: Schema) => Type.Union([schema, Type.Null()])

const Signed = Type.Object({
  signature: Type.String({ maxLength: 132, description: 'EIP-191, by the destination or by the address that paid.' }),
  message: Type.Optional(Type.String({ maxLength: 500, description: 'What was signed; may be left out.' })),
})

const Attested = Type.Object({
  statement: Type.String({
    minLength: 10,
    maxLength: 500,
    description: 'How the payer asked for it, stated by a person.',
  }),
  evidence: Type.String({ minLength: 1, maxLength: 256, description: 'Where to look it up, such as a ticket number.' }),
})

const WantedFields = {
  address: Type.Optional(
    Type.String({
      maxLength: 42,
      description:
        'On-chain refunds: where the money goes. One that the payer did not state before (at accept or in the payer ' +
        'information) needs a proof; without it the payer is asked to confirm it, and nothing is sent before. What goes ' +
        'back through its provider takes no address: 422.',
    }),
  ),
  addressProof: Type.Optional(
    Type.Union([Signed, Attested], {
      description:
        'Why the address is what the payer wants: a signature over the text of GET /refunds/address-message, or the ' +
        'statement of a second person, with a fresh second factor and its evidence.',
      examples: [{ statement: 'The customer read it out at the counter.', evidence: 'Ticket 4711' }],
    }),
  ),
}

export const RevertBody = Type.Object({
  amount: Type.Optional(
    Type.String({ maxLength: 40, description: 'USDC, decimal text. Absent: all that is left.', examples: ['10.5'] }),
  ),
  reason: Type.Optional(Type.String({ maxLength: 256 })),
  withoutCover: Type.Optional(
    Type.Boolean({
      description:
        'Refund although the company’s balance does not cover it. SuperAdmin only, with a fresh second factor.',
    }),
  ),
  mostOwed: Type.Optional(
    Type.String({
      maxLength: 40,
      description:
        'With withoutCover: the most that the company may owe the operator afterwards, `owedAfter` in the details of ' +
        'REFUND_NOT_COVERED. If it would owe more by now, nothing is refunded, and the answer has the new figures.',
      examples: ['54.000000'],
    }),
  ),
  ...WantedFields,
})
export type RevertBody = Static<typeof RevertBody>

const WriterFields = {
  by: Type.String({ description: '`user:<id>`, `service:<id>` or `apiKey:<id>`.' }),
  name: Nullable(Type.String({ description: 'Of the person, or of the key.' })),
  keyOf: Nullable(Type.String({ description: 'Of a key: the name of the person who created it, if recorded.' })),
}

const EmailWriter = Nullable(
  Type.Object(WriterFields, {
    description:
      'Set where a person of the shop typed the only e-mail at which the payer is asked: it proves that person’s word, ' +
      'not the payer’s. Null where the payer or the shop’s server gave it, where nobody is asked by mail, and for an ' +
      'e-mail of an earlier version.',
  }),
)

const GoalFields = {
  company: Type.String({ description: 'Whose order it is, as payers know it.' }),
  channel: Nullable(
    Type.String({ description: 'Through which the money goes back. Null while the order cannot be refunded.' }),
  ),
  network: Nullable(Type.Integer({ description: 'Chain id of the addresses. Null: the provider knows where to.' })),
  address: Nullable(
    Type.String({
      description:
        'Where a refund goes that names no address: the payer stated it. Null with a `network`: the payer is asked.',
    }),
  ),
  proposedAddress: Nullable(
    Type.String({
      description:
        'Set instead of `address` where someone else named it: the payer is asked to confirm it, and may name another.',
    }),
  ),
  emailWriter: EmailWriter,
  statedAddresses: Type.Array(Type.String(), {
    description: 'All that the payer stated: a refund that names one of them needs no proof.',
    examples: [['0x52908400098527886E0F7030069857D2E4169EE7']],
  }),
}

export const Goal = Type.Object(GoalFields)

export const Refundable = Type.Object({
  refundableAmount: Type.String({
    description: 'Decimal text. "0" while the order cannot be refunded.',
    examples: ['10.5'],
  }),
  asset: Type.Literal('USDC'),
  ...GoalFields,
})

export const MispaymentRefundBody = Type.Object({
  reason: Type.Optional(Type.String({ maxLength: 256 })),
  units: ShownUnits,
  ...WantedFields,
})
export type MispaymentRefundBody = Static<typeof MispaymentRefundBody>

export const RefundAddressBody = Type.Object({
  address: Type.String({ maxLength: 42 }),
  addressProof: WantedFields.addressProof,
})

export const AddressMessageQuery = Type.Object({
  code: Type.String({ maxLength: 64, description: 'Of the order.' }),
  address: Type.String({ maxLength: 42 }),
  amount: Type.Optional(Type.String({ maxLength: 40, description: 'USDC, decimal text. Absent: all that is left.' })),
  mispaymentId: Type.Optional(Type.String({ pattern: '^[0-9a-f]{24}$', description: 'Money that never paid it.' })),
})

export const AddressMessageSchema = Type.Object({
  message: Type.String({ description: 'The exact text to sign.' }),
  refund: Type.Integer({ description: 'Its number among the refunds of the order.' }),
  amount: Type.String(),
  network: Nullable(Type.Integer()),
})

const AddressProofSchema = Type.Object(
  {
    kind: Type.String({
      enum: [...PROOF_KINDS],
      description:
        '`stated`: the payer’s own, given before PAID. `payer`: confirmed on the refund page, by the link in the mail. ' +
        '`signature`: signed for. `attested`: a second person vouches for it.',
    }),
    by: Type.String(),
    at: Type.String({ format: 'date-time' }),
    source: Type.Optional(Type.String({ enum: ['accept', 'payerInformation'] })),
    signer: Type.Optional(Type.String()),
    signerIs: Type.Optional(Type.String({ enum: ['destination', 'sender'] })),
    statement: Type.Optional(Type.String()),
    evidence: Type.Optional(Type.String()),
  },
  { description: 'Why this destination is trusted.' },
)

export const RefundSchema = Type.Object({
  _id: Type.String(),
  orderId: Type.String(),
  code: Type.String({ description: 'Of its order.' }),
  shortCode: Type.String(),
  company: Type.String({ description: 'Whose order it is, as payers know it.' }),
  mispaymentId: Nullable(Type.String({ description: 'Set: money that never paid the order goes back.' })),
  status: Type.String({ enum: [...REFUND_STATUSES] }),
  amount: Type.String({ description: 'USDC, 6 digits.' }),
  excessAmount: Type.String({ description: 'The part above the order’s price.' }),
  withoutCover: Type.Boolean({
    description:
      'Refunded without cover, by a SuperAdmin or from the provider’s console: the company owes it to the operator.',
  }),
  channel: Type.String(),
  address: Nullable(Type.String()),
  proposedAddress: Nullable(
    Type.String({ description: 'Named without a proof: nothing goes there before the payer confirms it.' }),
  ),
  proposedBy: Nullable(Type.String({ description: 'Who named it; a second person may vouch for it.' })),
  proposer: Nullable(
    Type.Object(WriterFields, {
      description:
        '`proposedBy` by name, for those who may confirm the address. Through a key, ask the payer: whoever knows the ' +
        'key can have named it. Null where the payer named it.',
    }),
  ),
  confirmedBy: Nullable(
    Type.String({ description: 'The person of the shop who vouches for it; one more has to, if the payer named it.' }),
  ),
  replacedAddress: Nullable(
    Type.String({ description: 'What the payer had named before the proposed address took its place.' }),
  ),
  addressProof: Nullable(AddressProofSchema),
  askedByMail: Type.Boolean({ description: 'The payer got a mail with the link of the page for it.' }),
  emailWriter: EmailWriter,
  addressUrl: Nullable(
    Type.String({
      description:
        'While the payer is asked: the link to hand over, shown to roles that start refunds and to keys with ' +
        '`refunds:write`. Null for everyone else, and when the payer got it by mail: whoever reads it could otherwise ' +
        'answer for the payer.',
    }),
  ),
  addressMessage: Nullable(
    Type.String({ description: 'While a proposed address waits: what its owner or the payer can sign instead.' }),
  ),
  network: Nullable(Type.Integer()),
  reason: Nullable(Type.String()),
  approvalReason: Nullable(
    Type.String({
      enum: ['company', 'limit'],
      description: 'Why a SuperAdmin has to approve it: the company’s setting, or the role’s limit.',
    }),
  ),
  requestedBy: Type.String(),
  decidedBy: Nullable(Type.String()),
  txHash: Nullable(Type.String()),
  message: Nullable(Type.String({ description: 'The last status from the provider or the chain.' })),
  toSendByHand: Type.Boolean({
    description:
      'A person has to send it now, because its channel cannot. Then name the transaction (POST ' +
      '/refunds/{id}/transaction), or settle it (POST /refunds/{id}/settle) where no chain shows one.',
  }),
  heldBy: Type.String({
    enum: [...HOLDERS],
    description:
      'Who holds its money. Where a person has to send it, that is the one who does: the company from its own account ' +
      'or wallet, or the operator. Of the operator’s money only a SuperAdmin names a transaction, or settles it.',
  }),
  settledByHand: Type.Boolean({ description: 'A person sent the money; only such a refund takes a proof file.' }),
  proof: Nullable(
    Type.Object(
      {
        mime: Type.String({ enum: ['image/webp', 'application/pdf'] }),
        size: Type.Integer(),
        sha256: Type.String(),
        by: Type.String(),
        at: Type.String({ format: 'date-time' }),
        erasedAt: Nullable(
          Type.String({
            format: 'date-time',
            description: 'When the file went with the payer’s data; null: it is there.',
          }),
        ),
      },
      { description: 'The proof file: GET /refunds/{id}/proof.' },
    ),
  ),
  createdAt: Type.String({ format: 'date-time' }),
  updatedAt: Type.String({ format: 'date-time' }),
  settledAt: Nullable(Type.String({ format: 'date-time' })),
})

export const RefundList = Type.Object({
  refunds: Type.Array(RefundSchema),
  total: Type.Integer(),
  page: Type.Integer(),
  limit: Type.Integer(),
})

export const RefundListQuery = Type.Object({
  companyId: CompanyIdQuery,
  code: Type.Optional(Type.String({ maxLength: 64, description: 'Only of this order.' })),
  status: Type.Optional(
    Type.Unsafe<RefundStatus | 'waiting'>(
      Type.String({
        enum: [...REFUND_STATUSES, 'waiting'],
        description:
          '`waiting`: a person of yours has to approve it, name its address, or send it, as `needs.refunds` of GET ' +
          '/summary counts them.',
      }),
    ),
  ),
  page: Type.Optional(Type.Integer({ minimum: 1, maximum: 100_000, default: 1 })),
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 100, default: 20 })),
})
export type RefundListQuery = Static<typeof RefundListQuery>
