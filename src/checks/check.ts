/** One requirement of an installation. The start and `doctor` share the list. */
export type CheckResult = {
  name: string
  ok: boolean
  message: string
  /** How the operator can fix it; null if there is nothing to fix. */
  fix: string | null
}

export type Check = { name: string; run(): Promise<Omit<CheckResult, 'name'>> }

export const good = (message: string): Omit<CheckResult, 'name'> => ({ ok: true, message, fix: null })
export const bad = (message: string, fix: string): Omit<CheckResult, 'name'> => ({ ok: false, message, fix })

/** Time limit of one check: an operator, or an orchestrator, is waiting for the list. */
const CHECK_MS = 10_000

/** Runs checks in parallel; one that throws or hangs fails with its reason. */
export const runChecks = (checks: readonly Check[], limitMs = CHECK_MS): Promise<CheckResult[]> =>
  Promise.all(
    checks.map(async ({ name, run }) => {
      let timer: NodeJS.Timeout | undefined
      const late = new Promise<Omit<CheckResult, 'name'>>((resolve) => {
        timer = setTimeout(
          () => resolve(bad(`No answer within ${limitMs / 1000} s.`, 'Look whether it runs.')),
          limitMs,
        )
      })
      const outcome = run().catch((error: unknown) =>
        bad(error instanceof Error ? error.message : String(error), 'See the message.'),
      )
      const result = await Promise.race([outcome, late])
      clearTimeout(timer)
      return { name, ...result }
    }),
  )
