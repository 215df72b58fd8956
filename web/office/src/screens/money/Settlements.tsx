import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { call, type Data, type Query } from '../../api/call.ts'
import { useAction, useApi, useWhole } from '../../api/hooks.ts'
import { useCan } from '../../api/session.ts'
import { useCompanyQuery } from '../../frame/company.tsx'
import { holdTexts } from '../../frame/hold-texts.ts'
import { findHold, type Hold, transactionIn } from '../../frame/holds.ts'
import { useNetworkName } from '../../frame/networks.ts'
import { useClosing } from '../../kit/closing.ts'
import { Field, Form } from '../../kit/fields.tsx'
import { formatTime } from '../../kit/format.ts'
import { Turn } from '../../kit/lists.tsx'
import { SLOW_MS } from '../../kit/live.ts'
import { Badge, Code, Dialog, Empty, Facts, Loaded, Money, Notice, Panel, Refusal, Time } from '../../kit/parts.tsx'
import { useCore, useLang, useTexts, wordFor } from '../../texts/lang.ts'
import { addressTexts } from './address-texts.ts'
import { statementTexts } from './statement-texts.ts'
import { STATUS_TONES, texts } from './texts.ts'

type Settlement = Data<'createSettlement'>
const LIMIT = 20

/** Prepared by one person, approved by another, paid from the operator's wallet. */
export function Settlements() {
  const t = useTexts(texts)
  const can = useCan()
  const company = useCompanyQuery()
  const [page, setPage] = useState(1)
  const query = { ...company, page, limit: LIMIT } as Query<'listSettlements'>
  const list = useApi('GET /api/next/settlements', { query })
  const prepare = useAction({
    run: () => call('POST /api/next/settlements', { body: company }),
    isAnew: true,
    done: t.prepared,
  })
  return (
    <Panel
      title={t.settlements}
      actions={
        can('settlements.create') && (
          <button
            type="button"
            className="btn no-print"
            disabled={prepare.isPending}
            onClick={() => prepare.mutate(undefined)}
          >
            {t.prepare}
          </button>
        )
      }
    >
      <p className="mb-3 text-sm text-soft">{t.prepareText}</p>
      <Refusal error={prepare.error} />
      <Loaded
        query={list}
        isEmpty={(data) => data.length === 0 && page === 1}
        empty={
          <Empty icon="wallet" title={t.none}>
            {t.noneText}
          </Empty>
        }
      >
        {(data) => <Rows settlements={data} />}
      </Loaded>
      <Turn page={page} isLast={(list.data?.length ?? 0) < LIMIT} onPage={setPage} />
    </Panel>
  )
}

/** Those of all companies that wait to be approved or paid, for operators who have not chosen one. */
export function WaitingSettlements() {
  const t = useTexts(texts)
  const [page, setPage] = useState(1)
  const query = { status: 'waiting', page, limit: LIMIT } as const
  const list = useApi('GET /api/next/settlements', { query }, { liveMs: SLOW_MS })
  const { data: all } = useWhole('GET /api/next/companies', {})
  if (list.data?.length === 0 && page === 1) return null
  return (
    <Panel title={t.waiting}>
      <Loaded query={list}>
        {(data) => (
          <Rows settlements={data} nameOf={(id) => all?.companies.find(({ _id }) => _id === id)?.name ?? id} />
        )}
      </Loaded>
      <Turn page={page} isLast={(list.data?.length ?? 0) < LIMIT} onPage={setPage} />
    </Panel>
  )
}

/** @param nameOf a company's name, where they are of several */
function Rows({ settlements, nameOf }: { settlements: readonly Settlement[]; nameOf?(companyId: string): string }) {
  return (
    <ul className="divide-y divide-line">
      {settlements.map((settlement) => (
        <li key={settlement._id} className="py-4 first:pt-0 last:pb-0">
          {nameOf && (
            <Link to="/money" search={{ company: settlement.companyId }} className="link mb-2 inline-block font-medium">
              {nameOf(settlement.companyId)}
            </Link>
          )}
          <Row settlement={settlement} />
        </li>
      ))}
    </ul>
  )
}

function Row({ settlement }: { settlement: Settlement }) {
  const t = useTexts(texts)
  const words = useTexts(statementTexts)
  const addresses = useTexts(addressTexts)
  const core = useCore()
  const can = useCan()
  const [isPaying, setPaying] = useState(false)
  const [isCancelling, setCancelling] = useState(false)
  const path = { id: settlement._id }
  const [isApproving, setApproving] = useState(false)
  const cancel = useCancel(settlement)
  const { status, amount, createdAt, message, fromBackup } = settlement
  const isOpen = status === 'open'
  const isApproved = status === 'approved'
  const hold = isApproved ? findHold(message) : null
  // a person may have sent it
  const mayBeSent = isApproved || (isOpen && fromBackup)
  return (
    <>
      <div className="mb-2 flex flex-wrap items-center gap-3">
        <strong>
          <Money amount={amount} asset="USDC" />
        </strong>
        <Badge tone={STATUS_TONES[status] ?? 'plain'}>{wordFor(t.status, status)}</Badge>
        <span className="text-sm text-soft">
          <Time at={createdAt} />
        </span>
      </div>
      <Destination settlement={settlement} />
      <AddressChange change={settlement.addressChange} />
      {isOpen && fromBackup && can('settlements.pay') && (
        <div className="mt-3">
          <Notice tone="warn">{addresses.fromBackup}</Notice>
        </div>
      )}
      {status !== 'paid' && <Message text={message} hold={hold} />}
      <Refusal error={cancel.error} />
      <div className="no-print mt-3 flex flex-wrap gap-2">
        <Link to="/money/payouts/$id" params={path} className="btn">
          {words.open}
        </Link>
        {isOpen && can('settlements.approve') && (
          <button type="button" className="btn btn-fill" onClick={() => setApproving(true)}>
            {t.approve}
          </button>
        )}
        {mayBeSent && can('settlements.pay') && (
          <button type="button" className="btn" onClick={() => setPaying(true)}>
            {t.pay}
          </button>
        )}
        {(mayBeSent ? hold !== 'otherwise' && can('settlements.pay') : isOpen && can('settlements.cancel')) && (
          <button
            type="button"
            className="btn"
            onClick={() => (mayBeSent ? setCancelling(true) : cancel.mutate(undefined))}
          >
            {core.cancel}
          </button>
        )}
      </div>
      {isApproving && <Approve settlement={settlement} onClose={() => setApproving(false)} />}
      {isPaying && <Pay settlement={settlement} onClose={() => setPaying(false)} />}
      {isCancelling && <Cancel settlement={settlement} onClose={() => setCancelling(false)} />}
    </>
  )
}

type DialogProps = { settlement: Settlement; onClose(): void }

/** One that is being answered here stays. */
function useAnswered({ settlement, onClose }: DialogProps, isBusy: boolean): void {
  const { refusals } = useCore()
  const [status] = useState(settlement.status)
  useClosing(settlement.status !== status && !isBusy, refusals.payoutMoved, onClose)
}

/** What was sent cannot be taken back: the approver sees all of it once more. */
function Approve({ settlement, onClose }: DialogProps) {
  const t = useTexts(texts)
  const action = useAction({
    run: () => call('POST /api/next/settlements/{id}/approve', { path: { id: settlement._id } }),
    done: t.approved,
    onDone: onClose,
  })
  useAnswered({ settlement, onClose }, action.isPending)
  return (
    <Dialog title={t.approveTitle} onClose={onClose}>
      <Form button={t.approve} isBusy={action.isPending} error={action.error} onSend={() => action.mutate(undefined)}>
        <p className="mb-4 text-2xl font-semibold">
          <Money amount={settlement.amount} asset="USDC" />
        </p>
        <Destination settlement={settlement} />
        <AddressChange change={settlement.addressChange} />
        <p className="my-4">{t.approveText}</p>
      </Form>
    </Dialog>
  )
}

function useCancel({ _id: id }: Settlement, onDone: () => void = () => {}) {
  const { cancelled: done } = useTexts(texts)
  return useAction({ run: () => call('POST /api/next/settlements/{id}/cancel', { path: { id } }), done, onDone })
}

/** Of one that a person may have sent. */
function Cancel({ settlement, onClose }: DialogProps) {
  const t = useTexts(texts)
  const action = useCancel(settlement, onClose)
  useAnswered({ settlement, onClose }, action.isPending)
  return (
    <Dialog title={t.cancelTitle} onClose={onClose}>
      <Form
        button={t.cancelTitle}
        isBusy={action.isPending}
        error={action.error}
        onSend={() => action.mutate(undefined)}
      >
        <p className="mb-4">{t.cancelText}</p>
      </Form>
    </Dialog>
  )
}

/** What it leaves for the next one, where it goes, and where what left instead went. */
function Destination({ settlement }: { settlement: Settlement }) {
  const t = useTexts(texts)
  const words = useTexts(statementTexts)
  const networkName = useNetworkName()
  const { amount, heldBack, paidAmount, paidTo, address, network, txHash } = settlement
  return (
    <Facts
      rows={[
        // an older node says nothing of it
        ...(heldBack
          ? ([[words.heldBack, <Money key="heldBack" amount={heldBack} asset="USDC" />]] as [string, React.ReactNode][])
          : []),
        [t.destination, <Code key="to" text={address} whole />],
        [t.network, networkName(network)],
        ...(paidAmount !== null && paidAmount !== amount
          ? ([[t.left, <Money key="left" amount={paidAmount} asset="USDC" />]] as [string, React.ReactNode][])
          : []),
        ...(paidTo !== null && paidTo.toLowerCase() !== address.toLowerCase()
          ? ([[t.leftTo, <Code key="leftTo" text={paidTo} whole />]] as [string, React.ReactNode][])
          : []),
        ...(txHash ? ([[t.hash, <Code key="tx" text={txHash} />]] as [string, React.ReactNode][]) : []),
      ]}
    />
  )
}

/** What an approver should know: the last payout went elsewhere, or there was none. */
function AddressChange({ change }: { change: Settlement['addressChange'] }) {
  const t = useTexts(addressTexts)
  const lang = useLang()
  const networkName = useNetworkName()
  const can = useCan()
  if (change === null) return null
  const { at, by, lastTo, lastNetwork } = change
  const last = lastTo === null || lastNetwork === null ? null : `${lastTo} (${networkName(lastNetwork)})`
  return (
    <div className="mt-3 wrap-anywhere">
      <Notice tone="warn">
        {at && by ? t.addressSet({ at: formatTime(lang, at, 'long'), by, last }) : t.addressOther(last)}
        {can('settlements.approve') && ` ${t.addressAsk}`}
      </Notice>
    </div>
  )
}

/** Why it waits and who acts next, and the service's own sentence. */
function Message({ text, hold }: { text: string | null; hold: Hold | null }) {
  const holds = useTexts(holdTexts)
  return (
    <>
      {hold && <p className="mt-2 text-sm">{holds[hold === 'otherwise' ? 'payoutOtherwise' : hold]}</p>}
      {text && (
        <p className="mt-2 text-sm break-words" lang="en">
          {text}
        </p>
      )}
    </>
  )
}

function Pay({ settlement, onClose }: DialogProps) {
  const t = useTexts(texts)
  const { onlyIfSent } = useTexts(addressTexts)
  // while a check holds it, nothing is to be sent
  const isHeld = settlement.status === 'open' || settlement.message?.startsWith('waits: ')
  const action = useAction({
    run: (txHash: string) =>
      call('POST /api/next/settlements/{id}/paid', { path: { id: settlement._id }, body: { txHash } }),
    done: t.paid,
    onDone: onClose,
  })
  useAnswered({ settlement, onClose }, action.isPending)
  return (
    <Dialog title={t.pay} onClose={onClose}>
      <Form
        button={t.pay}
        isBusy={action.isPending}
        error={action.error}
        onSend={({ txHash = '' }) => action.mutate(txHash)}
      >
        <p className="mb-4">{isHeld ? onlyIfSent : t.payText}</p>
        <Field
          label={t.hash}
          name="txHash"
          required
          kind="transaction"
          defaultValue={transactionIn(settlement.message)}
        />
      </Form>
    </Dialog>
  )
}
