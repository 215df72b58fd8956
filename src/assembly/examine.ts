import { type CheckResult, oneOfEach, runChecks } from '../checks/check.ts'
import { connectionChecks, outsideChecks } from '../checks/installation-checks.ts'
import type { ServiceBase } from './service-base.ts'

/** What the System page shows: this node's own checks, and those of `doctor` that concern a running service. */
export const openExamine =
  ({ config, backups }: ServiceBase, own: readonly (() => Promise<CheckResult[]>)[]) =>
  async (): Promise<CheckResult[]> => {
    const results: CheckResult[] = []
    for (const check of own) results.push(...(await check()))
    results.push(...(await runChecks([...outsideChecks(config, backups), ...connectionChecks(config)])))
    return oneOfEach(results)
  }
