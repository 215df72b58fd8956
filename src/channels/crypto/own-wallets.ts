import { assignDepositAddress } from '../../chain/deposits/deposit-addresses.ts'
import { claimDepositKey, upsertKeyConfirmed } from '../../chain/deposits/deposit-key-queries.ts'
import { extendDepositWatch } from '../../chain/deposits/deposit-queries.ts'
import {
  countHeld,
  deleteClaims,
  extendReservation,
  findAddressOwner,
  findFreeAddress,
  findFreeUnits,
  findReservation,
  insertReservation,
  insertSharedAddress,
  listSettlementAddresses,
  lockNamedAddresses,
  lockSharedAddresses,
  type Reservation,
} from '../../chain/deposits/reservation-queries.ts'
import type { Queryable, Tx } from '../../db/db.ts'
import { AppError, invalid } from '../../kernel/errors.ts'
import { OWN_AMOUNTS_UNITS } from '../../kernel/money.ts'
import { parseXpub } from '../../kernel/xpub.ts'
import type { Channel } from '../channel.ts'
import { ProviderRefusal } from '../provider-errors.ts'
import { type Assign, type AssignedPlace, openCryptoChannel, type Reopen, type WalletDeps } from './adapter.ts'
import { type OwnWalletSettings, readOwnWallet } from './own-wallet.ts'

type Claim = { companyId: string; values: Readonly<Record<string, string>>; by: string; at: Date }

/** Wallets of companies. Their deposits are the companies' money: the operator neither sweeps nor settles them. */
export type OwnWallets = {
  open(values: Readonly<Record<string, string>>): Channel
  /** Reads the payments of every company's wallet, even if its settings have been removed. */
  reader: Channel
  /** Reserves a key or addresses for this company alone. @throws VALIDATION_FAILED at the setting that is wrong */
  claim(tx: Tx, claim: Claim): Promise<void>
  /** Gives up the addresses of a wallet that are not in the next one and that no payment ever had. */
  release(tx: Tx, companyId: string, wallet: OwnWalletSettings, next: OwnWalletSettings | undefined): Promise<void>
}

/** 0.00001 USDC. */
const STEP_UNITS = 10n
const STEPS = Number(OWN_AMOUNTS_UNITS / STEP_UNITS)

type Wanted = Parameters<Assign>[1]

/** Divisor for the share of a pool, or of the amounts at one address, that one payer may take while they are scarce. */
const SHARE = 4
const LEAST_SHARE = 3

/**
 * An order costs a visitor nothing, and what it takes stays taken for an hour after it ends. So while half is taken, a
 * payer gets a quarter per hour, and the rest is for the others. The shop's own staff and servers are not counted.
 * @throws ProviderRefusal
 */
async function checkShare(
  tx: Tx,
  { companyId, due, payerIp }: Wanted,
  { mode, addresses }: Pick<OwnWalletSettings, 'mode' | 'addresses'>,
  countVisit: WalletDeps['countVisit'],
): Promise<void> {
  if (payerIp === null || !countVisit) return
  const visits = await countVisit(tx, companyId, payerIp)
  const places = mode === 'static' ? STEPS : addresses.length
  if (visits <= Math.max(LEAST_SHARE, Math.ceil(places / SHARE))) return
  const amounts = mode === 'static' ? { first: due.units, last: due.units + OWN_AMOUNTS_UNITS - STEP_UNITS } : null
  if ((await countHeld(tx, addresses, amounts)) * 2 < places) return
  throw new ProviderRefusal('state', 'this payer holds a quarter of the addresses of the shop, and few are free')
}

const CHANGED = 'the shop has changed its wallet meanwhile'

/** Of a wallet that was saved before such addresses were refused. */
const SETTLED_TO =
  'settlements go to the address of the shop’s wallet and would pay its orders, so the shop must give another address ' +
  'to its wallet, or to its settlements'

const allServe = (serving: number, settledTo: number): string =>
  `all ${serving} addresses of the shop serve open orders` +
  (settledTo === 0 ? '' : `; not used, because settlements go there: ${settledTo}`)

/** Idempotent: the same payment gets the same place. */
async function assignShared(
  tx: Tx,
  wanted: Wanted,
  own: OwnWalletSettings,
  countVisit: WalletDeps['countVisit'],
): Promise<AssignedPlace> {
  const { companyId, reference, due, sender, watchedUntil } = wanted
  const { mode, networks } = own
  const key = { companyId, reference }
  const placeOf = ({ address, units }: Reservation): AssignedPlace => ({ address, units: units ?? due.units })
  const earlier = await findReservation(tx, key)
  if (earlier) return placeOf(earlier)
  // this node may not know yet that the wallet was changed, or that the operator took an address from it
  const locked = await lockSharedAddresses(tx, companyId, own.addresses)
  const meanwhile = await findReservation(tx, key)
  if (meanwhile) return placeOf(meanwhile)
  const addresses = locked.filter(({ receivesSettlements }) => !receivesSettlements).map((one) => one.address)
  if (addresses.length === 0) throw new ProviderRefusal('state', locked.length === 0 ? CHANGED : SETTLED_TO)
  await checkShare(tx, wanted, { mode, addresses }, countVisit)
  const [only = ''] = addresses
  const amount = { address: only, first: due.units, step: STEP_UNITS, count: STEPS }
  const units = mode === 'static' ? await findFreeUnits(tx, amount) : null
  const address = mode === 'static' ? only : await findFreeAddress(tx, addresses)
  if (units === undefined)
    throw new ProviderRefusal('amount', `${STEPS} open orders have this amount already; try again in some minutes`)
  if (address === undefined)
    throw new ProviderRefusal('state', allServe(addresses.length, locked.length - addresses.length))
  const reservation = { ...key, address, units, sender: sender?.toLowerCase() ?? null }
  await insertReservation(tx, reservation, { askedUnits: units ?? due.units, networks, until: watchedUntil })
  return placeOf(reservation)
}

/** The place of an earlier payment that no other one has taken since. */
async function reopenOwn(
  tx: Tx,
  { companyId, reference, due, network, watchedUntil }: Parameters<Reopen>[1],
  { own, now }: { own: OwnWalletSettings; now: Date },
): Promise<AssignedPlace | undefined> {
  if (own.mode === 'xpub') {
    const key = { companyId, reference, keyId: parseXpub(own.xpub).id }
    const address = await extendDepositWatch(tx, key, { now, watchedUntil })
    return address === undefined ? undefined : { address, units: due.units }
  }
  const earlier = await findReservation(tx, { companyId, reference })
  // locked, so that no other order takes it meanwhile
  const [locked] = earlier ? await lockSharedAddresses(tx, companyId, [earlier.address]) : []
  if (!locked || locked.receivesSettlements) return undefined
  const asked = { askedUnits: due.units, network, now, until: watchedUntil }
  const place = await extendReservation(tx, { companyId, reference }, asked)
  return place && { address: place.address, units: place.units ?? due.units }
}

async function releaseClaims(tx: Tx, companyId: string, addresses: readonly string[]): Promise<void> {
  if (addresses.length === 0) return
  // a payment that is just taking one has committed by now
  const locked = await lockSharedAddresses(tx, companyId, addresses)
  const claimed = locked.map(({ address }) => address)
  await deleteClaims(tx, companyId, claimed)
}

/** What a wallet calls its own. */
export type OwnPlaces = { keyId: string | null; addresses: readonly string[]; networks: readonly number[] }

export const ownPlacesOf = ({ mode, xpub, addresses, networks }: OwnWalletSettings): OwnPlaces => ({
  keyId: mode === 'xpub' ? parseXpub(xpub).id : null,
  ...{ addresses, networks },
})

/** @param address in lower case */
async function isAddressOf(q: Queryable, { keyId, addresses }: OwnPlaces, address: string): Promise<boolean> {
  return keyId === null ? addresses.includes(address) : (await findAddressOwner(q, address))?.keyId === keyId
}

/** @throws VALIDATION_FAILED */
async function claimKey(tx: Tx, deps: WalletDeps, { companyId, values, by, at }: Claim): Promise<void> {
  const { XPUB = '', CONFIRM_ADDRESS = '' } = values
  const key = parseXpub(XPUB)
  if (deps.mustConfirm && CONFIRM_ADDRESS === '')
    throw invalid('settings.CONFIRM_ADDRESS', 'is required: copy the first address that your wallet shows')
  const isOperators = deps.payable.some(({ xpub }) => parseXpub(xpub).id === key.id)
  if (isOperators || !(await claimDepositKey(tx, key, companyId)))
    throw invalid('settings.XPUB', 'belongs to another account here. Export the key of an account of your own.')
  if (CONFIRM_ADDRESS !== '') await upsertKeyConfirmed(tx, key, { at, by })
}

/** @throws VALIDATION_FAILED */
async function claimAddresses(tx: Tx, deps: WalletDeps, companyId: string, list: readonly string[]): Promise<void> {
  await lockNamedAddresses(tx)
  // in one order: a node of an earlier version does not take that lock, and two companies may name the same ones
  for (const address of list.toSorted()) {
    const fault = await deps.findOwnAddressFault?.(tx, companyId, address)
    if (fault) throw invalid('settings.ADDRESSES', `${address} ${fault}`)
    await insertSharedAddress(tx, companyId, address)
    const owner = await findAddressOwner(tx, address)
    if (owner?.companyId !== companyId || owner.keyId !== null)
      throw invalid('settings.ADDRESSES', `${address} is in use by another account here`)
  }
}

/** Wallets of companies on the chains that are set up. */
export function openOwnWallets(deps: WalletDeps): OwnWallets {
  const nowhere: Assign = async () => {
    throw new AppError('CHANNEL_NOT_AVAILABLE')
  }
  return {
    open(values) {
      const own = readOwnWallet(values)
      const places = ownPlacesOf(own)
      const offered = own.networks.length === 0 ? {} : { offered: own.networks }
      const assignOwn: Assign = async (tx, wanted) => {
        if (own.mode !== 'xpub') return assignShared(tx, wanted, own, deps.countVisit)
        const { companyId, reference, watchedUntil, due } = wanted
        const ours = deps.wallets && { wallets: deps.wallets }
        const asked = { companyId, reference, watchedUntil, xpub: own.xpub, ...ours }
        const { address } = await assignDepositAddress(tx, asked)
        return { address, units: due.units }
      }
      // an earlier try may have got a place of the wallet before
      const assign: Assign = async (tx, wanted) => {
        const place = await assignOwn(tx, wanted)
        if (await isAddressOf(tx, places, place.address.toLowerCase())) return place
        throw new ProviderRefusal('state', CHANGED)
      }
      const channel = openCryptoChannel({
        ...deps,
        ...offered,
        addresses: own.addresses,
        payable: deps.payable.map(withoutPayouts),
        mustConfirm: false,
        assign,
        reopen: (tx, wanted) => reopenOwn(tx, wanted, { own, now: new Date(deps.clock()) }),
      })
      return {
        ...channel,
        async findNetworkFaults() {
          const count = own.addresses.length
          if (count > 0 && (await listSettlementAddresses(deps.db, own.addresses)).length === count)
            return channel.networks.map((network) => ({ network, reason: SETTLED_TO }))
          return (await channel.findNetworkFaults?.()) ?? []
        },
        async hasPlace({ address, network }, q = deps.db) {
          const isOn = network === null || own.networks.length === 0 || own.networks.includes(network)
          return isOn && isAddressOf(q, places, address)
        },
      }
    },
    reader: openCryptoChannel({ ...deps, payable: deps.payable.map(withoutPayouts), assign: nowhere }),
    async claim(tx, claim) {
      const { mode, addresses, networks } = readOwnWallet(claim.values)
      const unknown = networks.find((id) => deps.payable.every(({ network }) => network.chainId !== id))
      if (unknown !== undefined) throw invalid('settings.NETWORKS', `${unknown} is not offered here`)
      if (mode === 'xpub') await claimKey(tx, deps, claim)
      else await claimAddresses(tx, deps, claim.companyId, addresses)
    },
    async release(tx, companyId, wallet, next) {
      const kept = new Set(next?.addresses)
      const left = wallet.addresses.filter((one) => !kept.has(one))
      await releaseClaims(tx, companyId, left)
    },
  }
}

/** The operator's keys cannot send from a company's wallet: its staff do, and name the transaction. */
const withoutPayouts = (one: WalletDeps['payable'][number]): WalletDeps['payable'][number] => ({
  ...one,
  payouts: null,
})
