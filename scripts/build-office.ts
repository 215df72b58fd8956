import { writeFileSync } from 'node:fs'
import tailwindcss from '@tailwindcss/vite'
import { build } from 'vite'
import { writeApiTypes } from './office-api.ts'
import { hashSources, OFFICE, SOURCES_FILE } from './office-sources.ts'

/*
 * npm run build:office    builds web/office/dist, which is kept in git: a production install has no build tools.
 * `test/tidy.test.ts` compares the hash of the sources with the one that is written beside the built files.
 */

async function main(): Promise<void> {
  await writeApiTypes()
  await build({
    configFile: false,
    root: OFFICE,
    base: '/app/',
    plugins: [tailwindcss()],
    publicDir: false,
    build: {
      target: ['chrome123', 'firefox121', 'safari17.5'],
      modulePreload: { polyfill: false },
      emptyOutDir: true,
      assetsInlineLimit: 0,
      rolldownOptions: {
        // react packages mark client modules for server rendering, which this is not
        onwarn: (warning, warn) => warning.code !== 'MODULE_LEVEL_DIRECTIVE' && warn(warning),
        output: {
          entryFileNames: 'assets/[name]-[hash].js',
          chunkFileNames: 'assets/[name]-[hash].js',
          assetFileNames: 'assets/[name]-[hash][extname]',
        },
      },
    },
  })
  writeFileSync(SOURCES_FILE, `${hashSources()}\n`)
}

if (process.argv[1] === import.meta.filename) await main()
