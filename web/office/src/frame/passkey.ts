import { type Body, call, type Query } from '../api/call.ts'

type Proof = NonNullable<Body<'validateOtp'>['passkey']>
type Made = Body<'addPasskey'>['response']

/** Browsers since 2025 read and write the JSON forms of WebAuthn level 3 natively. */
export const canPasskey = (): boolean =>
  typeof PublicKeyCredential !== 'undefined' && 'parseRequestOptionsFromJSON' in PublicKeyCredential

async function jsonOf(asked: Promise<Credential | null>): Promise<unknown> {
  const credential = await asked
  if (!(credential instanceof PublicKeyCredential)) throw new Error('no passkey')
  return credential.toJSON()
}

/** Asks a passkey of this person to sign for the login or the step-up. Rejects when the person gives up. */
export async function provePasskey(query: Query<'beginPasskeyProof'> = {}): Promise<Proof> {
  const { options } = await call('POST /api/next/auth/passkey/options', { query })
  const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(
    options as unknown as PublicKeyCredentialRequestOptionsJSON,
  )
  return (await jsonOf(navigator.credentials.get({ publicKey }))) as Proof
}

/** Creates a passkey on this device or on a connected security key. */
export async function makePasskey(): Promise<Made> {
  const { options } = await call('POST /api/next/auth/passkeys/options')
  const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(
    options as unknown as PublicKeyCredentialCreationOptionsJSON,
  )
  return (await jsonOf(navigator.credentials.create({ publicKey }))) as Made
}
