import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto'

/* X.509 certificates made at run time (RFC 5280), as many fields as TLS needs and no more. */

const der = (tag: number, ...parts: Buffer[]): Buffer => {
  const body = Buffer.concat(parts)
  if (body.length < 128) return Buffer.concat([Buffer.from([tag, body.length]), body])
  const length = Buffer.from(body.length.toString(16).padStart(4, '0'), 'hex')
  return Buffer.concat([Buffer.from([tag, 0x82]), length, body])
}
const sequence = (...parts: Buffer[]): Buffer => der(0x30, ...parts)
const oid = (hex: string): Buffer => der(0x06, Buffer.from(hex, 'hex'))
const utcTime = (date: Date): Buffer =>
  der(0x17, Buffer.from(`${date.toISOString().replace(/[-:T]/g, '').slice(2, 14)}Z`))
const nameOf = (commonName: string): Buffer =>
  sequence(der(0x31, sequence(oid('550403'), der(0x0c, Buffer.from(commonName)))))
const extension = (id: string, value: Buffer): Buffer => sequence(oid(id), der(0x04, value))

const ECDSA_WITH_SHA256 = sequence(oid('2a8648ce3d040302'))

export type Certificate = { name: string; cert: string; key: KeyObject; keyPem: string }

export type CertificateOptions = {
  name: string
  /** DNS names that it is for; none for an authority. */
  hosts?: string[]
  /** Who signs it; absent: itself. */
  issuer?: Certificate
  notAfter?: Date
}

/** A certificate with a fresh P-256 key, valid since yesterday. */
export function makeCertificate({ name, hosts = [], issuer, notAfter }: CertificateOptions): Certificate {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const day = 86_400_000
  const names = hosts.map((host) => der(0x82, Buffer.from(host)))
  const isAuthority = hosts.length === 0
  const extensions = [
    extension('551d13', isAuthority ? sequence(der(0x01, Buffer.from([0xff]))) : sequence()),
    ...(isAuthority ? [] : [extension('551d11', sequence(...names))]),
  ]
  const body = sequence(
    der(0xa0, der(0x02, Buffer.from([2]))),
    der(0x02, Buffer.from([1, ...Buffer.from(String(Date.now()))])),
    ECDSA_WITH_SHA256,
    nameOf(issuer?.name ?? name),
    sequence(utcTime(new Date(Date.now() - 2 * day)), utcTime(notAfter ?? new Date(Date.now() + day))),
    nameOf(name),
    publicKey.export({ type: 'spki', format: 'der' }),
    der(0xa3, sequence(...extensions)),
  )
  const signature = sign('sha256', body, issuer?.key ?? privateKey)
  const whole = sequence(body, ECDSA_WITH_SHA256, der(0x03, Buffer.from([0]), signature))
  const lines = whole.toString('base64').match(/.{1,64}/g) ?? []
  const cert = `-----BEGIN CERTIFICATE-----\n${lines.join('\n')}\n-----END CERTIFICATE-----\n`
  return { name, cert, key: privateKey, keyPem: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString() }
}
