import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import type { Data, Order } from '../../api/call.ts'
import { useCan } from '../../api/session.ts'
import { transactionUrl } from '../../kit/explorer.ts'
import { formatMoney } from '../../kit/format.ts'
import { Code, OrderStatus, Panel, Time, type Tone } from '../../kit/parts.tsx'
import { useCore, useLang, useTexts, wordFor } from '../../texts/lang.ts'
import { texts } from './texts.ts'

type StoryData = Data<'getOrderHistory'>
type Step = { key: string; at: string; tone: Tone; title: ReactNode; more?: ReactNode }

const DOTS: Record<Tone, string> = {
  good: 'bg-good',
  warn: 'bg-warn',
  bad: 'bg-bad',
  info: 'bg-info',
  plain: 'bg-soft',
}

function Actor({ actor, name }: { actor: string; name: string | null }) {
  const t = useTexts(texts)
  const kind = actor.split(':')[0] ?? ''
  const who = name ?? t.who[kind as keyof typeof t.who] ?? t.who.system
  return <span className="text-soft">{t.by(who)}</span>
}

type TransferProps = { from: string; isFinal: boolean; network: number; hash: string }

function Transfer({ from, isFinal, network, hash }: TransferProps) {
  const t = useTexts(texts)
  const url = transactionUrl(network, hash)
  return (
    <span className="text-soft">
      {t.from} <Code text={from} /> · {isFinal ? t.final : t.waiting} · <Code text={hash} />{' '}
      {url && (
        <a className="link" href={url} target="_blank" rel="noreferrer">
          {t.explorer}
        </a>
      )}
    </span>
  )
}

function useSteps(story: StoryData): Step[] {
  const t = useTexts(texts)
  const core = useCore()
  const lang = useLang()
  const can = useCan()
  const states = story.events.map(
    ({ seq, at, status, actor, name }): Step => ({
      key: `event-${seq}`,
      at,
      tone: status === 'PAID' ? 'good' : /ERROR|FAILED/.test(status) ? 'bad' : 'info',
      title: <OrderStatus status={status} />,
      more: <Actor actor={actor} name={name} />,
    }),
  )
  const transfers = story.transfers.map(({ txHash, network, symbol, amount, status, at, fromAddress }): Step => {
    const money = amount === null ? symbol : formatMoney(lang, amount, symbol)
    const isLost = status === 'orphaned'
    return {
      key: `transfer-${network}-${txHash}`,
      at,
      tone: isLost ? 'bad' : 'good',
      title: isLost ? t.transferOrphaned(money) : t.transfer(money),
      more: <Transfer from={fromAddress} isFinal={status === 'final'} network={network} hash={txHash} />,
    }
  })
  const payments = story.payments.map(
    ({ number, paymentChannel, openedAt, providerReference }): Step => ({
      key: `payment-${number}`,
      at: openedAt,
      tone: 'plain',
      title: t.attempt(wordFor(core.channels, paymentChannel)),
      more: providerReference && <Code text={providerReference} />,
    }),
  )
  const deliveries = story.deliveries.map(({ id, event, status, at }): Step => {
    const words = `${t.delivery(event)}: ${wordFor(t.deliveryStatus, status)}`
    const tone = status === 'delivered' ? 'plain' : status === 'pending' ? 'info' : 'bad'
    return { key: id, at, tone, title: can('webhooks.deliveries') ? <DeliveryLink id={id} words={words} /> : words }
  })
  const refunds = story.refunds.map(({ _id, at, amount, status, txHash }): Step => {
    const title = `${t.refundStep(formatMoney(lang, amount, 'USDC'))}: ${wordFor(t.refundStatus, status)}`
    return { key: _id, at, tone: 'warn', title, more: txHash && <Code text={txHash} /> }
  })
  return [...states, ...transfers, ...payments, ...deliveries, ...refunds].sort((a, b) => a.at.localeCompare(b.at))
}

const DeliveryLink = ({ id, words }: { id: string; words: string }) => (
  <Link to="/webhooks" search={{ delivery: id }} className="link">
    {words}
  </Link>
)

/** Everything that happened, oldest first. */
export function Story({ story }: { story: StoryData }) {
  const steps = useSteps(story)
  return (
    <ol className="relative ml-2 border-l border-line">
      {steps.map(({ key, at, tone, title, more }) => (
        <li key={key} className="relative mb-4 pl-5 last:mb-0">
          <span className={`absolute top-1.5 -left-[5px] size-2.5 rounded-full ${DOTS[tone]}`} aria-hidden="true" />
          <div className="flex flex-wrap items-baseline justify-between gap-x-4">
            <span className="font-medium">{title}</span>
            <span className="text-[13px] text-soft">
              <Time at={at} long />
            </span>
          </div>
          {more && <div className="text-sm">{more}</div>}
        </li>
      ))}
    </ol>
  )
}

type Evidence = { source?: string; rate?: string; price?: string; reason?: string | null }

export function RateProof({ rate, order }: { rate: NonNullable<StoryData['rate']>; order: Order }) {
  const t = useTexts(texts)
  const rows = Array.isArray(rate.evidence) ? (rate.evidence as Evidence[]) : null
  return (
    <Panel title={t.proof}>
      <p className="mb-2 text-sm">
        {`1 ${order.fromAsset} = ${order.rate} ${order.toAsset} · `}
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
