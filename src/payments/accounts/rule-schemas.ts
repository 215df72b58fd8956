import { CHANNEL_IDS } from '../../channels/channel.ts'
import { NAME_PATTERN } from '../../kernel/names.ts'
import { type Static, type TSchema, Type } from '../../kernel/schema.ts'

const Nullable = <Schema extends TSchema>(schema: Schema, description?: string) =>
  Type.Union([schema, Type.Null()], description === undefined ? {} : { description })

/** One entry per language that has a text. */
const byLang = <Schema extends TSchema>(schema: Schema, description: string) => {
  const one = Type.Optional(schema)
  return Type.Object({ en: one, fr: one, de: one, es: one, it: one }, { description })
}

const Label = Type.String({ minLength: 1, maxLength: 40, pattern: NAME_PATTERN })
const Hint = Type.String({ minLength: 1, maxLength: 160, pattern: NAME_PATTERN })
const PositiveEuro = Type.String({ pattern: '^(?!0+(\\.0+)?$)[0-9]{1,16}(\\.[0-9]{1,2})?$', examples: ['5.00'] })

export const ChannelTextsSchema = byLang(
  Type.Object({
    label: Nullable(Type.String(), 'The name that payers read; null: the channel’s own.'),
    hint: Nullable(Type.String(), 'The line below the name; null: none.'),
  }),
  'What payers read, by language (`en`, `fr`, `de`, `es`, `it`). In other languages they read the channel’s own name.',
)

const LIMITS = 'EUR; orders in another currency are compared at the rate of the moment. Null: no limit.'

export const ChannelRuleSchema = Type.Object(
  {
    channel: Type.String({ enum: [...CHANNEL_IDS] }),
    offered: Type.Boolean({ description: 'Whether payers may choose it.' }),
    minAmount: Nullable(Type.String(), `Orders below are not offered this channel. ${LIMITS}`),
    maxAmount: Nullable(Type.String(), `Orders above are not offered this channel. ${LIMITS}`),
    texts: ChannelTextsSchema,
  },
  { $id: 'ChannelRule', description: 'How a company offers one of its channels.' },
)

export const ChannelRuleBody = Type.Object({
  offered: Type.Optional(Type.Boolean()),
  minAmount: Type.Optional(Nullable(PositiveEuro)),
  maxAmount: Type.Optional(Nullable(PositiveEuro)),
  texts: Type.Optional(
    byLang(
      Nullable(Type.Object({ label: Type.Optional(Nullable(Label)), hint: Type.Optional(Nullable(Hint)) })),
      'By language. Languages that you leave out keep their texts; null removes a language’s. No links, no addresses.',
    ),
  ),
})
export type ChannelRuleBody = Static<typeof ChannelRuleBody>

export const ChannelOrderBody = Type.Object({
  order: Type.Array(Type.String({ maxLength: 40 }), {
    maxItems: CHANNEL_IDS.length,
    uniqueItems: true,
    description: 'Channels, the first one first. Those that you leave out follow in their usual order.',
    examples: [['crypto', 'binance']],
  }),
})
