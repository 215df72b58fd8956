import { setTimeout as sleep } from 'node:timers/promises'
import type { FastifyBaseLogger } from 'fastify'
import { SECOND } from '../../kernel/clock.ts'
import type { Network } from '../networks.ts'
import { type Endpoint, ForeignChain } from './endpoint.ts'
import type { Endpoints } from './endpoints.ts'
import { NetworkMismatch, prove } from './network-check.ts'
import { RpcError } from './rpc.ts'

/** A little more than one question may take: a node that is slower each time must not hold up the start. */
const PATIENCE_MS = 12 * SECOND

/** @returns what disproves that its token is USDC, if anything does */
async function tryToProve(
  endpoint: Endpoint,
  network: Network,
  log: FastifyBaseLogger,
): Promise<NetworkMismatch | undefined> {
  const where = { chainId: network.chainId, endpoint: endpoint.number }
  const late = sleep(PATIENCE_MS, undefined, { ref: false }).then(() => {
    throw new RpcError('unknown', `the token was not proven within ${PATIENCE_MS / SECOND} s`)
  })
  try {
    await Promise.race([prove(endpoint, network), late])
  } catch (error) {
    const isWrong = error instanceof ForeignChain || error instanceof NetworkMismatch
    if (!isWrong) {
      log.warn({ err: error, ...where }, 'an endpoint of the chain does not prove its token')
      return undefined
    }
    endpoint.noteWrong('foreign')
    log.error(where, `ALARM: ${error.message.replace(/\.$/, '')}; its answers are ignored`)
    return error instanceof NetworkMismatch ? error : undefined
  }
  return undefined
}

/**
 * Asks all endpoints of a chain for the proof of its token. One that gives none, for whatever reason, stays unproven:
 * it is used for nothing until it does, and the scanner asks it again. A token that is another one stops the start,
 * because payments in it are not USDC; one endpoint alone does not, if another proves the token.
 * @throws NetworkMismatch when an endpoint disproves the token, and none proves it
 */
export async function checkEndpoints(
  { endpoints: { all }, network }: { endpoints: Endpoints; network: Network },
  log: FastifyBaseLogger,
): Promise<void> {
  for (const endpoint of all) endpoint.unproven = true
  const mismatches = await Promise.all(all.map((endpoint) => tryToProve(endpoint, network, log)))
  const mismatch = mismatches.find((one) => one !== undefined)
  if (mismatch && all.every(({ unproven }) => unproven)) throw mismatch
}
