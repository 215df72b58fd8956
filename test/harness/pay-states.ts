import { sql } from '../../src/db/db.ts'
import { newId } from '../../src/kernel/ids.ts'
import type { RefundStatus } from '../../src/refunds/refund-queries.ts'
import type { Situation } from '../../src/texts/order-texts.ts'
import type { PayWorld } from './pay-world.ts'

const DUE = 58_320_000n
const SHOP = { returnUrl: 'https://shop.example/thanks?a=1&b=2', cancelUrl: 'https://shop.example/cart' }

/** As after a provider that has not answered for so long, before anybody asks it again. */
/** Its channel has not answered for so long. */
export async function unanswered(world: PayWorld, code: string, seconds: number): Promise<string> {
  await world.moveElsewhere(code, 'accept')
  await world.host.db.run(sql`
    update payments set status = 'creating', instructions = null, next_check_at = null,
      opened_at = now() - make_interval(secs => ${seconds})
    where id = (select payment_id from orders where code = ${code})`)
  return code
}

const PAYER = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8'

type RefundFacts = {
  status: RefundStatus
  units?: bigint
  excess?: bigint
  number?: number
  byMail?: boolean
  named?: boolean
  byHand?: boolean
}

/** A refund as it stands at that point: what its payer reads of it, without the sending. */
export async function refund({ host }: PayWorld, code: string, facts: RefundFacts): Promise<string> {
  const { status, units = DUE, excess = 0n, number = 1, byMail = false, named = false, byHand = false } = facts
  const done = status === 'settled' || status === 'submitted'
  const address = done ? PAYER : null
  const [proposed, by] = named ? [PAYER, 'payer'] : [null, null]
  const txHash = status === 'settled' ? `0x${newId().padEnd(64, '7')}` : null
  await host.db.run(sql`
    insert into refunds (company_id, id, order_id, number, payment_id, channel, status, units, excess_units, fiat_units,
      without_cover, address, proposed_address, proposed_by, asked_by_mail, network, tx_hash, requested_by, handed_over_at,
      created_at, updated_at, settled_at)
    select company_id, ${newId()}, id, ${number}, payment_id, 'crypto', ${status}, ${units}, ${excess}, 0, false, ${address},
      ${proposed}, ${by}, ${byMail}, 31337, ${txHash}, 'apiKey:test', case when ${byHand} then now() end, now(), now(),
      case when ${status} = 'settled' then now() end
    from orders where code = ${code}`)
  const refunded = status === 'settled' ? units : 0n
  await host.db.run(sql`
    update orders set paid_units = to_units, paid_at = now(), refunded_units = ${refunded}
    where code = ${code} and status <> 'EXPIRED'`)
  return code
}

/** As the scanner records it. */
export async function wrongToken({ host }: Pick<PayWorld, 'host'>, code: string): Promise<string> {
  await host.db.run(sql`
    insert into mispayments (company_id, id, order_id, payment_id, kind, asset, units, source_reference, created_at, updated_at)
    select company_id, ${newId()}, id, payment_id, 'wrong_token', 'USDT', 58320000, ${newId()}, now(), now()
    from orders where code = ${code}`)
  return code
}

/** A provider sees a part coming and tells no amount; `gatepay` is not set up here any more. */
async function onItsWay({ host }: PayWorld, code: string, channel: 'coinbase' | 'gatepay'): Promise<string> {
  await host.db.run(sql`
    update payments set status = 'confirming', channel = ${channel}, network = null, next_check_at = null,
      instructions = instructions || '{"toAddress": null, "tokenAmount": null, "paymentUri": null, "qrData": null,
        "checkoutUrl": "https://pay.gate.example/1"}'
    where id = (select payment_id from orders where code = ${code})`)
  return code
}

/** A provider has the whole price and has not credited it, at the end of the order. */
async function onItsWayEnded(world: PayWorld, code: string): Promise<string> {
  await onItsWay(world, code, 'coinbase')
  await world.host.db.run(sql`
    update payments set pending_units = due_units, told_units = due_units, next_check_at = now() + interval '1 day'
    where id = (select payment_id from orders where code = ${code})`)
  await world.moveElsewhere(code, 'expire')
  return code
}

/** Paid on the chain, while the screening has not let it pass. */
async function hold({ host }: PayWorld, code: string): Promise<string> {
  await host.db.run(sql`
    update payments set status = 'confirming', next_check_at = null
    where id = (select payment_id from orders where code = ${code})`)
  await host.db.run(sql`
    update orders set status = 'WAITING_CHAIN_CONFIRMATION', paid_at = null, updated_at = now() - interval '1 minute'
    where code = ${code}`)
  return code
}

/** The page of one order in each situation that a payer can meet. */
export async function makePayStates(world: PayWorld): Promise<Record<Situation, string>> {
  const accepted = async () => (await world.createAccepted({ ...SHOP, goods: { goodsName: 'Two tickets' } })).code
  const moved = async (...triggers: Parameters<PayWorld['moveElsewhere']>[1][]) => {
    const code = await accepted()
    await world.moveElsewhere(code, ...triggers)
    return code
  }
  const paying = async (units: bigint, blocks: number) => {
    const order = await world.createAccepted(SHOP)
    await world.chain.pay({ to: order.toAddress, units })
    if (blocks > 0) await world.chain.mine(blocks)
    if (units >= DUE && blocks > 0) await world.reaches(order.code, 'PAID')
    return order.code
  }
  const late = async () => {
    const order = await world.createAccepted(SHOP)
    await world.moveElsewhere(order.code, 'expire')
    await world.chain.pay({ to: order.toAddress, units: 5_000_000n })
    return order.code
  }
  const codes = {
    choose: await world.createOrder(SHOP),
    preparing: await unanswered(world, await accepted(), -3600),
    providerDown: await unanswered(world, await accepted(), 60),
    waiting: await accepted(),
    expired: await moved('expire'),
    onItsWayEnded: await onItsWayEnded(world, await accepted()),
    wrongTokenEnded: await wrongToken(world, await moved('cancel')),
    sentBack: await refund(world, await moved('expire'), { status: 'settled', units: 5_000_000n }),
    cancelled: await moved('cancel'),
    error: await moved('fail'),
    review: await moved('failScreening'),
    refundApproval: await refund(world, await moved('pay', 'revert'), { status: 'needs_approval' }),
    refundAddress: await refund(world, await moved('pay', 'revert'), { status: 'needs_address' }),
    refundCheck: await refund(world, await moved('pay', 'revert'), { status: 'needs_address', named: true }),
    refundMailed: await refund(world, await moved('pay', 'revert'), { status: 'needs_address', byMail: true }),
    refundByHand: await refund(world, await moved('pay', 'revert'), { status: 'ready', byHand: true }),
    refunding: await refund(world, await moved('pay', 'revert'), { status: 'submitted' }),
    refundedPart: await refund(world, await moved('pay', 'revert', 'refundPart'), {
      status: 'settled',
      units: 8_320_000n,
    }),
    refunded: await refund(world, await moved('pay', 'revert', 'refundAll'), { status: 'settled' }),
    onItsWay: await onItsWay(world, await accepted(), 'coinbase'),
    accountGone: await onItsWay(world, await accepted(), 'gatepay'),
    wrongToken: await wrongToken(world, await accepted()),
    overpaid: await paying(DUE + 2_000_000n, 4),
    late: await late(),
    paid: await paying(DUE, 4),
    partly: await paying(1_000_000n, 4),
    hold: await hold(world, await paying(DUE, 4)),
    seen: await paying(DUE, 0),
  }
  const pages = Object.entries(codes).map(([situation, code]) => [situation, world.pageUrl(code)] as const)
  return {
    ...(Object.fromEntries(pages) as Record<keyof typeof codes, string>),
    // one way to pay is not asked for, except after a step that failed
    choose: `${world.pageUrl(codes.choose)}&problem=CHANNEL_UNAVAILABLE`,
    unavailable: world.pageWithoutChannels(await world.createOrder(SHOP)),
  }
}
