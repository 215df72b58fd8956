import { Nullable } from '../companies/company-schemas.ts'
import { VISIBLE_PATTERN } from '../kernel/names.ts'
import { Type } from '../kernel/schema.ts'

const DateTime = (description: string) =>
  Type.String({ format: 'date-time', description, examples: ['2026-07-03T09:30:00.000Z'] })
const Count = (description: string, example: number) => Type.Integer({ description, examples: [example] })
const Collector = Type.Object(
  { _id: Type.String(), identifier: Type.String({ description: 'The `merchantIdentifier`.', examples: ['TILL-1'] }) },
  { description: 'The till that the device is.' },
)

export const DeviceBody = Type.Object({
  name: Type.String({
    minLength: 1,
    maxLength: 60,
    pattern: VISIBLE_PATTERN,
    description: 'For people.',
    examples: ['Counter left'],
  }),
  collector: Type.String({
    minLength: 1,
    maxLength: 100,
    description: 'The till: its id, or its identifier in your company; operators name the company with an identifier.',
    examples: ['TILL-1'],
  }),
})

export const NewDeviceSchema = Type.Object({
  _id: Type.String(),
  name: Type.String(),
  collector: Type.String({ description: 'Id of the till.', examples: ['66a1f0c2e4b07d3a5c9e1f20'] }),
  enrolmentCode: Type.String({
    description: 'Typed on the device at `/till`. Works once, for ten minutes, and is never shown again.',
    examples: ['7K2M-9XQD'],
  }),
  enrolmentExpiresAt: DateTime('Until when the code works.'),
})

export const DeviceSchema = Type.Object(
  {
    _id: Type.String(),
    company: Type.String(),
    name: Type.String(),
    collector: Collector,
    userAgent: Nullable(Type.String({ description: 'The browser that was enrolled.', examples: ['Mozilla/5.0'] })),
    createdAt: DateTime('When the code was made.'),
    enrolledAt: Nullable(DateTime('When the code was used; null before.')),
    lastSeenAt: Nullable(DateTime('When the device last asked, to the minute.')),
    revokedAt: Nullable(DateTime('When it was revoked; null while it works.')),
  },
  { $id: 'TillDevice', description: 'A tablet or phone that cashiers sign in at with a PIN.' },
)

export const PinBody = Type.Object({
  pin: Type.String({
    pattern: '^[0-9]{6}$',
    description: 'Six digits, not all equal and not in a row.',
    examples: ['402817'],
  }),
})
export const PinSchema = Type.Object({
  set: Type.Boolean({ description: 'Whether you have a PIN.', examples: [true] }),
  changedAt: Nullable(DateTime('When you set it.')),
})

export const EnrolBody = Type.Object({
  enrolmentCode: Type.String({
    ...{ minLength: 4, maxLength: 40, description: 'The code of `POST /till-devices`.', examples: ['7K2M-9XQD'] },
  }),
})

export const TillSchema = Type.Object({
  device: Type.Object(
    { _id: Type.String(), name: Type.String({ description: 'Name for people.', examples: ['Counter left'] }) },
    { description: 'This browser.' },
  ),
  collector: Collector,
  company: Type.String({ description: 'The company’s name.', examples: ['Café de la Gare'] }),
  place: Type.String({ description: 'The sales point’s name.', examples: ['Rue du Midi'] }),
  currencies: Type.Array(Type.String(), {
    description: 'What can be charged, the country’s own first.',
    examples: [['EUR', 'CHF']],
  }),
  people: Type.Array(
    Type.Object({
      _id: Type.String(),
      name: Type.String({ description: 'First name and initial.', examples: ['Ada B.'] }),
      hasPin: Type.Boolean({ description: 'Whether the person has set a PIN.', examples: [true] }),
      locked: Type.Boolean({
        description: 'Five wrong PINs: locked on this device until a new PIN is set.',
        examples: [false],
      }),
    }),
    { description: 'Who may sign in here.' },
  ),
})

export const SignInBody = Type.Object({
  user: Type.String({
    pattern: '^[0-9a-f]{24}$',
    description: 'Id of one of the till’s people.',
    examples: ['66a1f0c2e4b07d3a5c9e1f20'],
  }),
  pin: Type.String({ pattern: '^[0-9]{6}$', description: 'The person’s PIN.', examples: ['402817'] }),
})
export const SignedInSchema = Type.Object({
  token: Type.String({
    description: 'Access token, valid for ten minutes; renewed with `POST /auth/refresh-token`.',
    examples: ['eyJhbGciOiJIUzI1NiIs…'],
  }),
  user: Type.Object(
    { _id: Type.String(), name: Type.String({ description: 'First name and initial.', examples: ['Ada B.'] }) },
    { description: 'Who signed in.' },
  ),
})

const Amount = Type.String({ description: 'Decimal text with the currency’s digits.', examples: ['12.50'] })
export const ShiftSchema = Type.Object({
  startedAt: DateTime('When you signed in; a PIN typed again without a sign-out begins no new shift.'),
  created: Count('Orders you made.', 12),
  open: Count('Those that wait for their payment.', 1),
  ended: Count('Those that ended unpaid.', 2),
  sums: Type.Array(
    Type.Object({
      asset: Type.String({ description: 'The currency.', examples: ['EUR'] }),
      paid: Count('Orders paid in it.', 9),
      amount: Amount,
      received: Type.String({ description: 'What was paid for them, in USDC.', examples: ['13.500000'] }),
    }),
    { description: 'What was paid, by currency.' },
  ),
})

export const DisplaySchema = Type.Object({
  order: Nullable(
    Type.Object({
      code: Type.String({ description: 'For the QR code at `/till/qr`.', examples: ['hMhkeA3CLc7qBZmiixQmRPUV'] }),
      amount: Amount,
      asset: Type.String({ description: 'The currency.', examples: ['EUR'] }),
      toAmount: Type.String({ description: 'In USDC.', examples: ['13.500000'] }),
      status: Type.String({ description: 'The order’s state.', examples: ['AWAITING'] }),
    }),
  ),
})
