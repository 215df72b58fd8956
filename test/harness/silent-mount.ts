import { setTimeout as sleep } from 'node:timers/promises'
import { mountOf } from '../../src/kernel/process/mount.ts'

/** The place does not answer from now on, as a hard mount whose server is gone. @returns brings it back */
export async function silence(place: string): Promise<() => Promise<void>> {
  let wakeUp = (): void => {}
  const hung = new Promise<void>((resolve) => {
    wakeUp = resolve
  })
  await mountOf(place)
    .call(() => hung, 1)
    .catch(() => {})
  return async () => {
    wakeUp()
    await sleep(1)
  }
}
