/**
 * Points where a test kills the process as if the power had failed: the service must recover from the state left
 * behind. Armed only in the sandbox, by `CRASH_POINT=<name>`; otherwise they do nothing.
 */
export const CRASH_POINTS = [
  'create:before-insert',
  'create:after-insert',
  'accept:after-choice',
  'accept:after-provider',
  'accept:after-forward',
  'confirm:start',
  'confirm:before-answer',
  'revert:before-commit',
  'revert:after-commit',
  'refund:before-send',
  'refund:after-send',
  'refund:after-settle',
  'payout:after-submit',
  'sweep:after-submit',
] as const
export type CrashPoint = (typeof CRASH_POINTS)[number]

let armed: string | null = null

export function armCrashPoint(name: string | null): void {
  armed = name
}

/** Kills the process immediately if this point is armed. */
export function crashPoint(name: CrashPoint): void {
  if (armed === name) process.kill(process.pid, 'SIGKILL')
}
