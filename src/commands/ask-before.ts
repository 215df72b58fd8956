import { createInterface } from 'node:readline/promises'

/** @throws Error unless the person answers yes; without a terminal only --yes counts */
export async function askBefore({ yes }: { yes: boolean }, what: string): Promise<void> {
  if (yes) return
  if (!process.stdin.isTTY) throw new Error(`${what} Nothing was done: add --yes to skip the question.`)
  const terminal = createInterface({ input: process.stdin, output: process.stderr })
  const answer = await terminal.question(`${what} Type yes to go on: `)
  terminal.close()
  if (answer.trim().toLowerCase() !== 'yes') throw new Error('Nothing was done.')
}
