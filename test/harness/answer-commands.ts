import { inspect } from 'node:util'

/** A command as it is typed. `input`: what it reads from its standard input. */
export type WantedCommand = { args: readonly string[]; env: Record<string, string>; cwd: string; input?: string }

const exit = process.exit.bind(process)

/**
 * Answers each command that the parent sends with its exit code and what it wrote, one after another.
 * @param run returns the exit code; `turn` counts the commands
 */
export function answerCommands(run: (wanted: WantedCommand, turn: number) => Promise<number>): void {
  let [out, err, turn] = ['', '', 0]
  process.stdout.write = (text: string | Uint8Array): boolean => {
    out += String(text)
    return true
  }
  process.stderr.write = (text: string | Uint8Array): boolean => {
    err += String(text)
    return true
  }
  process.on('disconnect', () => exit(0))
  process.on('message', async (wanted: WantedCommand) => {
    ;[out, err, turn] = ['', '', turn + 1]
    process.env = wanted.env
    process.chdir(wanted.cwd)
    const code = await run(wanted, turn).catch((error: unknown) => {
      err += inspect(error)
      return null
    })
    process.send?.({ code, out, err })
  })
}
