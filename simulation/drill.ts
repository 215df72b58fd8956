import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import type { Plant } from './plants/plant.ts'
import { NO_PLACE, PLANTS } from './plants/plants.ts'

const MAIN = join(import.meta.dirname, 'main.ts')
const AT_ONCE = 2

async function run(options: readonly string[]): Promise<{ code: number; words: string; seconds: number }> {
  const startedAt = performance.now()
  const child = spawn(process.execPath, [...process.execArgv, MAIN, '--rate', '2', ...options])
  let words = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (words += String(chunk)))
  const [code] = (await once(child, 'close')) as [number]
  return { code, words, seconds: Math.round((performance.now() - startedAt) / 1000) }
}

/** The output lines that name the fault. */
const faultIn = (words: string): string => {
  const lines = words.split('\n').filter((line) => /^(Broken: | {2}- |Error: )/.test(line))
  return (lines[0] ?? words.trim().split('\n').at(-1) ?? '').replace(/^(Error: )?(Broken: | {2}- )/, '')
}

/**
 * Runs every story without a fault, and then plants every fault in turn: each must be found, and nothing else.
 * @param only these plants, and no run without one; empty: all
 * @returns whether that holds
 */
export async function drill(
  { seed, orders, only }: { seed: number; orders: number; only: readonly string[] },
  say: (line: string) => void,
): Promise<boolean> {
  const told = ['--seed', String(seed), '--orders', String(orders)]
  let isGood = true
  const note = (isRight: boolean, line: string): void => {
    isGood &&= isRight
    say(`${isRight ? '✔' : '✖'} ${line}`)
  }
  const tryEach = async (): Promise<void> => {
    const { code, words, seconds } = await run([...told, '--each', '--calm', '--nodes', '2'])
    note(code === 0, `every story without a plant, ${seconds} s: ${code === 0 ? 'nothing is wrong' : faultIn(words)}`)
  }
  const tryPlant = async ({ name, number, story, needsFaults, nodes = 2, times }: Plant): Promise<void> => {
    const weather = [...(needsFaults ? [] : ['--calm']), ...(times === undefined ? [] : ['--orders', String(times)])]
    const { code, words, seconds } = await run([...told, '--nodes', String(nodes), '--plant', name, ...weather])
    // a plant whose place in the source is gone fails too, and proves nothing
    const isFound = code === 1 && !words.includes(NO_PLACE)
    const result = code === 1 ? faultIn(words) : 'NOT FOUND'
    note(isFound, `${number} ${name} (${story}), ${seconds} s: ${result}`)
  }
  const chosen = only.length === 0 ? PLANTS : PLANTS.filter(({ name }) => only.includes(name))
  const tasks = [...(only.length === 0 ? [tryEach] : []), ...chosen.map((plant) => () => tryPlant(plant))]
  const work = async (): Promise<void> => {
    for (let task = tasks.shift(); task; task = tasks.shift()) await task()
  }
  await Promise.all(Array.from({ length: AT_ONCE }, work))
  return isGood
}
