import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Frame, Page } from 'playwright-core'
import type { PayWorld } from './pay-world.ts'
import { eventually } from './service.ts'

export type ShopPage = {
  /** Its origin: another website than the service. */
  origin: string
  /** What the page at `/` consists of. */
  show(body: string): void
  /** Every request that came, newest last. */
  callbacks: { path: string; body: string }[]
  stop(): Promise<void>
}

/** A website of a careful shop: its policy allows the service's script and frames, and no inline code or style. */
export async function startShopPage(serviceOrigin: string): Promise<ShopPage> {
  let page = ''
  const callbacks: ShopPage['callbacks'] = []
  const policy = [
    "default-src 'none'",
    `script-src ${serviceOrigin} 'self'`,
    `frame-src ${serviceOrigin}`,
    `connect-src ${serviceOrigin}`,
    "style-src 'none'",
    'img-src data:',
    "require-trusted-types-for 'script'",
  ].join('; ')
  const server = createServer(async (request, response) => {
    if (request.url === '/probe.js') {
      const collect = 'window.heard = []; addEventListener("message", (e) => heard.push([e.origin, e.data]))'
      response.writeHead(200, { 'content-type': 'text/javascript' }).end(collect)
      return
    }
    if (request.method === 'POST') {
      let body = ''
      for await (const chunk of request) body += String(chunk)
      callbacks.push({ path: request.url ?? '', body })
      response.writeHead(200).end()
      return
    }
    response.writeHead(200, { 'content-type': 'text/html; charset=utf-8', 'content-security-policy': policy })
    response.end(
      `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Shop</title><meta name="viewport" content="width=device-width"><link rel="icon" href="data:,">` +
        `<script src="/probe.js"></script></head><body>${page}</body></html>`,
    )
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    origin: `http://127.0.0.1:${port}`,
    show(body) {
      page = body
    },
    callbacks,
    async stop() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

type Heard = [origin: string, data: Record<string, unknown>][]
/** The messages that the shop's page got. */
export const heardBy = (page: Page): Promise<Heard> => page.evaluate('window.heard') as Promise<Heard>
/** The code of the order, once the page heard of it. */
export const codeIn = async (page: Page): Promise<string> => {
  const messages = await eventually(
    () => heardBy(page),
    (list) => list.some(([, data]) => typeof data.conversionCode === 'string'),
  )
  return String(messages.find(([, data]) => data.conversionCode)?.[1].conversionCode)
}
export const payFrame = (page: Page): Promise<Frame> =>
  eventually(
    async () => page.frames().find((frame) => frame.url().includes('/pay?')),
    (frame) => frame !== undefined,
  ) as Promise<Frame>

/** Chooses the wallet, pays on the chain, and waits for the frame to say so. */
export async function payIn({ host, chain }: PayWorld, frame: Frame, code: string): Promise<void> {
  const statusOf = async () => (await host.call<{ status: string }>('GET', `status/${code}`)).data.status
  await frame
    .getByRole('button', { name: 'Pay all', exact: false })
    .or(frame.locator('.sandbox button'))
    .first()
    .click()
  await eventually(statusOf, (status) => status === 'WAITING_CHAIN_CONFIRMATION' || status === 'PAID')
  await chain.mine(3)
  await eventually(statusOf, (status) => status === 'PAID')
}
