import { cpus } from 'node:os'

const SAMPLE_MS = 500
const SAMPLES = 4

const readTimes = (): { idle: number; all: number } => {
  let [idle, all] = [0, 0]
  for (const { times } of cpus()) {
    idle += times.idle
    all += times.user + times.nice + times.sys + times.irq + times.idle
  }
  return { idle, all }
}

/** How busy the machine's cores are, whatever keeps them busy. */
export function watchCores(): { busy(): number; stop(): void } {
  const samples = [readTimes()]
  const timer = setInterval(() => {
    samples.push(readTimes())
    if (samples.length > SAMPLES + 1) samples.shift()
  }, SAMPLE_MS)
  return {
    /** Share of the last two seconds, 0 to 1. */
    busy() {
      const [first, last] = [samples[0], samples.at(-1)]
      const all = (last?.all ?? 0) - (first?.all ?? 0)
      return all === 0 ? 1 : 1 - ((last?.idle ?? 0) - (first?.idle ?? 0)) / all
    },
    stop: () => clearInterval(timer),
  }
}
