import { randomInt } from 'node:crypto'
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer, type Server } from 'node:net'

const FIRST = 12_000
/** Linux’s first port for outgoing connections and for those who ask for any port. ip(7), ip_local_port_range */
const USUAL_LAST = 32_768

function endOfOurs(): number {
  try {
    const low = Number(readFileSync('/proc/sys/net/ipv4/ip_local_port_range', 'utf8').trim().split(/\s+/)[0])
    return low > FIRST + 1000 ? low : USUAL_LAST
  } catch {
    return USUAL_LAST
  }
}

const LAST = endOfOurs()

async function canListen(port: number): Promise<boolean> {
  const probe: Server = createServer().listen(port, '127.0.0.1')
  try {
    await once(probe, 'listening')
  } catch {
    return false
  }
  probe.close()
  await once(probe, 'close')
  return true
}

/** No test uses UDP: a UDP socket keeps the number from other test processes until this one ends. */
async function reserve(port: number): Promise<boolean> {
  const holder = createSocket('udp4')
  holder.bind({ port, address: '127.0.0.1', exclusive: true })
  try {
    await once(holder, 'listening')
  } catch {
    holder.close()
    return false
  }
  if (await canListen(port)) {
    holder.unref()
    return true
  }
  holder.close()
  return false
}

/**
 * A TCP port of 127.0.0.1 that is this process's until it ends, for itself or a child to listen on, also after a
 * restart. It lies below the range from which the kernel takes ports by itself, so no connection gets it meanwhile.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(FIRST, LAST)
    if (await reserve(port)) return port
  }
}
