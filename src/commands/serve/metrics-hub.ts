import type { Worker } from 'node:cluster'
import { type FromChild, sendTo } from './messages.ts'

/** Metrics of all processes as one text. Each series has the label `process`. */
export type MetricsHub = {
  read(): Promise<string>
  take(message: Extract<FromChild, { kind: 'metrics' }>): void
}

/** Longer than a process waits for its database, and shorter than a scrape may take (Prometheus: 10 s). */
const WAIT_MS = 8000

/**
 * Merges texts in Prometheus' format: the lines of one metric are grouped, and described once. Source:
 * prometheus.io/docs/instrumenting/exposition_formats, "Grouping and sorting".
 */
export function joinMetrics(texts: readonly string[]): string {
  const groups = new Map<string, { head: string[]; samples: string[] }>()
  for (const text of texts) {
    let group = { head: [] as string[], samples: [] as string[] }
    for (const line of text.split('\n')) {
      const name = /^# (?:HELP|TYPE) (\S+)/.exec(line)?.[1]
      if (name !== undefined) {
        group = groups.get(name) ?? { head: [], samples: [] }
        groups.set(name, group)
        if (!group.head.includes(line)) group.head.push(line)
      } else if (line !== '') group.samples.push(line)
    }
  }
  return `${[...groups.values()].map(({ head, samples }) => [...head, ...samples].join('\n')).join('\n\n')}\n`
}

/** @param list the processes to scrape; one that does not answer in time is left out */
export function openMetricsHub(list: () => readonly { worker: Worker }[]): MetricsHub {
  const waiting = new Map<number, (text: string) => void>()
  let last = 0
  const ask = (worker: Worker): Promise<string> =>
    new Promise((resolve) => {
      last += 1
      const id = last
      const done = (text: string): void => {
        clearTimeout(timer)
        waiting.delete(id)
        resolve(text)
      }
      const timer = setTimeout(() => done(''), WAIT_MS)
      waiting.set(id, done)
      sendTo(worker, { kind: 'metrics', id }, () => done(''))
    })
  return {
    read: async () => joinMetrics(await Promise.all(list().map(({ worker }) => ask(worker)))),
    take: ({ id, text }) => waiting.get(id)?.(text),
  }
}
