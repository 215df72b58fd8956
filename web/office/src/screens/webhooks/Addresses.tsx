import type { Data } from '../../api/call.ts'
import { useApi } from '../../api/hooks.ts'
import { useAddress } from '../../frame/address.ts'
import { useCompanyQuery } from '../../frame/company.tsx'
import { formatCount } from '../../kit/format.ts'
import { Table } from '../../kit/lists.tsx'
import { Badge, Empty, Loaded, Panel, Time } from '../../kit/parts.tsx'
import { useLang, useTexts } from '../../texts/lang.ts'
import { texts } from './address-texts.ts'
import { Failure } from './Failure.tsx'

/** It aggregates a month of deliveries, so it refetches less often than the list below. */
const SUMMARY_MS = 60_000
type WebhookAddress = Data<'listWebhookAddresses'>['addresses'][number]

/**
 * The addresses of webhooks, and the state of each. A click filters the deliveries by it, another one shows all again.
 */
export function Addresses() {
  const t = useTexts(texts)
  const list = useApi('GET /api/next/webhook-addresses', { query: useCompanyQuery() }, { liveMs: SUMMARY_MS })
  return (
    <Panel title={t.title} flush>
      <Loaded
        query={list}
        isEmpty={(data) => data.addresses.length === 0}
        empty={
          <Empty icon="bolt" title={t.empty}>
            {t.emptyText}
          </Empty>
        }
      >
        {({ addresses, total }) => (
          <>
            <p className="px-4 py-3 text-sm text-soft">{t.lead}</p>
            <div className="max-h-96 overflow-y-auto">
              <Rows addresses={addresses} />
            </div>
            {total > addresses.length && (
              <p className="border-t border-line px-4 py-3 text-sm text-soft">{t.newest(addresses.length, total)}</p>
            )}
          </>
        )}
      </Loaded>
    </Panel>
  )
}

function Rows({ addresses }: { addresses: readonly WebhookAddress[] }) {
  const t = useTexts(texts)
  const lang = useLang()
  const count = (number: number): string => formatCount(lang, number)
  return (
    <Table
      label={t.title}
      rows={addresses}
      keyOf={({ url }) => url}
      columns={[
        {
          head: t.address,
          cell: ({ url, lastFailure }) => (
            <>
              <Choice url={url} />
              {lastFailure && (
                <span className="mt-1 block sm:hidden">
                  <LastFailure failure={lastFailure} />
                </span>
              )}
            </>
          ),
        },
        { head: t.delivered, isNumber: true, width: 'hidden sm:table-cell', cell: ({ delivered }) => count(delivered) },
        { head: t.pending, isNumber: true, width: 'hidden sm:table-cell', cell: ({ pending }) => count(pending) },
        { head: t.failed, isNumber: true, cell: ({ failed, parked }) => count(failed + parked) },
        {
          head: t.last,
          width: 'hidden md:table-cell',
          cell: ({ lastDeliveryAt }) => <Time at={lastDeliveryAt} ago />,
        },
        {
          head: t.lastFailure,
          width: 'hidden sm:table-cell',
          cell: ({ lastFailure }) => <LastFailure failure={lastFailure} />,
        },
      ]}
    />
  )
}

function Choice({ url }: { url: string }) {
  const [{ address }, go] = useAddress()
  const isChosen = address === url
  const choose = (): void => go({ address: isChosen ? undefined : url, page: undefined }, { resetScroll: false })
  return (
    <button
      type="button"
      className={`link line-clamp-3 text-left break-all ${isChosen ? 'font-semibold' : ''}`}
      aria-pressed={isChosen}
      title={url}
      onClick={choose}
    >
      {url}
    </button>
  )
}

function LastFailure({ failure }: { failure: WebhookAddress['lastFailure'] }) {
  const t = useTexts(texts)
  if (failure === null) return <span className="text-soft">{t.none}</span>
  return (
    <>
      <Badge tone="bad">{failure.statusCode ?? t.unknown}</Badge>
      {failure.errorCode !== null && (
        <span className="mt-1 block min-w-40 text-[13px]">
          <Failure code={failure.errorCode} />
        </span>
      )}
      <span className="block text-[13px] text-soft">
        <Time at={failure.at} ago />
      </span>
    </>
  )
}

/** Shows that only one address is listed, with a link back to all. */
export function ChosenAddress() {
  const t = useTexts(texts)
  const [{ address }, go] = useAddress()
  if (!address) return null
  return (
    <p className="mb-4 flex flex-wrap items-center gap-x-3 gap-y-2 text-sm">
      <span className="min-w-0 break-all">
        {t.only} <strong>{address}</strong>
      </span>
      <button type="button" className="btn" onClick={() => go({ address: undefined, page: undefined })}>
        {t.showAll}
      </button>
    </p>
  )
}
