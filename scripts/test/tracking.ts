import { type AsyncHook, createHook } from 'node:async_hooks'

/*
 * node:test follows every promise and socket from its creation to its end, a fifth of a test's processor time. It needs
 * that while a file is loaded, to know to which test its tests belong; afterwards only to name the test in which an
 * uncaught error arose, which ends the process here.
 * Source: setupProcessState and runInParentContext in Node's lib/internal/test_runner/harness.js.
 */
const hooks = Object.getPrototypeOf(createHook({})) as AsyncHook
const { enable } = hooks
let tracking: AsyncHook | undefined

// the first hook that is enabled from now on is the one of node:test
hooks.enable = function keep(this: AsyncHook) {
  tracking = this
  hooks.enable = enable
  return enable.call(this)
}

/** To be called before the test is made that stands for a file. */
export function trackTests(): void {
  tracking?.enable()
}

/** Loads a file of tests, which belong to the test that runs; follows nothing from then on. */
export async function loadTracked(load: () => Promise<unknown>): Promise<void> {
  try {
    await load()
  } finally {
    tracking?.disable()
  }
}
