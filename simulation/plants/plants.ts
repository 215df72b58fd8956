import { registerHooks } from 'node:module'
import { MONEY } from './money.ts'
import type { Plant } from './plant.ts'
import { PROVIDERS } from './providers.ts'
import { SERVICE } from './service.ts'

export const PLANTS: readonly Plant[] = [...MONEY, ...PROVIDERS, ...SERVICE]

/** Reported when a plant no longer matches its source. */
export const NO_PLACE = 'does not hold once what the plant changes'

/** From here on modules are loaded with their fault. @throws Error when the source no longer contains a place */
export function plant(name: string): Plant {
  const found = PLANTS.find((candidate) => candidate.name === name)
  if (!found) throw new Error(`There is no plant "${name}". Plants: ${PLANTS.map((one) => one.name).join(', ')}`)
  registerHooks({
    load(url, context, nextLoad) {
      const loaded = nextLoad(url, context)
      const edits = found.edits.filter(({ file }) => url.endsWith(`/${file}`))
      if (edits.length === 0) return loaded
      let source = String(loaded.source)
      for (const { file, find, replace } of edits) {
        if (source.split(find).length !== 2) throw new Error(`${file} ${NO_PLACE}: "${find}"`)
        source = source.replace(find, () => replace)
      }
      return { ...loaded, source }
    },
  })
  return found
}
