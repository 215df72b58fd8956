import { Link } from '@tanstack/react-router'
import type { Data, Order } from '../../api/call.ts'
import { useApi } from '../../api/hooks.ts'
import { formatMoney } from '../../kit/format.ts'
import { LIVE_MS } from '../../kit/live.ts'
import { Copy, OrderStatus } from '../../kit/parts.tsx'
import { Qr } from '../../kit/Qr.tsx'
import { useLang, useTexts } from '../../texts/lang.ts'
import { SendLink } from '../order/SendLink.tsx'
import { texts } from './texts.ts'

const OPEN: readonly Order['status'][] = ['INITIAL', 'PENDING', 'AWAITING']

/** The QR code, and its order's state while the customer pays. On paper it is a poster. */
export function Created({ created, onAgain }: { created: Data<'createOrder'>; onAgain(): void }) {
  const t = useTexts(texts)
  const lang = useLang()
  const { code } = created
  const live = useApi('GET /api/next/confirm_conversion/status/{code}', { path: { code } }, { liveMs: LIVE_MS })
  const order = live.data ?? created.order
  // a paid or ended order must not be scanned by the next customer
  const isOpen = OPEN.includes(order.status)
  return (
    <div className="panel max-w-xl p-6 text-center">
      {isOpen && <h2 className="mb-1 text-lg font-semibold">{t.done}</h2>}
      <p className="text-3xl font-semibold tabular-nums">{formatMoney(lang, order.fromAmount, order.fromAsset)}</p>
      {order.alias && <p className="mt-1 break-words">{order.alias}</p>}
      <p className="mt-2">
        <OrderStatus status={order.status} />
      </p>
      {isOpen && (
        <>
          <p className="no-print mt-2 text-sm text-soft">
            {t.estimate(formatMoney(lang, order.toAmount, order.toAsset))}
          </p>
          <div className="my-5 flex justify-center">
            <Qr text={created.paymentUrl} label={t.qr} className="size-64" />
          </div>
          <p className="mb-4 text-soft">{t.scan}</p>
          <p className="mb-4 font-mono text-xs break-all text-soft">{created.paymentUrl}</p>
        </>
      )}
      <div className="no-print mt-4 flex flex-wrap justify-center gap-2">
        {isOpen && <Share url={created.paymentUrl} isLink={order.alias !== null} />}
        <SendLink order={order} />
        <Link to="/orders/$code" params={{ code }} className="btn">
          {t.view}
        </Link>
        <button type="button" className="btn btn-fill" onClick={onAgain}>
          {t.again}
        </button>
      </div>
    </div>
  )
}

/** A link is sent or put up; an order that lives for minutes needs no poster. */
function Share({ url, isLink }: { url: string; isLink: boolean }) {
  const t = useTexts(texts)
  const share = (): void => void navigator.share({ url }).catch(() => {})
  return (
    <>
      <Copy text={url} label={t.copy} />
      {'share' in navigator && (
        <button type="button" className="btn" onClick={share}>
          {t.share}
        </button>
      )}
      {isLink && (
        <button type="button" className="btn" onClick={() => print()}>
          {t.poster}
        </button>
      )}
    </>
  )
}
