import { parseArgs } from 'node:util'
import { processesAtMost } from './many/one-world.ts'

export const USAGE = `Runs the whole service, several nodes of it, on a clock of its own (docs/simulation.md).

  npm run simulate -- --orders 1000 --seed 7     a run; the same seed repeats it
  npm run simulate -- --plants --seed 7          every planted fault is found, and nothing else
  npm run simulate -- --orders 1000000 --seed 7 --processes auto --journal million.journal
                                                 a run of many worlds, side by side, which can be interrupted

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
  --prepared PATH
                 keeps an empty database there, from which later runs begin

  Each of these makes the run one of many worlds, each with a database, a seed and a process of its own:
  --processes N  so many worlds side by side (1); auto: as many as there are cores
  --world N      orders of one world (10000)
  --journal FILE writes down which worlds ended well; the same command goes on where it was interrupted
`

const text = { type: 'string' } as const
const flag = { type: 'boolean' } as const
const OPTIONS = {
  ...{ orders: text, seed: text, nodes: text, rate: text, plant: text, story: text, folder: text, prepared: text },
  ...{ processes: text, world: text, journal: text },
  ...{ calm: flag, each: flag, short: flag, costs: flag, plants: flag, help: flag },
}

function readNumber(name: string, value: string | undefined, byDefault: number): number {
  if (value === undefined) return byDefault
  if (/^\d{1,9}$/.test(value) && (Number(value) > 0 || name === 'seed')) return Number(value)
  throw new Error(`--${name} is a whole number${name === 'seed' ? '' : ' from 1 on'}, not "${value}".`)
}

type Values = ReturnType<typeof parse>
const parse = (args: readonly string[]) => parseArgs({ args: [...args], options: OPTIONS }).values

/** Settings that a run passes on to its worlds, in a fixed order. */
const SETTINGS = ['nodes', 'rate', 'plant', 'story', 'calm', 'short'] as const

/** Null: one world in this process. @throws Error for options that only apply to a single world */
function readMany(values: Values) {
  const { processes, world, journal } = values
  if (processes === undefined && world === undefined && journal === undefined) return null
  const alone = (['each', 'costs', 'plants'] as const).find((name) => values[name])
  if (alone) throw new Error(`--${alone} is for one world: leave out --processes, --world and --journal.`)
  return {
    journal,
    processes: processes === 'auto' ? processesAtMost() : readNumber('processes', processes, 1),
    perWorld: readNumber('world', world, 10_000),
    settings: SETTINGS.flatMap((name) => {
      const value = values[name]
      return value === undefined ? [] : [`--${name}`, ...(value === true ? [] : [String(value)])]
    }),
  }
}

/** The parsed options. @throws Error with a sentence for an option that is unknown or not a number */
export function readOptions(args: readonly string[]) {
  const values = parse(args)
  const { plant, story, folder, prepared, plants = false, help = false } = values
  return {
    ...{ plant, story, folder, prepared, plants, help },
    ...{ calm: values.calm ?? false, each: values.each ?? false },
    ...{ short: values.short ?? false, costs: values.costs ?? false },
    orders: readNumber('orders', values.orders, plants ? 1 : 200),
    seed: readNumber('seed', values.seed, Math.floor(Math.random() * 1e9)),
    nodes: readNumber('nodes', values.nodes, 2),
    rate: readNumber('rate', values.rate, 20),
    many: readMany(values),
  }
}
