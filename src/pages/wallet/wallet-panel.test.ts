import assert from 'node:assert/strict'
import { test } from 'node:test'
import { closedWalletPanel, walletPanel } from './wallet-panel.ts'

const BASE = {
  ...{ chainId: 8453, name: 'Base', token: `0x${'11'.repeat(20)}`, coin: 'ETH', rpcUrl: null, explorerUrl: null },
  gaslessFrom: null,
}
const asked = (payUrl: string) =>
  ({
    code: 'Ab1',
    language: 'fr',
    payUrl,
    to: `0x${'22'.repeat(20)}`,
    missing: { asset: 'USDC', units: 1_500_000n },
    shop: { name: 'Café', supportEmail: 'help@cafe.example', supportPhone: null },
    shortCode: 'C-1',
  }) as const

test('each wallet app opens this very page, by the form that its maker documents', () => {
  const { text } = walletPanel(BASE, asked('https://pay.example'))
  const links = [...text.matchAll(/href="([^"]+)"/g)].map(([, link = '']) => link.replaceAll('&amp;', '&'))
  const page = 'https%3A%2F%2Fpay.example%2Fpay%3Fcode%3DAb1%26lang%3Dfr'
  assert.deepEqual(links, [
    'https://link.metamask.io/dapp/pay.example/pay?code=Ab1&lang=fr',
    `https://link.trustwallet.com/open_url?coin_id=60&url=${page}`,
    `https://go.cb-w.com/dapp?cb_url=${page}`,
    `https://go.rabby.io/mobile?_cmd=open-dapp&dapp=${page}`,
    `https://web3.okx.com/download?deeplink=${encodeURIComponent(`okx://wallet/dapp/url?dappUrl=${page}`)}`,
  ])
  assert.match(text, /Ouvrir cette page dans votre portefeuille/)
})

test('no app is offered for an address that a phone cannot open, and a name with quotes stays text', () => {
  const { text } = walletPanel({ ...BASE, name: '"><script>' }, asked('http://127.0.0.1:3000'))
  assert.ok(!text.includes('href='))
  assert.ok(!text.includes('<script>'))
  assert.match(text, /&quot;amount&quot;:&quot;1,50&quot;/)
})

test('both panels name whom to ask; the one of a network that is read no more names no token to pay with', () => {
  const open = walletPanel(BASE, asked('https://pay.example')).text
  const closed = closedWalletPanel({ id: 8453, name: 'Base' }, asked('https://pay.example')).text
  for (const text of [open, closed])
    assert.match(
      text,
      /&quot;shop&quot;:&quot;Café&quot;,&quot;reference&quot;:&quot;C-1&quot;,&quot;email&quot;:&quot;help@/,
    )
  assert.deepEqual(
    [open.includes('&quot;token'), closed.includes('&quot;token'), closed.includes('href')],
    [true, false, false],
  )
})
