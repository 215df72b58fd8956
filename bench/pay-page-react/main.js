import { encodeQR } from 'qr'
import { createElement as h, useEffect, useState } from 'react'
import { createRoot } from 'react-dom/client'

/* The pay page while it waits, as a single-page application would show it: the opponent of `npm run bench -- pages`. */

const two = (value) => String(value).padStart(2, '0')

function Clock({ until }) {
  const [now, setNow] = useState(Date.now())
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 500)
    return () => clearInterval(timer)
  }, [])
  const seconds = Math.max(0, Math.ceil((until - now) / 1000))
  return h('span', { className: 'clock', role: 'timer' }, `${Math.floor(seconds / 60)}:${two(seconds % 60)}`)
}

function Copy({ text }) {
  const [done, setDone] = useState(false)
  const copy = () => void navigator.clipboard.writeText(text).then(() => setDone(true))
  return h('button', { type: 'button', className: 'copy', onClick: copy }, done ? 'Copied' : 'Copy')
}

function Code({ text }) {
  const svg = encodeQR(text, 'svg', { ecc: 'medium' })
  // biome-ignore lint/security/noDangerouslySetInnerHtml: the encoder's own drawing
  const code = h('div', { id: 'qr', className: 'frame only', dangerouslySetInnerHTML: { __html: svg } })
  return h('div', { className: 'code' }, code)
}

const row = (name, value, copied) =>
  h('div', { key: name }, h('dt', null, name), h('dd', null, h('span', null, value), h(Copy, { text: copied })))

function Page() {
  const [order, setOrder] = useState(null)
  useEffect(() => {
    void fetch('/order.json')
      .then((answer) => answer.json())
      .then(setOrder)
  }, [])
  if (!order) return null
  const price = new Intl.NumberFormat('en-GB', { style: 'currency', currency: order.fromAsset }).format(
    order.fromAmount,
  )
  return h(
    'main',
    null,
    h('h1', null, 'Payment to ', h('b', null, order.merchant)),
    h('p', { className: 'price' }, price),
    h('p', { className: 'soft' }, `about ${order.tokenAmount} USDC`),
    h('div', { className: 'state busy' }, h('h2', null, 'Waiting for your payment'), h(Clock, { until: order.until })),
    h(Code, { text: order.paymentUri }),
    h(
      'dl',
      null,
      row('Amount', order.tokenAmount, order.tokenAmount),
      row('Address', order.toAddress, order.toAddress),
    ),
    h('p', { className: 'note' }, 'Send only USDC, and only on this network. Anything else may be lost.'),
  )
}

document.documentElement.className = 'js'
createRoot(document.getElementById('root')).render(h(Page))
