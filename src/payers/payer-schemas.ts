import { type Static, Type } from '../kernel/schema.ts'

/** Spaces, zero-width characters or dashes alone are not a name. */
export const hasText = (text: string): boolean => /[\p{L}\p{N}]/u.test(text)

const Text = (description: string) => Type.Optional(Type.String({ maxLength: 256, description }))

export const PayerInformation = Type.Object(
  {
    firstName: Text('First name'),
    lastName: Text('Last name'),
    email: Type.Optional(Type.String({ format: 'email', maxLength: 320 })),
    address1: Text('Street and number'),
    address2: Text('More of the address'),
    city: Text('City'),
    state: Text('State or canton'),
    country: Type.Optional(
      Type.String({ minLength: 2, maxLength: 2, description: 'ISO 3166-1 alpha-2, for example FR' }),
    ),
    zipCode: Text('Postal code'),
    postalAddress: Text('Whole address in one line'),
    userAddress: Type.Optional(Type.String({ maxLength: 42, description: 'The payer’s wallet address' })),
    isCompany: Type.Optional(Type.Boolean()),
    companyName: Text('Required when isCompany is true'),
    companySiret: Type.Optional(Type.String({ maxLength: 14, description: '14 digits, France only' })),
    companyVatNumber: Type.Optional(Type.String({ maxLength: 30, description: 'VAT number with its prefix' })),
  },
  { description: 'Payer information. Stored encrypted; never part of an order, a list or an export.' },
)
export type PayerInformation = Static<typeof PayerInformation>

export const SavePayerBody = Type.Object({
  code: Type.String({ minLength: 1, maxLength: 64 }),
  payerInformation: PayerInformation,
})
export type SavePayerBody = Static<typeof SavePayerBody>

export const PayerEmailBody = Type.Object({ email: Type.String({ format: 'email', maxLength: 320 }) })
