/** One thing that an installation needs. The start and `doctor` look at the same list. */
export type CheckResult = {
  name: string
  ok: boolean
  message: string
  /** What the operator does about it; null when there is nothing to do. */
  fix: string | null
}

export type Check = { name: string; run(): Promise<Omit<CheckResult, 'name'>> }

export const good = (message: string): Omit<CheckResult, 'name'> => ({ ok: true, message, fix: null })
export const bad = (message: string, fix: string): Omit<CheckResult, 'name'> => ({ ok: false, message, fix })

/** As long as one check may take: an operator waits for the list, and so does an orchestrator. */
const CHECK_MS = 10_000

/** Runs checks side by side; one that throws or hangs has failed with its reason. */
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
