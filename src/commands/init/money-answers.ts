import { KNOWN_NETWORKS } from '../../chain/networks.ts'
import { type ChannelKind, readSettings } from '../../channels/kind.ts'
import { CHANNEL_KINDS } from '../../channels/kinds.ts'
import { runChecks } from '../../checks/check.ts'
import { credentialChecks } from '../../checks/credential-checks.ts'
import { deriveAddress, EXPORT_HINT, ONE_INSTALLATION, parseXpub } from '../../kernel/xpub.ts'
import type { Asker } from './asker.ts'

type Values = Record<string, string>

const readUrls = (answer: string): string => {
  const urls = answer.split(',').map((part) => part.trim())
  if (urls.every((url) => URL.canParse(url) && /^https?:$/.test(new URL(url).protocol))) return urls.join(',')
  throw new Error('One or more addresses that begin with https://, separated by commas.')
}

const readChains = (answer: string): string => {
  const ids = answer.split(',').map((part) => part.trim())
  const wrong = ids.filter((id) => !/^\d+$/.test(id) || !KNOWN_NETWORKS.has(Number(id)))
  if (wrong.length > 0)
    throw new Error(`Chain ${wrong.join(', ')} is not known. Ethereum is 1, Base 8453, Polygon 137.`)
  return ids.join(',')
}

/** Chains, each with its nodes; one wallet for all, confirmed by three addresses that the operator compares. */
export async function askChains(asker: Asker): Promise<Values> {
  const chains = await asker.ask({
    flag: 'chains',
    text: 'Chains for payments from any wallet, by id (1 Ethereum, 8453 Base, 137 Polygon, 42161 Arbitrum, 10 OP, 43114 Avalanche)',
    fallback: '',
    read: readChains,
  })
  if (chains === '') return {}
  asker.say(EXPORT_HINT)
  const xpub = await asker.ask({
    flag: 'xpub',
    text: 'Your account’s public key',
    read: (text) => parseXpub(text).text,
  })
  if (xpub !== '') {
    const addresses = [0, 1, 2].map((index) => `  0/${index}  ${deriveAddress(xpub, index)}`)
    asker.say(`Its first receiving addresses:\n${addresses.join('\n')}\n${ONE_INSTALLATION}`)
    if (!(await asker.confirm('Does your wallet show these three?', 'addresses-match')))
      throw new Error(
        'Then this is another account’s key, and what arrives could not be spent. Nothing was written. Without a ' +
          'terminal, compare the addresses above and add --addresses-match.',
      )
  }
  const values: Values = {}
  for (const id of chains.split(',')) {
    const name = KNOWN_NETWORKS.get(Number(id))?.name ?? id
    const text = `Nodes of ${name} (two of different providers are compared)`
    values[`CHAIN_${id}_RPC_URL`] = await asker.ask({ flag: `rpc-${id}`, text, read: readUrls })
    values[`CHAIN_${id}_XPUB`] = xpub
  }
  return values
}

const variableOf = (kind: ChannelKind, name: string): string => `CHANNEL_${kind.env}_${name}`

const flagOf = (kind: ChannelKind, name: string): string => `${kind.env}-${name}`.toLowerCase().replaceAll('_', '-')

/** Settings that a channel needs because they have no default. */
const neededBy = (kind: ChannelKind) =>
  Object.entries(kind.settings).filter(([, { fallback }]) => fallback === undefined)

/** Asks until the values are well-formed. */
async function askChannel(asker: Asker, kind: ChannelKind): Promise<Values> {
  const values: Values = {}
  for (const [name, { description, fault }] of neededBy(kind)) {
    const read = (answer: string): string => {
      const wrong = fault?.(answer) ?? null
      if (wrong !== null) throw new Error(`It ${wrong}.`)
      return answer
    }
    const text = `${kind.id}: ${description}`
    values[variableOf(kind, name)] = await asker.ask({ flag: flagOf(kind, name), text, read })
  }
  return values
}

/** A signed query to the provider. @returns what is wrong, or null */
async function probe(values: Values): Promise<string | null> {
  const results = await runChecks(credentialChecks({ provider: values, live: true }))
  const failed = results.find(({ ok }) => !ok)
  return failed ? `${failed.message} ${failed.fix ?? ''}`.trim() : null
}

const readKinds = (answer: string): string => {
  const names = answer.split(',').map((part) => part.trim())
  const wrong = names.filter((name) => !CHANNEL_KINDS.some(({ id }) => id === name))
  if (wrong.length === 0) return names.join(',')
  throw new Error(
    `There is no channel ${wrong.join(', ')}. Choose from ${CHANNEL_KINDS.map(({ id }) => id).join(', ')}.`,
  )
}

/** Exchanges' apps; each account is tested at its provider before it is saved. */
export async function askChannels(asker: Asker): Promise<Values> {
  const ids = CHANNEL_KINDS.map(({ id }) => id).join(', ')
  const chosen = await asker.ask({ flag: 'channels', text: `Channels (${ids})`, fallback: '', read: readKinds })
  const values: Values = {}
  for (const kind of CHANNEL_KINDS.filter(({ id }) => chosen.split(',').includes(id))) {
    const given = await askChannel(asker, kind)
    if (readSettings(kind, settingsIn(kind, given)).outcome !== 'set') continue
    asker.say(`${kind.id}: asking the provider …`)
    const fault = await probe(given)
    asker.say(fault === null ? `${kind.id}: the account works.` : `${kind.id}: ${fault}`)
    const keeps = fault === null || (await asker.confirm(`Keep ${kind.id} all the same?`, 'keep-untried'))
    if (!keeps) throw new Error(`${kind.id} does not work, so nothing was written. Add --keep-untried to keep it.`)
    Object.assign(values, given)
  }
  return values
}

const settingsIn = (kind: ChannelKind, values: Values): Values =>
  Object.fromEntries(
    neededBy(kind).flatMap(([name]) => {
      const value = values[variableOf(kind, name)]
      return value === undefined || value === '' ? [] : [[name, value]]
    }),
  )

/** For --help: the flags of every channel. */
export const channelFlags = (): string[] => {
  // channels of one provider share an account
  const flags = CHANNEL_KINDS.flatMap((kind) => neededBy(kind).map(([name]) => flagOf(kind, name)))
  return [...new Set(flags)]
}
