import { refTo } from '../http/envelope.ts'
import { MAX_COMPANY_NAME, NAME_PATTERN } from '../kernel/names.ts'
import { type Static, Type } from '../kernel/schema.ts'
import { CountryCode, Email, Nullable, PersonName, Role, UserSchema } from '../users/user-schemas.ts'

const Password = (description: string) => Type.String({ minLength: 1, maxLength: 1024, description })
const NewPassword = Password('12 to 128 characters with upper case, lower case, a digit and a special character.')
const Code = (description: string) => Type.String({ pattern: '^[0-9]{6}$', description, examples: ['123456'] })

export const RegisterBody = Type.Object({
  email: Email,
  password: NewPassword,
  firstName: PersonName,
  lastName: PersonName,
  role: Role,
  companyName: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: MAX_COMPANY_NAME,
      pattern: NAME_PATTERN,
      description: 'Manager: the new company. Cashier, Observer: the one to join.',
    }),
  ),
  associationName: Type.Optional(Type.String({ minLength: 1, maxLength: MAX_COMPANY_NAME, pattern: NAME_PATTERN })),
  origin: Type.Optional(Type.String({ maxLength: 40 })),
  phoneNumber: Type.Optional(Type.String({ maxLength: 40 })),
  phoneNumberCountry: Type.Optional(CountryCode),
})

export const LoginBody = Type.Object({ email: Email, password: Password('The password.') })
export const ManagerLoginBody = Type.Object({
  ...LoginBody.properties,
  origin: Type.String({ enum: ['dashboard', 'application'], description: 'Decides how long the session lives.' }),
})

const Base64Url = (description: string) =>
  Type.String({ maxLength: 20_000, pattern: '^[A-Za-z0-9_=-]*$', description, examples: ['AQID'] })
const CredentialHead = {
  id: Base64Url('Credential id.'),
  rawId: Base64Url('Credential id.'),
  type: Type.String({ enum: ['public-key'], description: 'Always public-key.' }),
  authenticatorAttachment: Type.Optional(
    Type.String({ maxLength: 40, description: 'Where the authenticator is.', examples: ['platform'] }),
  ),
  clientExtensionResults: Type.Record(Type.String(), Type.Unknown(), {
    description: 'As the browser gives it.',
    examples: [{}],
  }),
}
const Proof = Type.Object(
  {
    ...CredentialHead,
    response: Type.Object(
      {
        clientDataJSON: Base64Url('What the browser signed for.'),
        authenticatorData: Base64Url('What the authenticator says of itself.'),
        signature: Base64Url('The signature.'),
        userHandle: Type.Optional(Base64Url('Whose passkey it is.')),
      },
      { description: 'What the authenticator answered.' },
    ),
  },
  { description: '`toJSON()` of what `navigator.credentials.get` returned, for POST /auth/passkey/options.' },
)
const Made = Type.Object(
  {
    ...CredentialHead,
    response: Type.Object(
      {
        clientDataJSON: Base64Url('What the browser signed for.'),
        attestationObject: Base64Url('The new key, as the authenticator describes it.'),
        authenticatorData: Type.Optional(Base64Url('What the authenticator says of itself.')),
        publicKey: Type.Optional(Base64Url('The new public key.')),
        publicKeyAlgorithm: Type.Optional(Type.Integer({ description: 'COSE number of its kind.', examples: [-7] })),
        transports: Type.Optional(
          Type.Array(Type.String({ maxLength: 40 }), {
            maxItems: 10,
            description: 'How it is reached.',
            examples: [['internal']],
          }),
        ),
      },
      { description: 'What the authenticator answered.' },
    ),
  },
  { description: '`toJSON()` of what `navigator.credentials.create` returned.' },
)
const PasskeyName = Type.String({
  ...{ minLength: 1, maxLength: 60, pattern: NAME_PATTERN },
  ...{ description: 'For its owner, to tell one from another.', examples: ['Laptop'] },
})
export const PasskeyBody = Type.Object({ name: PasskeyName, response: Made })
export const PasskeyOptions = Type.Object({
  options: Type.Object(
    {},
    {
      additionalProperties: true,
      description: 'For the browser: `PublicKeyCredential.parse…OptionsFromJSON` (WebAuthn level 3).',
      examples: [{ challenge: 'AQID', rpId: 'pay.example' }],
    },
  ),
})
export const PasskeySchema = Type.Object({
  _id: Type.String(),
  name: PasskeyName,
  createdAt: Type.String({ format: 'date-time' }),
  lastUsedAt: Nullable(Type.String({ format: 'date-time', description: 'When it last proved a login or a step-up.' })),
})

export const OtpBody = Type.Object({
  otp: Type.Optional(Code('From the authenticator app.')),
  emailOtp: Type.Optional(Code('Received by e-mail.')),
  recoveryCode: Type.Optional(Type.String({ maxLength: 20, description: 'One of the ten recovery codes.' })),
  passkey: Type.Optional(Proof),
})

export const EmailBody = Type.Object({ email: Email })
export const ResetSendBody = Type.Object({
  email: Email,
  origin: Type.Optional(
    Type.String({
      maxLength: 40,
      description: '`application`: returns a token, which works once the mailed link or code is used.',
    }),
  ),
})
export const ResetChangeBody = Type.Object({
  token: Type.String({ minLength: 1, maxLength: 200 }),
  newPassword: NewPassword,
  emailOtp: Type.Optional(
    Code('The mailed code. Required for a token of origin `application` unless its link was opened.'),
  ),
})
export const PasswordBody = Type.Object({ password: Password('The current password.'), newPassword: NewPassword })
export const TokenBody = Type.Object({ token: Type.String({ minLength: 1, maxLength: 200 }) })

export const UserIdHeader = Type.Object({
  'x-user-id': Type.Optional(
    Type.String({
      description: 'Selects a user’s refresh cookie when one browser has several back-office sessions.',
    }),
  ),
})

export const StepUpQuery = Type.Object({
  stepUp: Type.Optional(
    Type.Boolean({
      description:
        'For the session of the bearer, even if this browser has also begun a login (cookie `otpValidationToken`).',
      examples: [true],
    }),
  ),
})

const UserRef = refTo(UserSchema)
export const TokenAndUser = Type.Object({
  token: Type.String({ description: 'Access token, valid for ten minutes.' }),
  user: UserRef,
})
export const TokenOrNullAndUser = Type.Object({
  token: Nullable(
    Type.String({ description: 'Null: a second factor is needed; see the cookie `otpValidationToken`.' }),
  ),
  user: UserRef,
})

export const SessionSchema = Type.Object({
  _id: Type.String(),
  current: Type.Boolean(),
  kind: Type.String({ enum: ['dashboard', 'application', 'till'] }),
  ip: Nullable(Type.String()),
  userAgent: Nullable(Type.String()),
  createdAt: Type.String({ format: 'date-time' }),
  lastUsedAt: Type.String({ format: 'date-time' }),
  expiresAt: Type.String({ format: 'date-time' }),
})

export type OtpBody = Static<typeof OtpBody>
