import type { Worker } from 'node:cluster'
import type { Role } from '../../config/config.ts'
import type { SandboxProcess } from '../../sandbox-process.ts'

/** Resources that the parent owns and its processes use. */
export type Handover = {
  connectionString: string
  /** The sandbox's chain and providers; null if there are none. */
  sandbox: Omit<SandboxProcess, 'stop'> | null
}

export type ToChild =
  | { kind: 'start'; name: string; roles: Role[]; handover: Handover }
  | { kind: 'stop' }
  | { kind: 'metrics'; id: number }
  | { kind: 'scraped'; id: number; text: string }

export type FromChild =
  | { kind: 'hello' }
  | { kind: 'ready'; facts: Record<string, unknown> | null }
  | { kind: 'metrics'; id: number; text: string }
  | { kind: 'scrape'; id: number }

/**
 * A process may die, or lose its channel, while it is written to: its end is noticed elsewhere, and must not end the
 * parent. @param onLost the message was not sent
 */
export function sendTo(worker: Worker, message: ToChild, onLost: () => void = () => {}): void {
  if (worker.isConnected()) worker.send(message, (error: Error | null) => void (error && onLost()))
  else onLost()
}
