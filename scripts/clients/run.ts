import { spawnSync } from 'node:child_process'

type Place = { cwd: string; env?: NodeJS.ProcessEnv | undefined }

const start = (program: string, args: readonly string[], { cwd, env }: Place) =>
  spawnSync(program, args, { cwd, encoding: 'utf8', env: { ...process.env, ...env }, maxBuffer: 64 * 1024 * 1024 })

/** Runs a program to its end; a failure carries what it printed. */
export function run(program: string, args: readonly string[], place: Place): void {
  const { status, error, stdout, stderr } = start(program, args, place)
  if (status === 0) return
  throw new Error(`${program} ${args.join(' ')}\n${error?.message ?? `${stdout}${stderr}`.trim()}`)
}

export const runs = (program: string, args: readonly string[], place: Place): boolean =>
  start(program, args, place).status === 0
