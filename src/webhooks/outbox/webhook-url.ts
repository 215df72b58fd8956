import { createHash } from 'node:crypto'
import { isIP } from 'node:net'
import { invalid } from '../../kernel/errors.ts'
import { addressRule } from './address-ranges.ts'

/** `config.webhooks` */
export type WebhookUrlRules = { allowHttp: boolean; allowedRanges: readonly string[] }

/** Ports where an HTTP request could be read as a command of another protocol (the WHATWG Fetch list of bad ports). */
const REFUSED_PORTS = new Set([
  ...[0, 1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101, 102, 103, 104, 109],
  ...[110, 111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427, 465, 512, 513, 514, 515, 526, 530],
  ...[531, 532, 540, 548, 554, 556, 563, 587, 601, 636, 989, 990, 993, 995, 1719, 1720, 1723, 2049, 3659, 4045, 4190],
  ...[5060, 5061, 6000, 6379, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 10080, 11211],
])

const hasControlCharacter = (text: string): boolean =>
  [...text].some((character) => character <= ' ' || (character >= '\u007f' && character <= '\u009f'))

/** An IPv6 host without its brackets and zone; a name without the trailing root dot. */
export const bareHost = (hostname: string): string => hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '')

const isLocalName = (host: string): boolean => host === 'localhost' || host.endsWith('.localhost')

/** RFC 1035, section 2.3.4: no longer name can be resolved. A name in other letters is longer in ASCII. */
const HOST_LENGTH = 253
const LABEL_LENGTH = 63

const isTooLong = (host: string): boolean =>
  host.length > HOST_LENGTH || host.split('.').some((label) => label.length > LABEL_LENGTH)

const KEPT_ADDRESSES = 1000
const keptGood = new WeakMap<WebhookUrlRules, Set<string>>()

/**
 * What is wrong with a webhook URL, as a sentence for the merchant, or null. Names are not resolved here. A shop sends
 * the same URL with each order, so URLs that passed under these rules are cached.
 */
export function webhookUrlFault(text: string, rules: WebhookUrlRules): string | null {
  const good = keptGood.get(rules) ?? new Set()
  if (good.has(text)) return null
  const fault = findFault(text, rules)
  if (fault !== null) return fault
  if (good.size >= KEPT_ADDRESSES) good.clear()
  keptGood.set(rules, good.add(text))
  return null
}

function findFault(text: string, rules: WebhookUrlRules): string | null {
  if (text.length > 2048) return 'The address is longer than 2048 characters.'
  if (hasControlCharacter(text)) return 'The address contains a space or a control character.'
  if (!URL.canParse(text)) return 'This is not a valid URL. Write it like https://shop.example/webhooks.'
  const url = new URL(text)
  if (/^https?:/i.test(text) && !/^https?:\/\/[^\\/?#]/i.test(text)) return 'The address has no host name.'
  if (url.protocol !== 'https:' && url.protocol !== 'http:') return 'Use an https:// address.'
  if (url.protocol === 'http:' && !rules.allowHttp) return 'Use an https:// address; http:// is not allowed here.'
  if (url.username !== '' || url.password !== '' || /^https?:[\\/]*[^\\/?#]*@/i.test(text)) {
    return 'Leave user name and password out of the address; verify the signature instead.'
  }
  if (url.port !== '' && REFUSED_PORTS.has(Number(url.port)))
    return `Port ${url.port} is not for web servers. Use another.`
  const host = bareHost(url.hostname)
  if (host === '') return 'The address has no host name.'
  if (isTooLong(host)) {
    return `The host name is too long: at most ${HOST_LENGTH} characters in all and ${LABEL_LENGTH} between two dots.`
  }
  const isAllowed = addressRule(rules.allowedRanges)
  const address = isLocalName(host) ? '127.0.0.1' : host
  if (isIP(address) !== 0 && !isAllowed(address)) {
    return 'This address is private or reserved. Webhooks are sent to public addresses only.'
  }
  return null
}

/**
 * Checks a `webhookUrl` when an order is created: form, scheme, port, and the address if it is numeric. Names are
 * checked by the addresses they resolve to at every connection (`createVettedConnector`).
 * @throws AppError VALIDATION_FAILED at path `webhookUrl`
 */
export function checkWebhookUrl(text: string, rules: WebhookUrlRules): void {
  const fault = webhookUrlFault(text, rules)
  if (fault !== null) throw invalid('webhookUrl', fault)
}

/**
 * The destination of one lane: `scheme://host:port`, always with the port. A host that is too long to exist, stored
 * before such addresses were refused, is its hash: a lane is a key of an index, and must fit one.
 */
export function laneOf(text: string): string {
  const url = new URL(text)
  const { protocol, hostname } = url
  const port = url.port === '' ? (protocol === 'https:' ? '443' : '80') : url.port
  const host = isTooLong(bareHost(hostname)) ? createHash('sha256').update(hostname).digest('hex') : hostname
  return `${protocol}//${host}:${port}`
}
