import assert from 'node:assert/strict'
import { renameSync } from 'node:fs'
import { after, before, test } from 'node:test'
import { readMails } from './harness/accounts.ts'
import { openScreeningWorld, type ScreeningWorld } from './harness/screening-world.ts'
import { eventually } from './harness/service.ts'
import type { Payable } from './harness/shop.ts'

/* The operator's own list changes, vanishes and breaks while the service runs. */
const OPERATOR = 'operator@comptoir.example'
let world: ScreeningWorld
before(async () => {
  world = await openScreeningWorld({ OPERATOR_EMAIL: OPERATOR })
})
after(() => world?.stop())

const paidBy = async (wallet: string): Promise<Payable> => {
  const order = await world.createAwaiting()
  await world.payFrom(wallet, order)
  return order
}

test('the deny list: a change counts at once, what was decided stays, and a list that vanishes keeps its content', async () => {
  const [listed, later] = [await world.newWallet(), await world.newWallet()]
  world.denyList.write('# people', `${listed} # since today`)
  const order = await paidBy(listed)
  await world.reaches(order.code, 'KYT_FAILED')
  renameSync(world.denyList.file, `${world.denyList.file}.gone`)
  const [mail] = await eventually(
    async () => (await readMails(world.host.baseUrl, OPERATOR)).filter(({ subject }) => /deny list/.test(subject)),
    (list) => list.length > 0,
  )
  assert.match(mail?.text ?? '', /1 addresses/)
  const blind = await paidBy(listed)
  await world.reaches(blind.code, 'KYT_FAILED')
  world.denyList.write('this is no address')
  const broken = await paidBy(listed)
  await world.reaches(broken.code, 'KYT_FAILED')
  world.denyList.write(later)
  const added = await paidBy(later)
  await world.reaches(added.code, 'KYT_FAILED')
  await new Promise((resolve) => setTimeout(resolve, 2100))
  const free = await paidBy(listed)
  await world.reaches(free.code, 'PAID')
  assert.equal((await world.story(order.orderId)).status, 'KYT_FAILED')
})
