import { spawnSync } from 'node:child_process'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/* Writes dist/esm and dist/cjs, each with its types. Run by `npm pack`, from a checkout that has run `npm ci`. */
const root = import.meta.dirname ?? new URL('.', import.meta.url).pathname
const tsc = join(root, '../node_modules/typescript-compiler/bin/tsc')
const common = ['--target', 'es2022', '--lib', 'es2022,dom,dom.iterable,dom.asynciterable', '--declaration', '--strict']
const paths = ['--rootDir', root, '--rewriteRelativeImportExtensions', '--skipLibCheck', '--types', '']
rmSync(join(root, 'dist'), { recursive: true, force: true })
for (const [kind, module, resolution, type] of [
  ['esm', 'esnext', 'bundler', 'module'],
  ['cjs', 'commonjs', 'bundler', 'commonjs'],
]) {
  const outDir = join(root, 'dist', kind)
  mkdirSync(outDir, { recursive: true })
  const args = [...common, ...paths, '--module', module, '--moduleResolution', resolution, '--outDir', outDir]
  const done = spawnSync(process.execPath, [tsc, '--ignoreConfig', ...args, join(root, 'index.ts')], {
    stdio: 'inherit',
  })
  if (done.status !== 0) process.exit(1)
  writeFileSync(join(outDir, 'package.json'), `${JSON.stringify({ type }, null, 2)}\n`)
}
