import type { World } from './world.ts'

const LINE = /^(comptoir_\w+)(?:\{(.*)\})? (\S+)$/

/** A metric on each node's `/metrics`, summed over the series with these labels. */
export async function readMetric(
  { cluster }: Pick<World, 'cluster'>,
  name: string,
  labels: Readonly<Record<string, string | number>>,
): Promise<number[]> {
  const url = new URL('http://pay.example/metrics')
  const pages = await cluster.serveEach({ method: 'GET', url, headers: {}, body: '' })
  const wanted = Object.entries(labels).map(([label, value]) => `${label}="${value}"`)
  return pages.flatMap(({ body }) => {
    const values = body.split('\n').flatMap((line) => {
      const [, found, given = '', value] = LINE.exec(line) ?? []
      return found === name && wanted.every((label) => given.split(',').includes(label)) ? [Number(value)] : []
    })
    return values.length === 0 ? [] : [values.reduce((sum, value) => sum + value, 0)]
  })
}
