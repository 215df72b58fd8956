import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openVault } from '../kernel/vault.ts'
import { openRefundLinks } from './refund-link.ts'

const links = openRefundLinks({ vault: openVault(Buffer.alloc(32, 1)), payUrl: 'https://pay.example' })
const tokenOf = (url: string): string => new URL(url).searchParams.get('token') ?? ''

test('a link that was handed over is told apart from the mailed one, and neither fits another refund', () => {
  const [mailed, handed] = [links.urlOf('code', 'one', 'mailed'), links.urlOf('code', 'one', 'handed')].map(tokenOf)
  assert.equal(links.kindOf('one', mailed ?? ''), 'mailed')
  assert.equal(links.kindOf('one', handed ?? ''), 'handed')
  for (const token of [mailed, handed, '', 'x']) assert.equal(links.kindOf('two', token ?? ''), null)
})
