import { InstallationFault } from '../kernel/errors.ts'

/** One requirement of an installation. The start and `doctor` share the list. */
export type CheckResult = {
  name: string
  ok: boolean
  message: string
  /** How the operator can fix it; null if there is nothing to fix. */
  fix: string | null
}

export type Check = {
  name: string
  /** What to do when it throws something unforeseen, or hangs. */
  cure: string
  run(): Promise<Omit<CheckResult, 'name'>>
}

export const good = (message: string): Omit<CheckResult, 'name'> => ({ ok: true, message, fix: null })
export const bad = (message: string, fix: string): Omit<CheckResult, 'name'> => ({ ok: false, message, fix })

/** For a chain's endpoints. */
export const nodeFix = (chainId: number): string =>
  `Check CHAIN_${chainId}_RPC_URL: that it is a node of this chain, with its key, and that this machine may reach it.`

/** Time limit of one check: an operator, or an orchestrator, is waiting for the list. */
const CHECK_MS = 10_000

function failed(error: unknown, cure: string): Omit<CheckResult, 'name'> {
  if (error instanceof InstallationFault) return bad(error.what, error.fix)
  return bad(error instanceof Error ? error.message : String(error), cure)
}

/** Runs checks in parallel; one that throws or hangs fails with its reason and its cure. */
export const runChecks = (checks: readonly Check[], limitMs = CHECK_MS): Promise<CheckResult[]> =>
  Promise.all(
    checks.map(async ({ name, cure, run }) => {
      let timer: NodeJS.Timeout | undefined
      const late = new Promise<Omit<CheckResult, 'name'>>((resolve) => {
        timer = setTimeout(() => resolve(bad(`No answer within ${limitMs / 1000} s.`, cure)), limitMs)
      })
      const outcome = run().catch((error: unknown) => failed(error, cure))
      const result = await Promise.race([outcome, late])
      clearTimeout(timer)
      return { name, ...result }
    }),
  )

/** One result for each name, as two looks at one thing find the same fault: the first that failed, or the first. */
export function oneOfEach(results: readonly CheckResult[]): CheckResult[] {
  const found = new Map<string, CheckResult>()
  for (const result of results) {
    const known = found.get(result.name)
    if (!known || (known.ok && !result.ok)) found.set(result.name, result)
  }
  return [...found.values()]
}
