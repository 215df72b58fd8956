import { connect, createServer, type Socket } from 'node:net'

export type TestProxy = {
  url: string
  /** Breaks all connections and refuses new ones until `mend`. */
  cut(): void
  /** From now on questions arrive and no answer comes back, until `mend`. */
  hang(): void
  mend(): void
  stop(): Promise<void>
}

/** A wire to a local server that a test can cut: on the other side nothing is known of it. */
export async function startProxy(targetUrl: string): Promise<TestProxy> {
  const { port } = new URL(targetUrl)
  const sockets = new Set<Socket>()
  let open = true
  let hanging = false
  const server = createServer((socket) => {
    if (!open) {
      socket.destroy()
      return
    }
    const target = connect(Number(port), '127.0.0.1')
    for (const [one, other] of [
      [socket, target],
      [target, socket],
    ] as const) {
      sockets.add(one)
      one.on('error', () => {})
      one.on('close', () => {
        sockets.delete(one)
        other.destroy()
      })
      if (one === socket) one.pipe(other)
      else one.on('data', (chunk) => void (hanging || other.write(chunk)))
    }
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port: ownPort } = server.address() as { port: number }
  const cut = (): void => {
    open = false
    for (const socket of sockets) socket.destroy()
  }
  return {
    url: `http://127.0.0.1:${ownPort}`,
    cut,
    hang: () => {
      hanging = true
    },
    mend: () => {
      open = true
      hanging = false
    },
    stop: async () => {
      cut()
      await new Promise<void>((resolve) => server.close(() => resolve()))
    },
  }
}
