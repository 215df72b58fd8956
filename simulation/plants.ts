import { registerHooks } from 'node:module'

/** A fault put into the service's source as it is loaded; the files stay as they are. */
export type Plant = {
  name: string
  /** Which case of "Money tells one story" it is, or what else it stands for. */
  fault: string
  file: string
  find: string
  replace: string
}

export const PLANTS: readonly Plant[] = [
  {
    name: 'lost-connection-ends-node',
    fault: 'a connection that breaks in the middle of a transaction ends the process',
    file: 'src/db/db.ts',
    find: "client.on('error', noteLost)",
    replace: '',
  },
  {
    name: 'event-without-webhook',
    fault: 'an event commits without its delivery',
    file: 'src/webhooks/outbox/events.ts',
    find: 'isDefault(event) || optionalEvents.includes(event)',
    replace:
      "!['order.pending', 'order.cancelled'].includes(event) && (isDefault(event) || optionalEvents.includes(event))",
  },
]

/** From here on the module is loaded with its fault. @throws Error when the source no longer holds the place */
export function plant(name: string): Plant {
  const found = PLANTS.find((one) => one.name === name)
  if (!found) throw new Error(`There is no plant "${name}". Plants: ${PLANTS.map((one) => one.name).join(', ')}`)
  registerHooks({
    load(url, context, nextLoad) {
      const loaded = nextLoad(url, context)
      if (!url.endsWith(`/${found.file}`)) return loaded
      const source = String(loaded.source)
      if (source.split(found.find).length !== 2) throw new Error(`${found.file} does not hold "${found.find}" once`)
      return { ...loaded, source: source.replace(found.find, () => found.replace) }
    },
  })
  return found
}
