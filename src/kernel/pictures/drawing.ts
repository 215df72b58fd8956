import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { SECOND } from '../clock.ts'
import { AppError } from '../errors.ts'

type Size = { width: number; height: number }
export type Drawing = { size: Size; box: Size }

/** The exit code for a picture that cannot be read, or is another one than its header says. */
export const UNREADABLE = 3
export const DRAWING_MS = 10 * SECOND
/** One is drawn, the others wait. */
const PLACES = 3

const PROGRAM = fileURLToPath(new URL('./drawing-process.ts', import.meta.url))

let taken = 0
let last: Promise<unknown> = Promise.resolve()

/**
 * Draws a picture again in a process of its own, which may use little memory and little time: a decoder reads a
 * stranger's file by its own rules, and the threads of this process are needed for logins. One at a time on a node.
 * @returns null when it cannot be read within these limits
 * @throws BUSY, also when the machine has no process or descriptor left for it
 */
export async function drawApart(bytes: Buffer, drawing: Drawing): Promise<Buffer | null> {
  if (taken >= PLACES) throw new AppError('BUSY', { retryAfter: 5 })
  taken += 1
  const turn = last.then(() => draw(bytes, drawing))
  last = turn.catch(() => {})
  return turn.finally(() => {
    taken -= 1
  })
}

function draw(bytes: Buffer, { size, box }: Drawing): Promise<Buffer | null> {
  return new Promise((resolve, reject) => {
    const args = [PROGRAM, ...[size.width, size.height, box.width, box.height].map(String)]
    // it needs none of our variables, which hold secrets
    const limits = { env: {}, timeout: DRAWING_MS, killSignal: 'SIGKILL' } as const
    const child = spawn(process.execPath, args, { ...limits, stdio: ['pipe', 'pipe', 'pipe'] })
    const [drawn, words]: [Buffer[], Buffer[]] = [[], []]
    child.once('error', (cause) => reject(new AppError('BUSY', { retryAfter: 5, cause })))
    // without free descriptors there are no pipes, and the event follows
    if (child.pid === undefined) return
    child.stdout.on('data', (chunk: Buffer) => drawn.push(chunk))
    child.stderr.on('data', (chunk: Buffer) => words.push(chunk))
    // it may end before it has read everything; its end says why
    child.stdin.on('error', () => {})
    child.once('close', (code, signal) => {
      if (code === 0) resolve(Buffer.concat(drawn))
      else if (code === UNREADABLE || signal !== null) resolve(null)
      else reject(new Error(`the process that draws pictures ended with ${code}: ${Buffer.concat(words)}`))
    })
    child.stdin.end(bytes)
  })
}
