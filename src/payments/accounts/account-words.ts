import { createHash } from 'node:crypto'
import { getAddress } from 'viem/utils'
import type { ChannelAccount } from '../../channels/account-queries.ts'
import { type OwnWalletSettings, ownWallet, readOwnWallet } from '../../channels/crypto/own-wallet.ts'
import type { ChannelKind, SettingsReading } from '../../channels/kind.ts'
import { deriveAddress, parseXpub } from '../../kernel/xpub.ts'

/* Where payers' money goes, in few words of no language: for the audit log and for mails. */

const MOST_LISTED = 10
const LISTED_OF_MORE = 3
const MOST_CHANGES = 20

const inMixedCase = (addresses: readonly string[]): string[] => addresses.map((one) => getAddress(one))

/** Two lists of one text are the same list; the order does not matter. */
const digestOf = (addresses: readonly string[]): string =>
  createHash('sha256').update(addresses.toSorted().join()).digest('hex').slice(0, 16)

function describeAddresses({ mode, addresses }: OwnWalletSettings): string {
  if (addresses.length <= MOST_LISTED) return `${mode}: ${inMixedCase(addresses).join(', ')}`
  const some = inMixedCase(addresses.slice(0, LISTED_OF_MORE)).join(', ')
  return `${mode} (${addresses.length}): ${some} … sha256 ${digestOf(addresses)}`
}

function describeWallet(own: OwnWalletSettings): string {
  const { mode, xpub, networks } = own
  const place =
    mode === 'xpub' ? `xpub ${parseXpub(xpub).id.slice(0, 16)}: ${deriveAddress(xpub, 0)} …` : describeAddresses(own)
  return networks.length === 0 ? place : `${place} [${networks.join(', ')}]`
}

type Hints = ChannelAccount['hints']
const describeHints = (hints: Hints): string =>
  Object.entries(hints)
    .map(([name, hint]) => `${name} ${hint}`)
    .join(', ')

/** An account with what can be read of it; one that cannot be opened is told by its hints. */
export type KnownAccount = { reading: SettingsReading | undefined; hints: Hints }

export const walletOf = (
  kind: Pick<ChannelKind, 'id'>,
  account: KnownAccount | undefined,
): OwnWalletSettings | undefined =>
  kind.id === ownWallet.id && account?.reading?.outcome === 'set' ? readOwnWallet(account.reading.values) : undefined

function describe(kind: Pick<ChannelKind, 'id'>, account: KnownAccount | undefined): string | null {
  if (!account) return null
  const wallet = walletOf(kind, account)
  return wallet ? describeWallet(wallet) : describeHints(account.hints)
}

const without = (list: readonly string[], others: readonly string[]): string[] => {
  const known = new Set(others)
  const rest = list.filter((one) => !known.has(one))
  const shown = inMixedCase(rest.slice(0, MOST_CHANGES))
  return rest.length > MOST_CHANGES ? [...shown, `and ${rest.length - MOST_CHANGES} more`] : shown
}

/** What the audit log says about a change of an account: where the money went, goes, and which addresses differ. */
export function changeOf(
  kind: Pick<ChannelKind, 'id'>,
  { before, after }: { before: KnownAccount | undefined; after: KnownAccount | undefined },
): { before: string | null; after: string | null; added?: string[]; removed?: string[] } {
  const texts = { before: describe(kind, before), after: describe(kind, after) }
  const [left, right] = [walletOf(kind, before)?.addresses ?? [], walletOf(kind, after)?.addresses ?? []]
  const isShort = Math.max(left.length, right.length) <= MOST_LISTED
  return isShort ? texts : { ...texts, added: without(right, left), removed: without(left, right) }
}
