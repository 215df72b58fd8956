import { parseArgs } from 'node:util'

export const USAGE = `Runs the whole service, several nodes of it, on a clock of its own (docs/simulation.md).

  npm run simulate -- --orders 1000 --seed 7     a run; the same seed repeats it
  npm run simulate -- --plants --seed 7          every planted fault is found, and nothing else

  --orders N     orders of the run (200); of a drill, tellings of each story (1)
  --seed N       by default a random one, which is printed
  --nodes N      nodes of the service (2)
  --rate N       orders a virtual second (20)
  --calm         no faults of network, database or nodes
  --story NAME   only this story
  --each         every story, as many times as there are orders
  --short        no story that waits for an order's end
  --plant NAME   the run with this fault, or the drill of these (comma list)
  --plants       the drill
  --costs        prints the statements that took most time
  --folder PATH  keeps the database there
`

const text = { type: 'string' } as const
const flag = { type: 'boolean' } as const
const OPTIONS = {
  ...{ orders: text, seed: text, nodes: text, rate: text, plant: text, story: text, folder: text },
  ...{ calm: flag, each: flag, short: flag, costs: flag, plants: flag, help: flag },
}

function readNumber(name: string, value: string | undefined, byDefault: number): number {
  if (value === undefined) return byDefault
  if (/^\d{1,9}$/.test(value) && (Number(value) > 0 || name === 'seed')) return Number(value)
  throw new Error(`--${name} is a whole number${name === 'seed' ? '' : ' from 1 on'}, not "${value}".`)
}

/** What the command was asked for. @throws Error with a sentence for an option that is unknown or no number */
export function readOptions(args: readonly string[]) {
  const { values } = parseArgs({ args: [...args], options: OPTIONS })
  const { plant, story, folder, plants = false, help = false } = values
  return {
    ...{ plant, story, folder, plants, help },
    ...{ calm: values.calm ?? false, each: values.each ?? false },
    ...{ short: values.short ?? false, costs: values.costs ?? false },
    orders: readNumber('orders', values.orders, plants ? 1 : 200),
    seed: readNumber('seed', values.seed, Math.floor(Math.random() * 1e9)),
    nodes: readNumber('nodes', values.nodes, 2),
    rate: readNumber('rate', values.rate, 20),
  }
}
