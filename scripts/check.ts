import { checkLint, checkTypes } from './steps.ts'

for (const [name, check] of [
  ['types', checkTypes],
  ['lint and format', checkLint],
] as const) {
  const { failures } = await check()
  console.log(failures.length === 0 ? `✔ ${name}` : `✖ ${name}\n${failures[0]?.error}`)
  if (failures.length > 0) process.exitCode = 1
}
