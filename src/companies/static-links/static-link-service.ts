import type { Tx } from '../../db/db.ts'
import { type Actor, sees } from '../../http/actor.ts'
import type { RequestContext } from '../../http/request-context.ts'
import { AppError, invalid } from '../../kernel/errors.ts'
import { readPageUrl } from '../../kernel/html.ts'
import { newId, newOrderCode } from '../../kernel/ids.ts'
import { EXPONENTS, type Fiat, formatMoney, isAsset, leastOf, type Money, parseDecimal } from '../../kernel/money.ts'
import { type ButtonDeps, checkLargest, largestOf } from '../button-service.ts'
import { type CompanyChoice, companiesFor, companyFor } from '../company-scope.ts'
import { noteChange } from '../company-service.ts'
import { findSaleCollector } from '../sale-queries.ts'
import type { StaticLink } from './static-link-queries.ts'
import * as queries from './static-link-queries.ts'
import type { StaticLinkBody, StaticLinkChange, StaticLinkView } from './static-link-schemas.ts'

export type StaticLinkDeps = ButtonDeps

/** How an order names the link that made it. */
export const creatorOf = ({ id }: Pick<StaticLink, 'id'>): string => `static-link:${id}`

export const staticLinkUrl = (payUrl: string, { code }: Pick<StaticLink, 'code'>): string => `${payUrl}/link/${code}`

const NO_SALES = { orders: 0, paid: 0, paidUnits: 0n }

function view({ payUrl }: StaticLinkDeps, link: StaticLink, sales = NO_SALES): StaticLinkView {
  const { id, companyId, collectorId: _, createdAt, updatedAt, ...shown } = link
  const url = staticLinkUrl(payUrl, link)
  return {
    _id: id,
    company: companyId,
    ...shown,
    url,
    posterUrl: `${url}/poster`,
    orders: sales.orders,
    paid: sales.paid,
    paidAmount: formatMoney({ asset: link.currency as Fiat, units: sales.paidUnits }),
    createdAt: createdAt.toISOString(),
    updatedAt: updatedAt.toISOString(),
  }
}

async function viewAll(deps: StaticLinkDeps, links: readonly StaticLink[]): Promise<StaticLinkView[]> {
  const companies = [...new Set(links.map(({ companyId }) => companyId))]
  const sales = await queries.listLinkSales(deps.db, companies, links.map(creatorOf))
  return links.map((link) =>
    view(
      deps,
      link,
      sales.find(({ createdBy }) => createdBy === creatorOf(link)),
    ),
  )
}

/* ---- rules ---- */

function readCurrency({ fiatAssets }: StaticLinkDeps, text: string): Fiat {
  const asset = text.toUpperCase()
  if (isAsset(asset) && asset !== 'USDC' && fiatAssets.includes(asset)) return asset
  throw invalid('currency', `must be one of: ${fiatAssets.join(', ')}`)
}

function readAmount(path: string, text: string | null | undefined, asset: Fiat): Money | null {
  if (text === null || text === undefined) return null
  const units = parseDecimal(text, EXPONENTS[asset])
  if (units === undefined) throw invalid(path, `must have at most ${EXPONENTS[asset]} digits after the point`)
  const least = leastOf(asset)
  if (units < least.units) throw invalid(path, `must be at least ${formatMoney(least)} ${asset}`)
  return { asset, units }
}

type Amounts = Pick<StaticLink, 'amount' | 'minAmount' | 'maxAmount'>

/** Either each order costs the same, or the payer types within limits. @throws VALIDATION_FAILED */
function readAmounts(given: Partial<Amounts>, asset: Fiat, largest: Money | null): Amounts {
  const [amount, minAmount, maxAmount] = (['amount', 'minAmount', 'maxAmount'] as const).map((path) =>
    readAmount(path, given[path], asset),
  )
  if (amount && (minAmount || maxAmount)) throw invalid('amount', 'is fixed: send it without minAmount and maxAmount')
  if (minAmount && maxAmount && maxAmount.units < minAmount.units)
    throw invalid('maxAmount', 'must not be below minAmount')
  for (const [path, money] of Object.entries({ amount, minAmount, maxAmount }))
    if (money) checkLargest(path, money, largest)
  const text = (money: Money | null | undefined): string | null => (money ? formatMoney(money) : null)
  return { amount: text(amount), minAmount: text(minAmount), maxAmount: text(maxAmount) }
}

async function findTill(tx: Tx, companyId: string, identifier: string) {
  const collector = await findSaleCollector(tx, companyId, identifier)
  if (!collector) throw new AppError('UNKNOWN_MERCHANT_IDENTIFIER')
  return { collectorId: collector.id, merchantIdentifier: collector.identifier }
}

function readWebhook({ callbackFault }: StaticLinkDeps, url: string | null): string | null {
  const fault = url === null ? null : callbackFault(url)
  if (fault !== null) throw invalid('webhookUrl', fault)
  return url
}

type Checked = Pick<StaticLink, 'amount' | 'minAmount' | 'maxAmount' | 'webhookUrl' | 'returnUrl'>

const AMOUNTS = ['amount', 'minAmount', 'maxAmount'] as const

/** The link's fields with the change, and which of them are to be checked. */
function compare(link: StaticLink, change: StaticLinkChange) {
  const { amount = link.amount, minAmount = link.minAmount, maxAmount = link.maxAmount } = change
  const { webhookUrl = link.webhookUrl, returnUrl = link.returnUrl } = change
  const given: Checked = { amount, minAmount, maxAmount, webhookUrl, returnUrl }
  const isTurnedOn = change.active === true && !link.active
  const isNew = (...names: (keyof Checked)[]): boolean => isTurnedOn || names.some((name) => given[name] !== link[name])
  return { given, isNew }
}

/**
 * The link's fields with the change. What stays the same is checked only when the link is turned on: a link that breaks
 * a rule set later can still be turned off. @throws VALIDATION_FAILED
 */
function readChange(deps: StaticLinkDeps, link: StaticLink, change: StaticLinkChange, largest: Money | null): Checked {
  const { given, isNew } = compare(link, change)
  const { webhookUrl, returnUrl } = given
  return {
    ...given,
    ...(isNew(...AMOUNTS) && readAmounts(given, link.currency as Fiat, largest)),
    ...(isNew('webhookUrl') && { webhookUrl: readWebhook(deps, webhookUrl) }),
    ...(isNew('returnUrl') && { returnUrl: readPageUrl('returnUrl', returnUrl ?? undefined) }),
  }
}

/* ---- what the API does ---- */

export async function createStaticLink(
  deps: StaticLinkDeps,
  context: RequestContext,
  choice: CompanyChoice,
  body: StaticLinkBody,
): Promise<StaticLinkView> {
  const companyId = await companyFor(deps.db, context.actor, choice)
  const currency = readCurrency(deps, body.currency)
  const amounts = readAmounts(body, currency, await largestOf(deps, companyId, currency))
  const at = new Date(deps.clock())
  return deps.db.tx(async (tx) => {
    const link: StaticLink = {
      ...{ id: newId(at.getTime()), companyId, code: newOrderCode(), name: body.name, currency, ...amounts },
      ...(await findTill(tx, companyId, body.merchantIdentifier)),
      webhookUrl: readWebhook(deps, body.webhookUrl ?? null),
      returnUrl: readPageUrl('returnUrl', body.returnUrl ?? undefined),
      ...{ active: true, createdAt: at, updatedAt: at },
    }
    await queries.insertStaticLink(tx, link)
    const shown = view(deps, link)
    await context.remember(tx, shown)
    await noteChange(deps, tx, context, { companyId, action: 'static-link.create', object: `static-link:${link.id}` })
    return shown
  })
}

export async function listStaticLinks(
  deps: StaticLinkDeps,
  actor: Actor,
  query: CompanyChoice & { page: number; limit: number },
): Promise<{ staticLinks: StaticLinkView[]; total: number; page: number; limit: number }> {
  const { page, limit } = query
  const companyIds = await companiesFor(deps.db, actor, query)
  const [links, total] = await Promise.all([
    queries.listStaticLinks(deps.db, companyIds, { limit, offset: (page - 1) * limit }),
    queries.countStaticLinks(deps.db, companyIds),
  ])
  return { staticLinks: await viewAll(deps, links), total, page, limit }
}

const seen = (actor: Actor, link: StaticLink | undefined): link is StaticLink =>
  link !== undefined && sees(actor, link.companyId)

/** @throws OBJECT_NOT_FOUND */
export async function readStaticLink(deps: StaticLinkDeps, actor: Actor, id: string): Promise<StaticLinkView> {
  const link = await queries.findStaticLink(deps.db, id)
  if (!seen(actor, link)) throw new AppError('OBJECT_NOT_FOUND')
  const [shown] = await viewAll(deps, [link])
  if (!shown) throw new AppError('OBJECT_NOT_FOUND')
  return shown
}

/** Changes the given fields; null clears. @throws OBJECT_NOT_FOUND, VALIDATION_FAILED, UNKNOWN_MERCHANT_IDENTIFIER */
export async function changeStaticLink(
  deps: StaticLinkDeps,
  context: RequestContext,
  id: string,
  change: StaticLinkChange,
): Promise<StaticLinkView> {
  const known = await queries.findStaticLink(deps.db, id)
  if (!seen(context.actor, known)) throw new AppError('OBJECT_NOT_FOUND')
  const { companyId } = known
  const isPriced = compare(known, change).isNew(...AMOUNTS)
  const largest = isPriced ? await largestOf(deps, companyId, known.currency as Fiat) : null
  await deps.db.tx(async (tx) => {
    const link = await queries.lockStaticLink(tx, id)
    if (!link) throw new AppError('OBJECT_NOT_FOUND')
    const { merchantIdentifier } = change
    await queries.updateStaticLink(tx, {
      ...link,
      name: change.name ?? link.name,
      active: change.active ?? link.active,
      ...readChange(deps, link, change, largest),
      ...(merchantIdentifier !== undefined && (await findTill(tx, companyId, merchantIdentifier))),
      updatedAt: new Date(deps.clock()),
    })
    await noteChange(deps, tx, context, { companyId, action: 'static-link.change', object: `static-link:${id}` })
  })
  return readStaticLink(deps, context.actor, id)
}
