import { promisify } from 'node:util'

/** Ends the process once all that it wrote has left it: `process.exit` drops what a slow reader has yet to take. */
export async function exitWhenRead(code: number): Promise<never> {
  for (const stream of [process.stdout, process.stderr])
    await promisify((text: string, done: () => void) => stream.write(text, done))('')
  process.exit(code)
}
