import { type Api, type Data, openApi } from './api.ts'
import { ComptoirError, isComptoirError, isTemporary } from './errors.ts'
import { sleep, Transport } from './transport.ts'

export type DeviceKey = Data<'claimDeviceLogin'>
export type DeviceCode = Data<'startDeviceLogin'>

export type DeviceLoginOptions = {
  /** URL of the service. */
  baseUrl: string
  /** What the person who confirms sees, for example the name of the computer. */
  clientName: string
  /** What the key may do; default: everything that a program's key may do. */
  scopes?: DeviceKey['scopes']
  /** Called once: show the person `userCode` and `verificationUri`. */
  onCode(code: DeviceCode): void
  signal?: AbortSignal
  fetch?: typeof fetch
}

/** Slows down when the service says so; asks again if an answer was lost. @returns undefined: not decided yet */
async function ask(api: Api, deviceCode: string): Promise<{ key: DeviceKey } | { slower: boolean }> {
  try {
    return { key: await api.claimDeviceLogin({ body: { deviceCode } }) }
  } catch (error) {
    if (isComptoirError(error, 'SLOW_DOWN')) return { slower: true }
    if (isTemporary(error) || isComptoirError(error, 'AUTHORIZATION_PENDING')) return { slower: false }
    throw error
  }
}

/**
 * Logs a program in without a password (RFC 8628): a person confirms in the back office, and the program gets a key.
 * @throws ComptoirError AUTHORIZATION_DENIED, DEVICE_CODE_EXPIRED
 */
export async function loginByDevice(options: DeviceLoginOptions): Promise<DeviceKey> {
  const { baseUrl, clientName, scopes, onCode, signal, fetch } = options
  const api = openApi(new Transport({ baseUrl, ...(fetch ? { fetch } : {}) }))
  const code = await api.startDeviceLogin({ body: { clientName, ...(scopes ? { scopes } : {}) } })
  onCode(code)
  let pauseSeconds = code.intervalSeconds
  const endsAt = Date.now() + code.expiresInSeconds * 1000
  for (;;) {
    await sleep(pauseSeconds * 1000, signal)
    const answer = await ask(api, code.deviceCode)
    if ('key' in answer) return answer.key
    if (answer.slower) pauseSeconds += 5
    // a service that went away never reports expiry
    if (Date.now() > endsAt) {
      const message = 'The login was not confirmed in time. Start a new one.'
      throw new ComptoirError({ status: 0, code: 'DEVICE_CODE_EXPIRED', message })
    }
  }
}
