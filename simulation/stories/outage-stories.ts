import { setTimeout as sleep } from 'node:timers/promises'
import { readMetric } from '../world/gauges.ts'
import { accepted, Broken, HOUR, MINUTE, minutesToRead, must, patiently, SECOND } from './acts.ts'
import type { Journey } from './money-stories.ts'
import type { OrderStory } from './order-story.ts'

type DeliveryView = { id: string; event: string; attempts: { errorCode: string | null; statusCode: number | null }[] }
type AddressView = { url: string; failed: number; lastFailure: { statusCode: number | null } | null }
type FeedView = { events: { event: string; order: { _id: string } }[]; nextCursor: string }

const ATTEMPTS = 5

const listed = async ({ shop, code }: OrderStory, status: 'pending' | 'failed'): Promise<DeliveryView[]> => {
  const path = `/api/next/webhook-deliveries?code=${code}&status=${status}&limit=100`
  return (await shop.call<{ deliveries: DeliveryView[] }>('GET', path)).data.deliveries
}

/**
 * The log, the list of addresses and the metrics show what the shop missed. `kills`: of nodes, before the story began.
 */
async function checkRecords(story: OrderStory, failed: readonly DeliveryView[], kills: number): Promise<void> {
  const { shop, world } = story
  for (const { event, attempts } of failed) {
    const counted = attempts.filter(({ errorCode }) => errorCode !== 'unknown_outcome')
    const isRight = counted.length === ATTEMPTS && counted.every(({ statusCode }) => statusCode === 503)
    must(isRight || world.weather.isBad, `${event} failed after ${JSON.stringify(attempts)}`)
  }
  const { data } = await shop.call<{ addresses: AddressView[] }>('GET', '/api/next/webhook-addresses')
  const [address] = data.addresses
  must(
    address?.failed === failed.length,
    `${failed.length} webhooks failed, the address has ${JSON.stringify(address)}`,
  )
  const nodes = await readMetric(world, 'comptoir_webhook_receiver_attempts_total', {
    receiver: shop.host,
    ok: 'false',
  })
  const counted = nodes.reduce((sum, value) => sum + value, 0)
  // a dead node's counters are lost; in calm weather another story may have killed it
  const isLost = world.weather.isBad || world.cluster.kills > kills
  must(
    counted === failed.length * ATTEMPTS || isLost,
    `${failed.length * ATTEMPTS} attempts failed, the metrics count ${counted}`,
  )
}

/** A shop's server is down for longer than five attempts; afterwards everything that it missed is redelivered. */
async function missAndReplay(story: OrderStory, whileDown: () => Promise<void>): Promise<void> {
  const { world } = story
  const { kills } = world.cluster
  await story.moveToOwnShop(5050)
  const { shop } = story
  await sleep(5 * SECOND)
  shop.downUntilMs = Number.POSITIVE_INFINITY
  await accepted(story, 'kucoinpay')
  await story.post('cancel')
  story.expected = 'unpaid'
  const missed = ['order.pending', 'order.awaiting', 'order.cancelled']
  let failed: DeliveryView[] = []
  let pending: DeliveryView[] = []
  // order.initial may have been under way when the shop went down: then it fails later than the others
  for (let tries = 0; tries < 60 && (failed.length < missed.length || pending.length > 0); tries += 1) {
    await sleep(5 * SECOND)
    pending = await listed(story, 'pending')
    failed = await listed(story, 'failed')
  }
  const names = failed.map(({ event }) => event)
  must(
    missed.every((event) => names.includes(event)),
    `a shop that is down missed ${missed}, listed as failed are ${names}`,
  )
  await checkRecords(story, failed, kills)
  const arrived = (): number => shop.received.get(story.id)?.length ?? 0
  const before = arrived()
  await whileDown()
  must(arrived() === before, 'a webhook that failed for good is sent without being asked for')
  shop.downUntilMs = 0
  const { data: feed } = await shop.call<FeedView>('GET', '/api/next/events?limit=100')
  const fed = feed.events.filter(({ order }) => order._id === story.id).map(({ event }) => event)
  must(
    missed.every((event) => fed.includes(event)),
    `the feed of events has only ${fed}`,
  )
  const redelivered = await story.redeliver()
  must(redelivered === failed.length, `${failed.length} webhooks failed, ${redelivered} are sent again`)
}

export const receiverDown: Journey = (story) => missAndReplay(story, () => sleep(2 * MINUTE).then(() => undefined))

/** The same for hours, by jumping everyone's clock. */
export const receiverDownForHours: Journey = (story) =>
  missAndReplay(story, async () => {
    for (let half = 0; half < 6; half += 1) {
      story.world.jump(HOUR / 2)
      await sleep(5 * SECOND)
    }
  })

/** A node dies while it delivers a webhook: another one repeats it within six seconds, which the watch measures. */
export const nodeDies: Journey = async (story) => {
  const { world } = story
  const { cluster, webhooks } = world
  await story.moveToOwnShop(5050)
  const { shop } = story
  story.expected = 'unpaid'
  const nodes = cluster.size
  // the weather may kill one of them too
  if (nodes < 3) await cluster.add()
  await sleep(5 * SECOND)
  shop.answerAfterMs = 8 * SECOND
  await story.post('cancel')
  for (let tries = 0; tries < 200 && webhooks.senderOf(story.id) === null; tries += 1) await sleep(50)
  const sender = webhooks.senderOf(story.id)
  if (sender === null) throw new Broken('no node sends a webhook within ten seconds')
  const arrived = (): number =>
    shop.received.get(story.id)?.filter(({ event }) => event === 'order.cancelled').length ?? 0
  // it may still be on its way to the shop
  await sleep(SECOND)
  const before = arrived()
  cluster.kill(sender)
  shop.answerAfterMs = 0
  await sleep(20 * SECOND)
  const isAgain = arrived() > before
  if (cluster.size < nodes) await cluster.add()
  must(isAgain || world.weather.isBad, 'what a dead node was sending leaves no other node within 20 s')
}

/** The database is down for some seconds. Each node still serves its metrics, and afterwards everything continues. */
export const databaseAway: Journey = async (story) => {
  const { world } = story
  const { toAddress } = await accepted(story, 'crypto')
  world.weather.isDatabaseAway = true
  await sleep(3 * SECOND)
  world.chain.pay(toAddress ?? '', story.due)
  story.expected = 'paid'
  const seen = await readMetric(world, 'comptoir_db_pool_waiting', {})
  await sleep(3 * SECOND)
  world.weather.isDatabaseAway = false
  const { readyNodes } = world.cluster
  must(
    seen.length >= readyNodes || world.weather.isBad,
    `without the database ${seen.length} of ${readyNodes} nodes serve their metrics`,
  )
  must(await story.reaches(['PAID']), 'a payment during an outage of the database is not PAID')
}

/** 5: both chain nodes take six seconds per answer, and a batch of blocks takes longer than a lease. */
export const slowChain: Journey = async (story) => {
  const { world } = story
  const { toAddress } = await accepted(story, 'crypto')
  for (const node of world.endpoints) node.trouble = 'slow'
  await sleep(20 * SECOND)
  world.chain.pay(toAddress ?? '', story.due)
  story.expected = 'paid'
  const patienceMs = minutesToRead(world) * MINUTE
  must(await story.reaches(['PAID'], patienceMs), 'a payment on a chain that is read slowly is not PAID')
  for (const node of world.endpoints) node.trouble = 'none'
}

/** 5: both chain nodes are down. Metrics show for how long, and the wallet's channel is hidden until they are back. */
export const chainAway: Journey = async (story) => {
  const { world } = story
  const lag = (): Promise<number[]> => readMetric(world, 'comptoir_chain_lag_seconds', { chain: world.chain.chainId })
  const errors = async (): Promise<number> =>
    Math.max(...(await readMetric(world, 'comptoir_rpc_errors_total', { chain: world.chain.chainId })), 0)
  const isOffered = async (): Promise<boolean> => {
    const path = '/api/next/channels?amount=50&fromAsset=EUR'
    const { data } = await patiently(
      () => story.shop.call<{ paymentChannel: string; available: boolean }[]>('GET', path),
      ['INVALID_EXCHANGE_RATE'],
    )
    return data.some(({ paymentChannel, available }) => paymentChannel === 'crypto' && available)
  }
  const errorsBefore = await errors()
  for (const node of world.endpoints) node.trouble = 'down'
  await sleep(75 * SECOND)
  const [said, failed, offered] = [await lag(), (await errors()) - errorsBefore, await isOffered()]
  for (const node of world.endpoints) node.trouble = 'none'
  must(
    said.every((seconds) => seconds > 60) && (said.length > 0 || world.weather.isBad),
    `after 75 s without a chain, the nodes say ${said}`,
  )
  must(failed > 0 || world.weather.isBad, 'no node counts what its chain endpoints refuse')
  must(!offered, 'a wallet may pay on a chain that is not read')
  // a second question could reach another node, which keeps the old answer for up to a second
  let isBack = await isOffered()
  for (let tries = 0; tries < 30 && !isBack; tries += 1) {
    await sleep(3 * SECOND)
    isBack = await isOffered()
  }
  must(isBack, 'a chain that is back is not offered')
  // it is offered once the newest block that was read is a minute old; the next ones follow
  let since = await lag()
  for (let tries = 0; tries < 10 && Math.max(...since) >= 60; tries += 1) {
    await sleep(3 * SECOND)
    since = await lag()
  }
  must(Math.max(...since) < 60, `the lag of a chain that is back is still there: ${since}`)
  await story.post('cancel')
  story.expected = 'unpaid'
}
