import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { PLANTS } from './plants.ts'

/** It turns the clock of everyone, so it is told alone. */
const ALONE = 'takenBack'

const MAIN = join(import.meta.dirname, 'main.ts')

async function run(options: readonly string[]): Promise<{ code: number; words: string }> {
  const child = spawn(process.execPath, [MAIN, '--nodes', '2', '--rate', '2', ...options])
  let words = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (words += String(chunk)))
  const [code] = (await once(child, 'close')) as [number]
  return { code, words }
}

/** The lines that say what is wrong. */
const faultIn = (words: string): string => {
  const lines = words.split('\n').filter((line) => /^(Broken: | {2}- |Error: )/.test(line))
  return (lines[0] ?? words.trim().split('\n').at(-1) ?? '').replace(/^(Broken: | {2}- )/, '')
}

/**
 * Plants every fault in turn, and tells the same stories without any: each must be found, and nothing else.
 * @returns whether it is so
 */
export async function drill(seed: number, orders: number, say: (line: string) => void): Promise<boolean> {
  let isGood = true
  const note = (isRight: boolean, line: string): void => {
    isGood &&= isRight
    say(`${isRight ? '✔' : '✖'} ${line}`)
  }
  const optionsOf = (story: string): string[] => {
    const told = story === ALONE ? 1 : orders
    return ['--seed', String(seed), '--orders', String(told)]
  }
  for (const story of new Set(PLANTS.map((plant) => plant.story))) {
    const { code, words } = await run([...optionsOf(story), '--calm', '--story', story])
    note(code === 0, `${story}: ${code === 0 ? 'nothing is wrong without a plant' : faultIn(words)}`)
  }
  for (const { name, number, story, needsFaults } of PLANTS) {
    const weather = needsFaults ? [] : ['--calm']
    const { code, words } = await run([...optionsOf(story), ...weather, '--plant', name])
    note(code === 1, `${number} ${name} (${story}): ${code === 1 ? faultIn(words) : 'NOT FOUND'}`)
  }
  return isGood
}
