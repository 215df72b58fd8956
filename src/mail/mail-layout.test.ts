import assert from 'node:assert/strict'
import { test } from 'node:test'
import { LANGS } from '../kernel/lang.ts'
import type { MailOrder } from './mail.ts'
import { writeMail } from './mail-layout.ts'

/** As it comes out of the queue. */
const queued = (order: object): MailOrder => JSON.parse(JSON.stringify(order))

test('a mail that the version before queued says nothing that it does not know', () => {
  for (const lang of LANGS) {
    const order = { to: 'person@shop.example', lang }
    const name = 'Ada'
    const verify = { name, url: 'https://pay.example/v' }
    const asked = writeMail(queued({ ...order, kind: 'verifyEmail', data: verify }), '')
    assert.doesNotMatch(asked.text, /undefined|“”|„“|«\s*»/u, lang)
    const invited = { name, inviter: 'Maud', company: 'Café', url: 'https://pay.example/i' }
    const old = writeMail(queued({ ...order, kind: 'invitation', data: invited }), '')
    const present = writeMail(queued({ ...order, kind: 'invitation', data: { ...invited, replaces: '' } }), '')
    assert.equal(old.text, present.text, lang)
  }
})
