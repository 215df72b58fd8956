import { count, type World } from './world/world.ts'

const SECOND = 1000
const MINUTE = 60 * SECOND
const RESTART_MS = 3 * SECOND

/** Blocks, one a second. */
export function mineForever({ scheduler, chain }: Pick<World, 'scheduler' | 'chain'>): void {
  scheduler.after(
    SECOND,
    () => {
      chain.mine()
      mineForever({ scheduler, chain })
    },
    null,
  )
}

/** Half of the time only nodes and blocks are lost, so that promptness can be required. */
async function changeNoise({ weather, scheduler, random }: World): Promise<void> {
  for (;;) {
    weather.isNoisy = weather.isBad && !weather.isNoisy
    await scheduler.sleep((30 + random.next() * 90) * SECOND)
  }
}

/** While the weather is bad, nodes die, the chain is reorganised, and shops' servers are down. */
export function makeWeather(world: World): void {
  const { scheduler, random, cluster, chain } = world
  const wait = (meanMs: number): Promise<void> => scheduler.sleep(-Math.log(1 - random.next()) * meanMs)
  const often = async (meanMs: number, work: () => Promise<void> | void): Promise<void> => {
    for (;;) {
      await wait(meanMs)
      if (world.weather.isBad) await work()
    }
  }
  void changeNoise(world)
  void often(2 * MINUTE, async () => {
    const name = cluster.kill()
    await wait(RESTART_MS)
    // the same machine again, or another one
    await cluster.add(random.chance(0.5) ? name : undefined)
  })
  void often(MINUTE, () => {
    count(world, 'reorganisations')
    for (const lost of chain.reorganise(1 + random.below(2), 0.3)) {
      const isSentAgain = !chain.careless.has(lost.hash) || random.chance(0.9)
      if (isSentAgain) scheduler.after(random.next() * 30 * SECOND, () => chain.resend(lost), null)
      else chain.abandoned.add(lost.to)
    }
  })
  void often(MINUTE, () => {
    const node = random.pick(world.endpoints)
    node.lag = random.below(3)
  })
  void often(MINUTE, () => {
    random.pick(world.shops.slice(-8)).downUntilMs = scheduler.nowMs + random.next() * 20 * SECOND
  })
}
