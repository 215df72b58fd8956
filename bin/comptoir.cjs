#!/usr/bin/env node
// biome-ignore-all lint/style/useNodejsImportProtocol: Node before 14.18 does not know the prefix
'use strict'

/*
 * The one way in. Plain CommonJS, so that any Node from 14 can run it and reach the Node that Comptoir needs.
 *   node bin/comptoir.cjs serve | migrate | admin | doctor | sandbox …     runs src/main.ts
 *   node bin/comptoir.cjs orders | listen | trigger | explain …             runs cli/entry.ts
 *   node bin/comptoir.cjs --run scripts/x.ts …                             runs that file
 */
const childProcess = require('child_process')
const fs = require('fs')
const nodeModule = require('module')
const os = require('os')
const path = require('path')
const tty = require('tty')
const url = require('url')
/** These speak HTTP to any instance; all others are the service's own. */
const { developer } = require('./commands.json')

const ROOT = path.join(__dirname, '..')
const MAIN = path.join(ROOT, 'src', 'main.ts')
const DEVELOPER = path.join(ROOT, 'cli', 'entry.ts')
const NEEDED = [24, 12]
const ORPHAN_CHECK_MS = 250
const ORPHAN_GRACE_MS = 1000

/*
 * What keeps the service small: short-lived objects get 12 MB instead of 48 (nothing that a request makes lives long),
 * and glibc gives memory back instead of keeping a heap for each thread (mallopt(3)). Measured in docs/benchmarks.md;
 * values that are set already, and a --max-semi-space-size in NODE_OPTIONS, stay as they are.
 */
const SMALL_ENV = { MALLOC_ARENA_MAX: '1', MALLOC_MMAP_THRESHOLD_: '65536', MALLOC_TRIM_THRESHOLD_: '131072' }
const SMALL_FLAGS = /max.semi.space.size/.test(process.env.NODE_OPTIONS || '') ? [] : ['--max-semi-space-size=4']

/** Compiled code, so that every start but the first skips reading and compiling TypeScript; about a second. */
const COMPILED = path.join(ROOT, 'node_modules', '.cache', 'comptoir')
const CACHE_ENV = { NODE_COMPILE_CACHE: COMPILED }

function isNewEnough(version) {
  const [major, minor] = version.replace(/^v/, '').split('.').map(Number)
  return major > NEEDED[0] || (major === NEEDED[0] && minor >= NEEDED[1])
}

function readCommand(argv) {
  if (developer.includes(argv[0])) return { entry: DEVELOPER, args: argv }
  if (argv[0] !== '--run') return { entry: MAIN, args: argv }
  if (argv[1] === undefined) fail('--run needs the path of a script, for example: --run scripts/check.ts')
  const entry = path.resolve(ROOT, argv[1])
  if (!fs.existsSync(entry))
    fail(`${argv[1]} is not here: this command needs a checkout, and a release holds only the service.`)
  return { entry, args: argv.slice(2) }
}

function fail(...lines) {
  for (const line of lines) process.stderr.write(`${line}\n`)
  process.exit(1)
}

/**
 * The command that starts the pinned Node, tried out once. On Linux `setpriv` (util-linux) makes the kernel end the
 * child when this launcher is killed; where it is missing or another tool of that name, Node is started plainly.
 */
function findPinnedNode() {
  const candidates = [
    path.join(ROOT, 'node_modules', '.bin', 'node'),
    path.join(ROOT, 'node_modules', `node-linux-${process.arch}`, 'bin', 'node'),
  ]
  for (const node of candidates.filter((file) => fs.existsSync(file))) {
    for (const command of [['setpriv', '--pdeathsig', 'KILL', node], [node]]) {
      const probe = childProcess.spawnSync(command[0], [...command.slice(1), '--version'], { encoding: 'utf8' })
      if (probe.status === 0 && isNewEnough(probe.stdout.trim())) return command
    }
  }
  return undefined
}

/** Name and parent of a process; undefined where /proc does not exist, or the process. Source: proc_pid_stat(5). */
function readStat(pid) {
  try {
    const stat = fs.readFileSync(`/proc/${pid}/stat`, 'utf8')
    const nameEnd = stat.lastIndexOf(')')
    return { name: stat.slice(stat.indexOf('(') + 1, nameEnd), parent: Number(stat.slice(nameEnd + 2).split(' ')[1]) }
  } catch {
    return undefined
  }
}

/** npm that is killed with -9 tells nobody; but then its child, which is this process or the shell above it, moves. */
function whenNpmDies(action) {
  if (process.env.npm_lifecycle_event === undefined) return
  const shell = process.ppid
  const isShell = /^(ba|da|a|z|k)?sh$/.test((readStat(shell) || { name: '' }).name)
  const findNpm = () => (isShell ? (readStat(shell) || { parent: 0 }).parent : process.ppid)
  const npm = findNpm()
  const timer = setInterval(() => {
    if (findNpm() === npm) return
    clearInterval(timer)
    action()
  }, ORPHAN_CHECK_MS)
  timer.unref()
}

/** Only the service is kept small; scripts and one-off commands run as Node is. */
const isService = (entry, args) => entry === MAIN && (args[0] === undefined || args[0] === 'serve')

/** The same process begins anew with what keeps it small: memory settings are read at the start alone. */
function beginSmall() {
  if (process.platform !== 'linux' || !process.execve || process.env.MALLOC_ARENA_MAX !== undefined) return
  const command = [process.execPath, ...process.execArgv, ...SMALL_FLAGS, __filename, ...process.argv.slice(2)]
  process.execve(process.execPath, command, { ...SMALL_ENV, ...process.env })
}

/**
 * The first process of a container has no default action: a stop before the program listens would not be heard, and the
 * container be killed at the end of its patience. Source: pid_namespaces(7).
 */
function endUntilHeard(signal) {
  if (process.pid !== 1) return
  const end = () => process.exit(128 + os.constants.signals[signal])
  process.on(signal, end)
  process.on('newListener', function hand(name, listener) {
    if (name !== signal || listener === end) return
    process.removeListener('newListener', hand)
    process.removeListener(signal, end)
  })
}

function runHere(entry, args) {
  for (const signal of ['SIGTERM', 'SIGINT']) endUntilHeard(signal)
  if (isService(entry, args)) beginSmall()
  // what it starts inherits the place
  process.env.NODE_COMPILE_CACHE = process.env.NODE_COMPILE_CACHE || COMPILED
  if (nodeModule.enableCompileCache) nodeModule.enableCompileCache(process.env.NODE_COMPILE_CACHE)
  process.argv = [process.execPath, entry, ...args]
  whenNpmDies(() => {
    process.kill(process.pid, 'SIGTERM')
    setTimeout(() => process.kill(process.pid, 'SIGKILL'), ORPHAN_GRACE_MS).unref()
  })
  import(url.pathToFileURL(entry).href).catch((error) => {
    console.error(error)
    process.exit(1)
  })
}

function runWith(command, entry, args) {
  const small = isService(entry, args)
  const nodeArgs = [...(small ? SMALL_FLAGS : []), entry, ...args]
  const env = { ...(small ? SMALL_ENV : {}), ...CACHE_ENV, ...process.env }
  const child = childProcess.spawn(command[0], [...command.slice(1), ...nodeArgs], { env, stdio: 'inherit' })
  const send = (signal) => child.exitCode === null && child.signalCode === null && child.kill(signal)
  for (const signal of ['SIGTERM', 'SIGHUP', 'SIGUSR2']) process.on(signal, () => send(signal))
  // A terminal sends Ctrl-C and Ctrl-\ to the child as well; a second copy could be taken for impatience.
  for (const signal of ['SIGINT', 'SIGQUIT']) process.on(signal, () => tty.isatty(0) || send(signal))
  whenNpmDies(() => {
    send('SIGTERM')
    setTimeout(() => send('SIGKILL'), ORPHAN_GRACE_MS)
  })
  child.on('error', (error) => fail(`Comptoir could not start ${command.join(' ')}: ${error.message}`))
  child.on('exit', (code, signal) => {
    if (signal === null) process.exit(code)
    for (const name of Object.keys(os.constants.signals)) process.removeAllListeners(name)
    process.kill(process.pid, signal)
    setTimeout(() => process.exit(128 + os.constants.signals[signal]), 100)
  })
}

const { entry, args } = readCommand(process.argv.slice(2))
if (isNewEnough(process.version)) {
  runHere(entry, args)
} else {
  const command = findPinnedNode()
  if (command === undefined) {
    fail(
      `Comptoir needs Node ${NEEDED.join('.')} or newer; this is Node ${process.version.slice(1)} on ${process.platform}-${process.arch}.`,
      'Run "npm ci" here (on Linux x64 and arm64 it brings Node 24 along), or install Node 24 from https://nodejs.org/en/download.',
    )
  }
  runWith(command, entry, args)
}
