import type { ChannelId } from '../../channels/channel.ts'
import type { ChannelRule, ChannelTexts } from '../../channels/channel-rules.ts'
import type { ChannelSet } from '../../channels/channel-set.ts'
import { listChannelRules, updateChannelOrder, upsertChannelRule } from '../../channels/rule-queries.ts'
import { lockCompany } from '../../companies/company-queries.ts'
import { lockActor } from '../../companies/company-scope.ts'
import type { Tx } from '../../db/db.ts'
import type { Actor } from '../../http/actor.ts'
import type { RequestContext } from '../../http/request-context.ts'
import { AppError, invalid } from '../../kernel/errors.ts'
import { isLang } from '../../kernel/lang.ts'
import { formatMoney, parseMoney } from '../../kernel/money.ts'
import type { ChannelSettingsDeps } from './channel-service.ts'
import type { ChannelRuleBody } from './rule-schemas.ts'

export type RuleView = Omit<ChannelRule, 'position'>

const view = ({ position: _, ...rule }: ChannelRule): RuleView => rule

const viewAll = (set: ChannelSet): RuleView[] => set.available.map((id) => view(set.rule(id)))

/** All channels of the company, in the order in which payers see them. */
export const listRules = async (deps: ChannelSettingsDeps, companyId: string): Promise<RuleView[]> =>
  viewAll(await deps.channels.of(companyId))

/** Reads the rules after any concurrent change has committed. @throws UNAUTHORIZED, OBJECT_NOT_FOUND */
async function lockRules(tx: Tx, actor: Actor, companyId: string): Promise<ChannelRule[]> {
  await lockActor(tx, actor, companyId)
  if (!(await lockCompany(tx, companyId))) throw new AppError('OBJECT_NOT_FOUND')
  return listChannelRules(tx, companyId)
}

function channelOf(set: ChannelSet, path: string, text: string): ChannelId {
  const id = set.available.find((one) => one === text)
  if (id) return id
  throw invalid(path, `names ${text}, which is not set up here. Choose from: ${set.available.join(', ')}`)
}

/** An address next to the ways to pay would lead payers around them. */
const ADDRESS = /0x[0-9a-f]{40}/i

function changeTexts(texts: ChannelTexts, change: NonNullable<ChannelRuleBody['texts']>): ChannelTexts {
  const changed = { ...texts }
  for (const [lang, text] of Object.entries(change)) {
    if (!isLang(lang) || text === undefined) continue
    const before = changed[lang] ?? { label: null, hint: null }
    const { label = before.label, hint = before.hint } = text ?? { label: null, hint: null }
    for (const [name, words] of Object.entries({ label, hint })) {
      if (words !== null && ADDRESS.test(words)) throw invalid(`texts.${lang}.${name}`, 'must not contain an address')
    }
    if (label === null && hint === null) delete changed[lang]
    else changed[lang] = { label, hint }
  }
  return changed
}

/** Applies a change to a rule; omitted fields stay. @throws VALIDATION_FAILED */
function changeRule(rule: ChannelRule, { offered, minAmount, maxAmount, texts }: ChannelRuleBody): ChannelRule {
  const euro = (text: string | null): string | null => (text === null ? null : formatMoney(parseMoney(text, 'EUR')))
  const changed: ChannelRule = {
    ...rule,
    offered: offered ?? rule.offered,
    minAmount: minAmount === undefined ? rule.minAmount : euro(minAmount),
    maxAmount: maxAmount === undefined ? rule.maxAmount : euro(maxAmount),
    texts: texts === undefined ? rule.texts : changeTexts(rule.texts, texts),
  }
  const [min, max] = [changed.minAmount, changed.maxAmount]
  if (min !== null && max !== null && parseMoney(min, 'EUR').units > parseMoney(max, 'EUR').units)
    throw invalid(minAmount === undefined ? 'maxAmount' : 'minAmount', `leaves no amount between ${min} and ${max} EUR`)
  return changed
}

const describe = ({ offered, minAmount, maxAmount, texts }: ChannelRule): string =>
  JSON.stringify({ offered, minAmount, maxAmount, texts })

/** Changes whether, for which prices and with which texts a channel is offered to new payments. */
export async function saveRule(
  deps: ChannelSettingsDeps,
  context: RequestContext,
  { companyId, channel, change }: { companyId: string; channel: string; change: ChannelRuleBody },
): Promise<RuleView> {
  const set = await deps.channels.of(companyId)
  const id = set.available.find((one) => one === channel)
  if (!id) throw new AppError('OBJECT_NOT_FOUND', { message: `The channel ${channel} is not set up here.` })
  return deps.db.tx(async (tx) => {
    const rules = await lockRules(tx, context.actor, companyId)
    const before = rules.find((rule) => rule.channel === id) ?? set.rule(id)
    const after = changeRule(before, change)
    await upsertChannelRule(tx, companyId, after, new Date(deps.clock()))
    tx.afterCommit(() => deps.channels.forget(companyId))
    const detail = { channel: id, before: describe(before), after: describe(after) }
    const entry = { companyId, action: 'channel.rule_changed', object: `channel:${id}`, detail }
    await deps.audit.write(tx, context, entry)
    return view(after)
  })
}

/** Sorts the channels that payers are offered. */
export async function saveOrder(
  deps: ChannelSettingsDeps,
  context: RequestContext,
  { companyId, order }: { companyId: string; order: readonly string[] },
): Promise<RuleView[]> {
  const set = await deps.channels.of(companyId)
  const ids = order.map((text, index) => channelOf(set, `order.${index}`, text))
  await deps.db.tx(async (tx) => {
    await lockRules(tx, context.actor, companyId)
    await updateChannelOrder(tx, companyId, ids, new Date(deps.clock()))
    tx.afterCommit(() => deps.channels.forget(companyId))
    const detail = { before: set.available, after: ids }
    await deps.audit.write(tx, context, { companyId, action: 'channel.order_changed', detail })
  })
  return listRules(deps, companyId)
}
