import { mkdirSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { pathToFileURL } from 'node:url'
import { build, type Plugin } from 'vite'
import { SOURCES } from '../../test/harness/programs.ts'
import { ROOT } from '../steps.ts'

/*
 * The programs that tests start again and again, each in few files: reading two thousand is most of what a start takes.
 *   node scripts/test/bundle.ts <folder>     the folder lies below node_modules, where packages are found
 * Tests of the launcher, of packages and of upgrades start the sources themselves.
 */

/** They look for files beside their own, or are compiled for this machine. */
const APART = ['@napi-rs/image', '@node-rs/argon2', '@scalar/fastify-api-reference', 'pino']

/** How a program names another one that it starts. */
const STARTED =
  /join\(import\.meta\.dirname, ["']([^"']+\.ts)["']\)|new URL\(["']([^"']+\.ts)["'], import\.meta\.url\)/g

/** A module keeps the place that it has in the sources: it finds its own files there, but starts what is built. */
const keepPlaces = (folder: string): Plugin => ({
  name: 'keep-places',
  transform(code, id) {
    if (!id.startsWith(ROOT) || !code.includes('import.meta.')) return null
    const started = (found: string, path?: string, address?: string): string => {
      const file = relative(ROOT, join(dirname(id), path ?? address ?? ''))
      const [name] = Object.entries(SOURCES).find(([, source]) => source === file) ?? []
      if (name === undefined) return found
      const built = join(folder, `${name}.mjs`)
      return path === undefined ? `new URL(${JSON.stringify(pathToFileURL(built).href)})` : JSON.stringify(built)
    }
    return (
      code
        .replaceAll(STARTED, started)
        // a module that a bundle imports is not the program, even where it can run as one
        .replaceAll('import.meta.main', 'false')
        .replaceAll('import.meta.dirname', JSON.stringify(dirname(id)))
        .replaceAll('import.meta.filename', JSON.stringify(id))
        .replaceAll('import.meta.url', JSON.stringify(pathToFileURL(id).href))
    )
  },
})

async function main(folder: string): Promise<void> {
  mkdirSync(folder, { recursive: true })
  await build({
    configFile: false,
    logLevel: 'error',
    root: ROOT,
    publicDir: false,
    plugins: [keepPlaces(folder)],
    ssr: { noExternal: true, external: APART },
    build: {
      ssr: true,
      target: 'node24',
      outDir: folder,
      emptyOutDir: false,
      minify: false,
      rolldownOptions: {
        input: Object.fromEntries(Object.entries(SOURCES).map(([name, file]) => [name, join(ROOT, file)])),
        output: { entryFileNames: '[name].mjs', chunkFileNames: '[name]-[hash].mjs' },
      },
    },
  })
}

await main(process.argv[2] ?? '')
