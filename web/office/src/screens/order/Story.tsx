import { Link } from '@tanstack/react-router'
import { Fragment, type ReactNode } from 'react'
import type { Order } from '../../api/call.ts'
import { useCan } from '../../api/session.ts'
import { useChannelName } from '../../frame/channels.ts'
import { useExplorer } from '../../frame/networks.ts'
import { formatMoney, formatRate } from '../../kit/format.ts'
import { Code, OrderStatus, Panel, Time, type Tone } from '../../kit/parts.tsx'
import { useCore, useLang, useTexts, wordFor } from '../../texts/lang.ts'
import { type Account, isCredit, useAccountWords } from '../money/accounts.ts'
import { texts as moneyTexts } from '../money/texts.ts'
import { failureTexts } from '../webhooks/failure-texts.ts'
import { decimalOf, type Facts, type Group, groupEntries, type StoryData, toneOf, word } from './story-steps.ts'
import { storyTexts } from './story-texts.ts'
import { texts } from './texts.ts'

const DOTS: Record<Tone, string> = {
  good: 'bg-good',
  warn: 'bg-warn',
  bad: 'bg-bad',
  info: 'bg-info',
  plain: 'bg-soft',
}

const Soft = ({ children }: { children: ReactNode }) => <span className="text-soft">{children}</span>

function useMoney(): (units: Facts[string] | undefined, asset: Facts[string] | undefined) => string {
  const lang = useLang()
  return (units, asset) => {
    const amount = decimalOf(units, word(asset))
    return amount === null ? word(asset) : formatMoney(lang, amount, word(asset))
  }
}

function Hash({ network, hash }: { network: Facts[string] | undefined; hash: Facts[string] | undefined }) {
  const t = useTexts(texts)
  const explorerOf = useExplorer()
  const text = word(hash)
  if (text === '') return null
  const url = explorerOf(Number(network), text)
  return (
    <>
      <Code text={text} />{' '}
      {url && (
        <a className="link" href={url} target="_blank" rel="noreferrer">
          {t.explorer}
        </a>
      )}
    </>
  )
}

/** Its refund was started, and has not sent the money yet. */
const isGoingBack = (refundStatus: Facts[string] | undefined): boolean => !['', 'settled'].includes(word(refundStatus))

/** The decision about a mispayment; an open one links to the screen where it is decided. */
function Decision({ status, text }: { status: string; text: string }) {
  const can = useCan()
  if (status !== 'open' || !can('mispayments.decide')) return text
  return (
    <Link to="/mispayments" search={{ status: 'open' }} className="link">
      {text}
    </Link>
  )
}

/** How a refund stands; one that waits for a person links to the screen where he acts. */
function RefundStanding({ facts, code }: { facts: Facts; code: string }) {
  const t = useTexts(texts)
  const can = useCan()
  const status = word(facts.status)
  const isByHand = facts.waitsFor === 'person'
  const text = wordFor(t.refundStatus, isByHand ? 'byHand' : status)
  if (!(isByHand || WAITING.includes(status)) || !can('refunds.read')) return text
  return (
    <Link to="/refunds" search={{ code }} className="link">
      {text}
    </Link>
  )
}
const WAITING = ['needs_approval', 'needs_address']

/** States, payments, transfers and refunds: the order and its money. */
function useOwnWords({ code }: Order): Partial<Record<Group['kind'], (facts: Facts) => [ReactNode, ReactNode?]>> {
  const t = useTexts(texts)
  const s = useTexts(storyTexts)
  const core = useCore()
  const channelName = useChannelName()
  const money = useMoney()
  return {
    state: ({ to, actor, name, soldBy }) => {
      const kind = word(actor).split(':')[0] as keyof typeof t.who
      return [
        <OrderStatus key="state" status={word(to)} />,
        <Soft key="by">
          {[t.by(word(name) || (t.who[kind] ?? t.who.system)), soldBy && t.takenOver(word(soldBy))]
            .filter(Boolean)
            .join(', ')}
        </Soft>,
      ]
    },
    payment: ({ channel, providerReference }) => [
      t.attempt(channelName(word(channel))),
      providerReference ? <Code key="reference" text={word(providerReference)} /> : null,
    ],
    transfer: ({ symbol, units, status, fromAddress, finalAt, network, txHash }) => [
      status === 'orphaned' ? t.transferOrphaned(money(units, symbol)) : t.transfer(money(units, symbol)),
      <Soft key="from">
        {t.from} <Code text={word(fromAddress)} /> · {finalAt ? t.final : t.waiting} ·{' '}
        <Hash network={network} hash={txHash} />
      </Soft>,
    ],
    refund: (facts) => [
      <Fragment key="what">
        {core.pair(t.refundStep(money(facts.units, 'USDC')), '')}
        <RefundStanding facts={facts} code={code} />
      </Fragment>,
      <Soft key="why">
        {word(facts.reason)} <Hash network={facts.network} hash={facts.txHash} />
      </Soft>,
    ],
    mispayment: ({ kind, units, asset, status, reason, refundStatus }) => [
      <Fragment key="what">
        {core.pair(s.mispayment(money(units, asset), wordFor(s.kinds, word(kind))), '')}
        <Decision
          status={word(status)}
          text={wordFor(s.decided, isGoingBack(refundStatus) ? 'refunding' : word(status))}
        />
      </Fragment>,
      reason ? <Soft key="why">{word(reason)}</Soft> : null,
    ],
  }
}

/** Webhooks, provider calls, bookings and checks: the internals. */
function useOtherWords(): Partial<Record<Group['kind'], (group: Group) => [ReactNode, ReactNode?]>> {
  const accounts = useAccountWords()
  const failures = useTexts(failureTexts)
  const { kinds } = useTexts(moneyTexts)
  const core = useCore()
  const t = useTexts(texts)
  const s = useTexts(storyTexts)
  const channelName = useChannelName()
  const money = useMoney()
  return {
    webhook: ({ facts: { id, event, status }, more }) => [
      <Link key="delivery" to="/webhooks" search={{ delivery: word(id) }} className="link">
        {core.pair(t.delivery(word(event)), wordFor(t.deliveryStatus, word(status)))}
      </Link>,
      <Soft key="attempts">
        {more
          .map(({ facts }) =>
            s.attemptLine(
              word(facts.number),
              word(facts.statusCode) || wordFor(failures, word(facts.errorCode)) || s.noAnswer,
            ),
          )
          .join(' · ')}
      </Soft>,
    ],
    provider: ({ facts: { channel, step, status, durationMs }, more }) => [
      s.asked(channelName(word(channel)), wordFor(s.steps, word(step))),
      <Soft key="answer">
        {word(status) || s.noAnswer} · {more.length > 0 ? s.times(more.length + 1) : `${word(durationMs)} ms`}
      </Soft>,
    ],
    booking: ({ facts, more }) => [
      core.pair(s.booked, wordFor(kinds, word(facts.what))),
      <Soft key="legs">
        {[facts, ...more.map((entry) => entry.facts)]
          .map(({ account, units, asset }) => {
            const moved = isCredit(word(account) as Account) ? String(-BigInt(word(units))) : units
            return `${wordFor(accounts, word(account))} ${money(moved, asset)}`
          })
          .join(' · ')}
      </Soft>,
    ],
    identity: ({ facts: { status } }) => [core.pair(s.identity, wordFor(s.identityStatus, word(status)))],
    screening: ({ facts: { status, said, reason } }) => [
      core.pair(s.screening, wordFor(s.screeningStatus, word(status))),
      <Soft key="said">{[said, reason].map(word).filter(Boolean).join(' · ')}</Soft>,
    ],
  }
}

/** Everything that happened, oldest first. */
export function Story({ story, order }: { story: StoryData; order: Order }) {
  const s = useTexts(storyTexts)
  const core = useCore()
  const lang = useLang()
  const own = useOwnWords(order)
  const other = useOtherWords()
  const sources = Array.isArray(story.rate?.evidence) ? story.rate.evidence.length : 0
  return (
    <ol className="relative ml-2 border-l border-line">
      {story.rate && (
        <Step at={story.rate.at} tone="plain" title={core.pair(s.rate, formatRate(lang, order))}>
          {sources > 0 && <Soft>{s.sources(sources)}</Soft>}
        </Step>
      )}
      {story.omitted > 0 && (
        <li className="mb-4 pl-5 text-sm">
          <Soft>{s.omitted(story.omitted)}</Soft>
        </li>
      )}
      {groupEntries(story.entries).map((group) => {
        const [title, more] = own[group.kind]?.(group.facts) ?? other[group.kind]?.(group) ?? [group.kind]
        return (
          <Step key={group.key} at={group.at} tone={toneOf(group)} title={title}>
            {more}
          </Step>
        )
      })}
    </ol>
  )
}

function Step({ at, tone, title, children }: { at: string; tone: Tone; title: ReactNode; children?: ReactNode }) {
  return (
    <li className="relative mb-4 break-inside-avoid pl-5 last:mb-0">
      <span className={`absolute top-1.5 -left-[5px] size-2.5 rounded-full ${DOTS[tone]}`} aria-hidden="true" />
      <div className="flex flex-wrap items-baseline justify-between gap-x-4">
        <span className="min-w-0 font-medium break-words">{title}</span>
        <span className="text-[13px] text-soft">
          <Time at={at} long />
        </span>
      </div>
      {children && <div className="min-w-0 text-sm break-words">{children}</div>}
    </li>
  )
}

type Evidence = { source?: string; rate?: string; price?: string; reason?: string | null }

export function RateProof({ rate, order }: { rate: NonNullable<StoryData['rate']>; order: Order }) {
  const t = useTexts(texts)
  const lang = useLang()
  const rows = Array.isArray(rate.evidence) ? (rate.evidence as Evidence[]) : null
  return (
    <Panel title={t.proof}>
      <p className="mb-2 text-sm">
        {`${formatRate(lang, order)} · `}
        <Time at={rate.at} long />
      </p>
      {rows ? (
        <ul className="text-sm text-soft">
          {rows.map((row) => (
            <li key={`${row.source}-${row.rate ?? row.price}`}>
              {[row.source, row.rate ?? row.price, row.reason].filter(Boolean).join(' · ')}
            </li>
          ))}
        </ul>
      ) : (
        <pre className="code overflow-x-auto p-3 whitespace-pre-wrap">{JSON.stringify(rate.evidence, null, 2)}</pre>
      )}
    </Panel>
  )
}
