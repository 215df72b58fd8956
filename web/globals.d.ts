/** What the pages' own scripts find beside the standard objects of a browser. */
interface Window {
  /** The one wallet of browsers from before EIP-6963. */
  ethereum?: { request(asked: { method: string; params?: unknown }): Promise<unknown> }
  /** The buy button's script, as shops call it. */
  Comptoir?: object
  /** In a service worker (`web/till/sw.js`). */
  skipWaiting(): Promise<void>
  clients: { claim(): Promise<void> }
}
