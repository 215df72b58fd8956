import { type Static, Type } from 'typebox'
import { refTo } from '../http/envelope.ts'
import { MAX_COMPANY_NAME, NAME_PATTERN } from '../kernel/names.ts'
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

export const OtpBody = Type.Object({
  otp: Type.Optional(Code('From the authenticator app.')),
  emailOtp: Type.Optional(Code('Received by e-mail.')),
  recoveryCode: Type.Optional(Type.String({ maxLength: 20, description: 'One of the ten recovery codes.' })),
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
  kind: Type.String({ enum: ['dashboard', 'application'] }),
  ip: Nullable(Type.String()),
  userAgent: Nullable(Type.String()),
  createdAt: Type.String({ format: 'date-time' }),
  lastUsedAt: Type.String({ format: 'date-time' }),
  expiresAt: Type.String({ format: 'date-time' }),
})

export type OtpBody = Static<typeof OtpBody>
