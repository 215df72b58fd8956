import { domainToASCII } from 'node:url'

const NON_ASCII = /[^ -~]/

/**
 * An address with its domain in ASCII form (IDNA): `max@müller.de` becomes `max@xn--mller-kva.de`, which is also what a
 * browser sends for it. Anything else stays as it is.
 */
export function withAsciiDomain(email: string): string {
  const at = email.lastIndexOf('@')
  const domain = email.slice(at + 1)
  if (at < 0 || !NON_ASCII.test(domain)) return email
  return `${email.slice(0, at)}@${domainToASCII(domain)}`
}

/** One key per user, however the address is spelled. */
export const emailKeyOf = (email: string): string => withAsciiDomain(email.normalize('NFKC').trim()).toLowerCase()
