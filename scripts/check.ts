import { runLint, runTypes } from './steps.ts'

const totals = [await runTypes(), await runLint()]
process.exitCode = totals.some((step) => step.failed > 0) ? 1 : 0
