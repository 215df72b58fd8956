const EVERY_MS = 1000

/**
 * Shows the progress of a long step, at most once a second, so that it does not look hung; a quick step shows nothing.
 * @param unit what is counted, for example "MB"
 */
export function startProgress(say: (line: string) => void, what: string, unit: string) {
  let saidAtMs = Date.now()
  let said = ''
  return (done: number, of: number): void => {
    if (Date.now() - saidAtMs < EVERY_MS) return
    const percent = of > 0 ? ` (${Math.floor((done / of) * 100)} %)` : ''
    const line = `${what}: ${done} of ${of} ${unit}${percent}`
    if (line === said) return
    saidAtMs = Date.now()
    said = line
    say(line)
  }
}

export const megabytes = (bytes: number): number => Math.ceil(bytes / 1e6)
