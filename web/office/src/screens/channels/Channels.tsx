import { useDeferredValue, useState } from 'react'
import { call, type Data } from '../../api/call.ts'
import { useAction, useApi } from '../../api/hooks.ts'
import { useCan } from '../../api/session.ts'
import { useChannelName } from '../../frame/channels.ts'
import { useCompanyQuery } from '../../frame/company.tsx'
import { moved } from '../../kit/changed.ts'
import { readKind } from '../../kit/field-kinds.ts'
import { Field } from '../../kit/fields.tsx'
import { formatMoney } from '../../kit/format.ts'
import { Icon } from '../../kit/icons.tsx'
import { Badge, Loaded, Notice, Panel, Refusal } from '../../kit/parts.tsx'
import { type Lang, useCore, useLang, useTexts } from '../../texts/lang.ts'
import { OwnAccount, SMALL } from './Account.tsx'
import type { Rule } from './kinds.ts'
import { RuleDialog } from './Rule.tsx'
import { OWN_RULES, reasonTexts } from './reason-texts.ts'
import { texts } from './texts.ts'

type Offer = Data<'listChannels'>[number]

const USUAL_AMOUNT = '50'
/** As many digits as the service takes. */
const ASKABLE = /^\d{1,9}(\.|$)/

function exampleOf(typed: string, lang: Lang): string {
  const read = readKind('money', typed, lang)
  return 'value' in read && ASKABLE.test(read.value) ? read.value : USUAL_AMOUNT
}

/** What payers are offered: the order, texts and limits of channels, and the account of each. */
export function Channels() {
  const t = useTexts(texts)
  const can = useCan()
  const company = useCompanyQuery()
  const lang = useLang()
  const [typed, setTyped] = useState(USUAL_AMOUNT)
  const amount = useDeferredValue(exampleOf(typed, lang))
  const rules = useApi('GET /api/next/channel-rules', { query: company }, { enabled: can('channels.rules') })
  const offers = useApi('GET /api/next/channels', { query: { ...company, amount } })
  const accounts = useApi('GET /api/next/channel-accounts', { query: company }, { enabled: can('channels.accounts') })
  const isNoneLeft = offers.data !== undefined && offers.data.length > 0 && offers.data.every((one) => !one.available)
  return (
    <Panel title={t.title}>
      <p className="mb-4 max-w-2xl text-soft">{t.lead}</p>
      <Field
        className="max-w-48"
        label={t.example}
        kind="money"
        value={typed}
        onChange={({ target }) => setTyped(target.value)}
      />
      {isNoneLeft && <Notice tone="warn">{t.noneLeft}</Notice>}
      <Loaded query={rules} isEmpty={(list) => list.length === 0} empty={<p className="text-soft">{t.none}</p>}>
        {(list) => (
          <ol className="divide-y divide-line">
            {list.map((rule) => (
              <li key={rule.channel} className="py-3 first:pt-0 last:pb-0">
                <Row
                  rule={rule}
                  order={list.map(({ channel }) => channel)}
                  offer={offers.data?.find(({ paymentChannel }) => paymentChannel === rule.channel)}
                  account={accounts.data?.find(({ channel }) => channel === rule.channel)}
                />
              </li>
            ))}
          </ol>
        )}
      </Loaded>
    </Panel>
  )
}

type RowProps = {
  rule: Rule
  order: Rule['channel'][]
  offer: Offer | undefined
  account: Data<'listChannelAccounts'>[number] | undefined
}

function Row({ rule, order, offer, account }: RowProps) {
  const t = useTexts(texts)
  const lang = useLang()
  const name = useChannelName()(rule.channel)
  const own = rule.texts[lang]
  return (
    <div className="flex items-start gap-2">
      <Place channel={rule.channel} order={order} name={name} />
      <div className="min-w-0 flex-1 pt-1">
        <p className="flex flex-wrap items-center gap-2">
          <strong className="break-words">{own?.label ?? name}</strong>
          {own?.label && <span className="text-sm text-soft">{name}</span>}
          <Standing rule={rule} offer={offer} />
          {account && <span className="text-sm text-soft">{whose(account, t)}</span>}
        </p>
        {own?.hint && <p className="text-sm break-words text-soft">{own.hint}</p>}
        <Limits rule={rule} />
        {offer && <Why offer={offer} />}
        <Actions rule={rule} name={name} account={account} />
      </div>
    </div>
  )
}

function Why({ offer: { reason, reasonCode, limit } }: { offer: Offer }) {
  const t = useTexts(reasonTexts)
  const lang = useLang()
  if (reason === null || OWN_RULES.some((code) => code === reasonCode)) return null
  const words = (t as Record<string, string | ((limit: string) => string)>)[reasonCode ?? '']
  const said = typeof words === 'function' ? limit && words(formatMoney(lang, limit.amount, limit.asset)) : words
  return (
    <p className="text-sm text-soft" {...(said ? {} : { lang: 'en' })}>
      {said || reason}
    </p>
  )
}

/** The owner of the account or wallet that receives a payment. */
function whose({ channel, own }: { channel: string; own: boolean }, t: Words): string {
  if (channel === 'crypto') return own ? t.ownWallet : t.sharedWallet
  return own ? t.own : t.shared
}
type Words = (typeof texts)['en']

function Standing({ rule, offer }: { rule: Rule; offer: Offer | undefined }) {
  const t = useTexts(texts)
  if (!rule.offered) return <Badge>{t.off}</Badge>
  if (!offer) return null
  return <Badge tone={offer.available ? 'good' : 'plain'}>{offer.available ? t.available : t.unavailable}</Badge>
}

function Limits({ rule: { minAmount: min, maxAmount: max } }: { rule: Rule }) {
  const t = useTexts(texts)
  if (min === null && max === null) return null
  return (
    <p className="num text-sm text-soft">
      {min !== null && max !== null ? t.between(min, max) : min !== null ? t.atLeast(min) : t.atMost(max ?? '')}
    </p>
  )
}

type Move = { by: -1 | 1; past: Rule['channel'] }

/** The position in the list, with buttons to move it past its neighbours. Others may sort at the same time. */
function Place({ channel, order, name }: { channel: Rule['channel']; order: Rule['channel'][]; name: string }) {
  const index = order.indexOf(channel)
  const t = useTexts(texts)
  const core = useCore()
  const can = useCan()
  const query = useCompanyQuery()
  const shift = async (move: Move) => {
    const rules = await call('GET /api/next/channel-rules', { query })
    const now = rules.map((rule) => rule.channel)
    return call('PUT /api/next/channel-rules', { query, body: { order: moved(now, channel, move) } })
  }
  const back = ({ by, past }: Move) => shift({ by: by < 0 ? 1 : -1, past })
  const action = useAction({ run: shift, done: t.sorted, undo: { word: core.undo, run: back } })
  const move = (by: -1 | 1): void => {
    const past = order[index + by]
    if (past) action.mutate({ by, past })
  }
  if (!can('channels.rule')) return <span className="num w-6 text-soft">{index + 1}</span>
  const button = (by: -1 | 1) => (
    <button
      type="button"
      className="btn btn-quiet min-h-8 px-2 py-1"
      aria-label={by < 0 ? t.up(name) : t.down(name)}
      disabled={action.isPending || index + by < 0 || index + by >= order.length}
      onClick={() => move(by)}
    >
      <span className={by < 0 ? '-rotate-90' : 'rotate-90'}>
        <Icon name="next" size={16} />
      </span>
    </button>
  )
  return (
    <span className="flex flex-col items-center">
      {button(-1)}
      {button(1)}
    </span>
  )
}

function Actions({ rule, name, account }: { rule: Rule; name: string; account: RowProps['account'] }) {
  const t = useTexts(texts)
  const core = useCore()
  const can = useCan()
  const query = useCompanyQuery()
  const [isOpen, setOpen] = useState(false)
  const path = { channel: rule.channel }
  const turn = (offered: boolean) => call('PUT /api/next/channel-rules/{channel}', { path, query, body: { offered } })
  const toggle = useAction({
    run: turn,
    done: core.saved,
    undo: { word: core.undo, run: (offered: boolean) => turn(!offered) },
  })
  return (
    <>
      <Refusal error={toggle.error} />
      <div className="-ml-2 flex flex-wrap">
        {can('channels.rule') && (
          <>
            <button type="button" className={SMALL} onClick={() => setOpen(true)}>
              {t.words}
            </button>
            <button type="button" className={SMALL} onClick={() => toggle.mutate(!rule.offered)}>
              {rule.offered ? t.turnOff : t.turnOn}
            </button>
          </>
        )}
        {account && account.settings.length > 0 && can('channels.account') && <OwnAccount account={account} />}
      </div>
      {isOpen && <RuleDialog rule={rule} name={name} onClose={() => setOpen(false)} />}
    </>
  )
}
