import { USER_ROLES, type UserRole } from '../http/actor.ts'
import { LANGS, type Lang } from '../kernel/lang.ts'
import { MAX_PERSON_NAME, NAME_PATTERN } from '../kernel/names.ts'
import { type TSchema, Type } from '../kernel/schema.ts'

export const Nullable = <Schema extends TSchema>(schema: Schema) => Type.Union([schema, Type.Null()])

export const IdParams = Type.Object({
  id: Type.String({ pattern: '^[0-9a-f]{24}$', description: '24 hex characters.' }),
})

export const Email = Type.String({ format: 'email', maxLength: 254, examples: ['maud@cafe.example'] })
export const PersonName = Type.String({ minLength: 1, maxLength: MAX_PERSON_NAME, pattern: NAME_PATTERN })
export const Role = Type.Unsafe<UserRole>(Type.String({ enum: [...USER_ROLES] }))
export const LangSchema = Type.Unsafe<Lang>(
  Type.String({ enum: [...LANGS], description: 'Language of mails. Default: en.' }),
)
export const LangQuery = Type.Object({ lang: Type.Optional(LangSchema) })
export const CountryCode = Type.String({ pattern: '^[A-Z]{2}$', description: 'ISO 3166-1 alpha-2.', examples: ['FR'] })

/** Until the user is verified and approved, every field but id, name and kind is null. */
const UserCompanySchema = Type.Object({
  _id: Type.String(),
  name: Type.String(),
  kind: Type.String({ enum: ['company', 'association'] }),
  country: Nullable(Type.String()),
  siret: Nullable(Type.String()),
  approved: Nullable(Type.Boolean({ description: 'Approved by the operator; before that nothing can be sold.' })),
  settlementAddress: Nullable(Type.String()),
  settlementNetwork: Nullable(Type.Integer()),
})

export const UserSchema = Type.Object(
  {
    _id: Type.String(),
    email: Type.String(),
    firstName: Type.String(),
    lastName: Type.String(),
    role: Role,
    phoneNumber: Nullable(Type.String()),
    apiKey: Nullable(Type.String({ description: 'Public id of the newest API key of this user; never the secret.' })),
    valid: Type.Boolean({ description: 'E-mail verified and, for Cashier and Observer, approved.' }),
    invited: Type.Boolean({ description: 'Has not chosen a password yet; inviting again sends a new link.' }),
    twoFactorAuthEnabled: Type.Boolean(),
    authenticatorEnabled: Type.Boolean({
      description: 'An authenticator app is enrolled; otherwise codes come by e-mail.',
    }),
    passkeyEnabled: Type.Boolean({ description: 'A passkey is registered and can prove a login.' }),
    saleMails: Type.Boolean({ description: 'Gets a mail for each sale of the company that the user may see.' }),
    lastConnection: Nullable(Type.String({ format: 'date-time' })),
    lang: Type.String(),
    disabled: Type.Boolean(),
    missing: Type.Array(Type.String(), {
      description: 'What this account still needs before it works; empty when nothing is missing.',
    }),
    company: Nullable(UserCompanySchema),
  },
  { $id: 'User', description: 'A person or machine that can log in.' },
)
