import { useState } from 'react'
import type { Data } from '../../api/call.ts'
import { useApi } from '../../api/hooks.ts'
import { formatCount, shorten } from '../../kit/format.ts'
import { Table } from '../../kit/lists.tsx'
import { SLOW_MS } from '../../kit/live.ts'
import { Badge, Code, Copy, Empty, Facts, Loaded, Money, Notice, Panel, Time } from '../../kit/parts.tsx'
import { useCore, useLang, useTexts } from '../../texts/lang.ts'
import { walletTexts } from './wallet-texts.ts'

type Answer = Data<'listOperatorWallets'>
type Wallet = Answer['wallets'][number]

/** The wallets that pay refunds, settlements and gas: how much is left, for how long, and the limits on payouts. */
export function Wallets() {
  const t = useTexts(walletTexts)
  const wallets = useApi('GET /api/next/operator/wallets', {}, { liveMs: SLOW_MS })
  return (
    <Loaded query={wallets}>
      {(data) => (
        <>
          {data.wallets.length === 0 ? (
            <Panel title={t.wallets}>
              <Empty icon="wallet" title={t.none}>
                {t.noneText}
              </Empty>
            </Panel>
          ) : (
            <ul className="grid gap-x-5 lg:grid-cols-2">
              {data.wallets.map((wallet) => (
                <li key={`${wallet.network}-${wallet.wallet}`}>
                  <One wallet={wallet} />
                </li>
              ))}
            </ul>
          )}
          <Limits data={data} />
          <Sweep />
        </>
      )}
    </Loaded>
  )
}

function One({ wallet }: { wallet: Wallet }) {
  const t = useTexts(walletTexts)
  const lang = useLang()
  const { wallet: kind, name, address, asset, balance, perDay, runwayDays, low, warnBelow, checkedAt } = wallet
  const unit = asset === 'USDC' ? 'USDC' : t.coin
  const rows: [string, React.ReactNode][] = [
    [
      t.address,
      <span key="address" className="flex flex-wrap items-center gap-1">
        <Code text={address} />
        <Copy text={address} />
      </span>,
    ],
    [t.perDay, perDay === null || Number(perDay) === 0 ? t.nothing : <Money key="day" amount={perDay} asset={unit} />],
    [t.runway, runwayDays === null ? null : t.days(formatCount(lang, Math.floor(runwayDays)))],
  ]
  if (warnBelow) rows.push([t.warnBelow, <Money key="warn" amount={warnBelow} asset={unit} />])
  rows.push([t.checked, checkedAt ? <Time key="checked" at={checkedAt} ago /> : t.notYet])
  return (
    <Panel
      title={`${t.kind[kind]} · ${name}`}
      actions={
        <Badge tone={balance === null ? 'plain' : low ? 'bad' : 'good'}>
          {balance === null ? t.notYet : low ? t.low : t.fine}
        </Badge>
      }
    >
      <p className="mb-3 text-2xl font-semibold break-words">
        {balance === null ? '–' : <Money amount={balance} asset={unit} />}
      </p>
      {low && <Notice tone="bad">{kind === 'payout' ? t.lowPayout : t.lowRelayer}</Notice>}
      <Facts rows={rows} />
    </Panel>
  )
}

/** Set in the configuration; shown here to explain why a payout waits. */
function Limits({ data: { limits, gas } }: { data: Answer }) {
  const t = useTexts(walletTexts)
  const rows: [string, React.ReactNode][] = [
    [t.dayLimit, limits.dayLimit ? <Money key="day" amount={limits.dayLimit} asset="USDC" /> : t.noLimit],
    [t.released, <Money key="released" amount={limits.released} asset="USDC" />],
    [t.twoPersons, limits.twoPersonsFrom ? <Money key="two" amount={limits.twoPersonsFrom} asset="USDC" /> : t.never],
    [
      t.allowList,
      limits.allowList.length === 0 ? (
        t.anyAddress
      ) : (
        <ul key="list" className="space-y-1">
          {limits.allowList.map((address) => (
            <li key={address}>
              <Code text={address} whole />
            </li>
          ))}
        </ul>
      ),
    ],
    ...gas.map(({ name, maxGwei, override }): [string, React.ReactNode] => [
      t.gas(name),
      <span key={name}>
        {`${Number(maxGwei)} gwei`}
        {override && (
          <span className="block">
            <Badge tone="warn">{`${Number(override.maxGwei)} gwei`}</Badge>{' '}
            {t.override(override.allowedBy, override.reason)} <Time at={override.until} />
          </span>
        )}
      </span>,
    ]),
  ]
  return (
    <Panel title={t.limits}>
      <p className="mb-3 text-sm text-soft">{t.limitsText}</p>
      <Facts rows={rows} />
    </Panel>
  )
}

/** Loaded on demand: planning queries the balance of every deposit address on each chain. */
function Sweep() {
  const t = useTexts(walletTexts)
  const [isOpen, setOpen] = useState(false)
  return (
    <Panel title={t.sweep}>
      <p className="mb-3 text-sm text-soft">{t.sweepText}</p>
      {isOpen ? (
        <Plan />
      ) : (
        <button type="button" className="btn" onClick={() => setOpen(true)}>
          {t.plan}
        </button>
      )}
    </Panel>
  )
}

function Plan() {
  const t = useTexts(walletTexts)
  const plan = useApi('GET /api/next/operator/sweep-plan', {})
  return (
    <Loaded query={plan}>
      {({ networks, deposits, held, silent }) => (
        <>
          {silent.length > 0 && <Notice tone="warn">{t.silent(silent.join(', '))}</Notice>}
          <ul className="mb-4 space-y-4">
            {networks.map(({ network, name, deposits: count, total, fee, dust }) => (
              <li key={network}>
                <h3 className="mb-1 font-semibold">{name}</h3>
                <Facts
                  rows={[
                    [t.deposits, count],
                    [t.total, <Money key="total" amount={total} asset="USDC" />],
                    [t.fee, <Money key="fee" amount={fee} asset={t.coin} />],
                    [t.dust, <Money key="dust" amount={dust} asset="USDC" />],
                  ]}
                />
              </li>
            ))}
          </ul>
          {deposits.length > 0 && (
            <p className="mb-4 text-sm">
              {t.run} <Code text="comptoir sweep --sign" whole />
            </p>
          )}
          <Addresses title={t.ready} rows={deposits.map((one) => ({ ...one, reason: '' }))} />
          <Addresses title={t.held} rows={held} />
        </>
      )}
    </Loaded>
  )
}

function Addresses({ title, rows }: { title: string; rows: { address: string; amount: string; reason: string }[] }) {
  const t = useTexts(walletTexts)
  const core = useCore()
  if (rows.length === 0) return null
  return (
    <details className="mt-3">
      <summary className="link inline-block text-sm">{`${title} (${rows.length})`}</summary>
      <Table
        label={title}
        rows={rows}
        keyOf={({ address }) => address}
        columns={[
          { head: t.address, cell: ({ address }) => <code title={address}>{shorten(address)}</code> },
          { head: 'USDC', isNumber: true, cell: ({ amount }) => <Money amount={amount} asset="USDC" /> },
          { head: core.reason, width: 'text-soft', cell: ({ reason }) => <span lang="en">{reason}</span> },
        ]}
      />
    </details>
  )
}
