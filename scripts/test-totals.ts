import type { TestEvent } from 'node:test/reporters'

/** A reporter for `node --test` that writes nothing but the totals of the whole run, as JSON. */
export default async function* totals(source: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  for await (const event of source) {
    if (event.type === 'test:summary' && event.data.file === undefined) yield JSON.stringify(event.data.counts)
  }
}
