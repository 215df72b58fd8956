import { useState } from 'react'
import { type Body, call, type Data, type Order } from '../../api/call.ts'
import { useAction, useApi } from '../../api/hooks.ts'
import { useCan } from '../../api/session.ts'
import { useChannelName } from '../../frame/channels.ts'
import { useNetworkName } from '../../frame/networks.ts'
import { Form, Select } from '../../kit/fields.tsx'
import { Icon } from '../../kit/icons.tsx'
import { Dialog, Loaded } from '../../kit/parts.tsx'
import { useRefusal } from '../../kit/refusal.ts'
import { say } from '../../kit/toasts.tsx'
import { useTexts } from '../../texts/lang.ts'
import { RefundDialog } from './RefundDialog.tsx'
import { SendLink } from './SendLink.tsx'
import { texts } from './texts.ts'

const OPEN = ['INITIAL', 'PENDING', 'AWAITING']
const ASKABLE = ['PENDING', 'AWAITING', 'WAITING_CHAIN_CONFIRMATION']
const REFUNDABLE = ['PAID', 'REFUNDED']

type Ask = 'accept' | 'cancel' | 'expire' | 'refund'

/** What this person may do with an order in this state; everything else is hidden. */
export function Actions({ order }: { order: Order }) {
  const t = useTexts(texts)
  const can = useCan()
  const words = useRefusal()
  const [ask, setAsk] = useState<Ask | null>(null)
  const path = { code: order.code }
  const confirm = useAction({
    run: () =>
      call('POST /api/next/confirm_conversion/confirm/{code}', { path }).catch((error) => {
        say(words(error))
        throw error
      }),
    isAnew: true,
    done: t.confirmed,
  })
  const isOpen = OPEN.includes(order.status)
  const close = (): void => setAsk(null)
  return (
    <>
      <SendLink order={order} />
      {isOpen && can('payments.accept') && (
        <button type="button" className="btn" onClick={() => setAsk('accept')}>
          {t.accept}
        </button>
      )}
      {ASKABLE.includes(order.status) && can('payments.confirm') && (
        <button type="button" className="btn" disabled={confirm.isPending} onClick={() => confirm.mutate(undefined)}>
          {t.confirm}
        </button>
      )}
      {isOpen && can('orders.expire') && order.alias !== null && (
        <button type="button" className="btn" onClick={() => setAsk('expire')}>
          {t.expire}
        </button>
      )}
      {isOpen && can('orders.cancel') && (
        <button type="button" className="btn" onClick={() => setAsk('cancel')}>
          {t.cancel}
        </button>
      )}
      {REFUNDABLE.includes(order.status) && can('refunds.revert') && (
        <button type="button" className="btn btn-fill" onClick={() => setAsk('refund')}>
          <Icon name="undo" />
          {t.refund}
        </button>
      )}
      <button type="button" className="btn" onClick={() => print()}>
        <Icon name="print" />
        {t.print}
      </button>
      {ask === 'accept' && <AcceptDialog order={order} onClose={close} />}
      {(ask === 'cancel' || ask === 'expire') && <EndDialog order={order} way={ask} onClose={close} />}
      {ask === 'refund' && <RefundDialog order={order} onClose={close} />}
    </>
  )
}

type DialogProps = { order: Order; onClose(): void }

function EndDialog({ order, way, onClose }: DialogProps & { way: 'cancel' | 'expire' }) {
  const t = useTexts(texts)
  const path = { code: order.code }
  const action = useAction({
    run: () =>
      way === 'cancel'
        ? call('POST /api/next/confirm_conversion/cancel/{code}', { path })
        : call('POST /api/next/confirm_conversion/expire/{code}', { path }),
    onDone: onClose,
  })
  return (
    <Dialog title={`${t[way]} · ${t.title(order.shortCode)}`} onClose={onClose}>
      <Form
        tone="bad"
        button={t[way]}
        isBusy={action.isPending}
        error={action.error}
        onSend={() => action.mutate(undefined)}
        beside={
          <button type="button" className="btn" onClick={onClose}>
            {t.keep}
          </button>
        }
      >
        <p className="mb-4">{way === 'cancel' ? t.cancelText : t.expireText}</p>
      </Form>
    </Dialog>
  )
}

function AcceptDialog({ order, onClose }: DialogProps) {
  const t = useTexts(texts)
  const channels = useApi('GET /api/next/channels', { query: { code: order.code } })
  return (
    <Dialog title={`${t.accept} · ${t.title(order.shortCode)}`} onClose={onClose}>
      <p className="mb-4 text-soft">{t.acceptText}</p>
      <Loaded query={channels}>
        {(all) => <AcceptForm order={order} offers={all.filter(({ available }) => available)} onClose={onClose} />}
      </Loaded>
    </Dialog>
  )
}

type AcceptProps = DialogProps & { offers: Data<'listChannels'> }

/** What is shown is sent: the list is fetched again while the dialog is open, and may come in another order. */
function AcceptForm({ order, offers, onClose }: AcceptProps) {
  const t = useTexts(texts)
  const channelName = useChannelName()
  const nameOf = useNetworkName()
  const [chosen, setChosen] = useState<string>(offers[0]?.paymentChannel ?? '')
  const offer = offers.find(({ paymentChannel }) => paymentChannel === chosen)
  const action = useAction({
    run: (body: Body<'acceptOrder'>) =>
      call('POST /api/next/confirm_conversion/accept/{code}', { path: { code: order.code }, body }),
    onDone: onClose,
  })
  return (
    <Form
      button={t.accept}
      isBusy={action.isPending}
      error={action.error}
      onSend={({ network }) =>
        offer &&
        action.mutate({
          paymentChannel: offer.paymentChannel,
          ...(network ? { network: Number(network) } : {}),
        })
      }
    >
      <Select
        label={t.channel}
        name="paymentChannel"
        required
        value={offer?.paymentChannel ?? ''}
        onChange={(event) => setChosen(event.target.value)}
        options={[
          // the chosen one is not offered any more
          ...(offer ? [] : [['', ''] as const]),
          ...offers.map((one) => [one.paymentChannel, channelName(one.paymentChannel)] as const),
        ]}
      />
      {offer && offer.networks.length > 0 && (
        <Select
          key={offer.paymentChannel}
          label={t.network}
          name="network"
          options={offer.networks.map((id) => [String(id), nameOf(id)] as const)}
        />
      )}
    </Form>
  )
}
