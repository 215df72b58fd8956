import { globSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { ROOT } from '../steps.ts'
import { run, runs } from './run.ts'

/** The generators, from the npm registry. */
export const PACKAGES = {
  '@apiture/openapi-down-convert': '0.14.2',
  // the newest stable release of openapi-generator with the program inside; later ones fetch it from elsewhere
  '@openapitools/openapi-generator-cli': '1.0.18-4.3.1',
  'openapi-fetch': '0.17.0',
  'openapi-typescript': '7.13.0',
  // openapi-typescript uses the compiler's API of version 5
  typescript: '5.9.3',
}

export type Language = {
  name: string
  generator: string
  compiler: string
  /** What this machine lacks, in words; `folder` has the generators. */
  missing: (folder: string) => string | undefined
  generate: (folder: string, client: string) => void
  sources: string
  compile: (client: string) => void
}

const JAR = 'node_modules/@openapitools/openapi-generator-cli/bin/openapi-generator.jar'
/** Debian keeps the sources of Go packages there. */
const GO = {
  GO111MODULE: 'off',
  GOPATH: [process.env.GOPATH, '/usr/share/gocode'].filter(Boolean).join(delimiter),
}

const USE_OF_TYPES = `import createClient from 'openapi-fetch'
import type { paths } from './api.js'

const client = createClient<paths>({ baseUrl: 'http://127.0.0.1' })
export const answer = await client.GET('/api/next/companies/{id}', { params: { path: { id: 'me' } } })
// @ts-expect-error a path that the document lacks
export const none = await client.GET('/api/next/no-such-path')
`

const typescript: Language = {
  name: 'TypeScript',
  generator: `openapi-typescript ${PACKAGES['openapi-typescript']}`,
  compiler: 'tsc --strict',
  missing: () => undefined,
  generate(folder, client) {
    run('node_modules/.bin/openapi-typescript', ['openapi.json', '-o', join(client, 'api.ts')], { cwd: folder })
    writeFileSync(join(client, 'use.mts'), USE_OF_TYPES)
  },
  sources: 'api.ts',
  compile(client) {
    const options = ['--noEmit', '--strict', '--module', 'nodenext', '--target', 'es2024', '--types', '']
    const files = ['--lib', 'es2024,dom,dom.iterable', 'use.mts', 'api.ts']
    const tsc = join(ROOT, 'node_modules/typescript-compiler/bin/tsc')
    run(process.execPath, [tsc, ...options, ...files], { cwd: client })
  },
}

/** A language of openapi-generator, which runs on Java and reads OpenAPI 3.0. */
function byOpenApiGenerator(target: string, own: Omit<Language, 'generator' | 'generate'>): Language {
  return {
    ...own,
    generator: `openapi-generator 4.3.1 (${target})`,
    missing: (folder) =>
      runs('java', ['-version'], { cwd: folder })
        ? own.missing(folder)
        : 'no java, on which the generator runs (Debian: default-jre-headless)',
    generate(folder, client) {
      const files = ['-i', 'openapi-3.0.json', '-o', client]
      run('java', ['-Xmx700m', '-jar', JAR, 'generate', '-g', target, ...files], { cwd: folder })
    },
  }
}

const go = byOpenApiGenerator('go-experimental', {
  name: 'Go',
  compiler: 'go build',
  missing(folder) {
    if (!runs('go', ['version'], { cwd: folder })) return 'no go (Debian: golang-go)'
    if (runs('go', ['list', 'golang.org/x/oauth2'], { cwd: folder, env: GO })) return undefined
    return 'no golang.org/x/oauth2, which the client imports (Debian: golang-golang-x-oauth2-dev)'
  },
  sources: '*.go',
  compile: (client) => run('go', ['build', '-gcflags=-e', '.'], { cwd: client, env: GO }),
})

const php = byOpenApiGenerator('php', {
  name: 'PHP',
  compiler: 'php -l',
  missing: (folder) => (runs('php', ['--version'], { cwd: folder }) ? undefined : 'no php (Debian: php-cli)'),
  sources: 'lib/**/*.php',
  compile(client) {
    for (const file of globSync('lib/**/*.php', { cwd: client })) run('php', ['-l', file], { cwd: client })
  },
})

const python = byOpenApiGenerator('python', {
  name: 'Python',
  compiler: 'python3 -m compileall',
  missing: (folder) => (runs('python3', ['--version'], { cwd: folder }) ? undefined : 'no python3 (Debian: python3)'),
  sources: 'openapi_client/**/*.py',
  compile: (client) => run('python3', ['-m', 'compileall', '-q', 'openapi_client'], { cwd: client }),
})

export const LANGUAGES = [typescript, go, php, python]
