/* Keeps the till's shell, so that it opens without a connection. It keeps nothing else, and no sale passes through. */
const CACHE = 'till-__VERSION__'
const SHELL = ['/till', '/till/display', '/till/app.js', '/till/api.js', '/till/sales.js', '/till/watch.js']
const MORE = [
  '/till/sound.js',
  '/till/format.js',
  '/till/display.js',
  '/till/till.css',
  '/till/icon.svg',
  '/till/manifest.webmanifest',
]
const FILES = [...SHELL, ...MORE]
const WAIT_MS = 3000

self.addEventListener('install', (/** @type {any} */ event) => {
  event.waitUntil(
    caches
      .open(CACHE)
      .then((cache) => cache.addAll(FILES))
      .then(() => self.skipWaiting()),
  )
})

self.addEventListener('activate', (/** @type {any} */ event) => {
  const clean = caches
    .keys()
    .then((names) => Promise.all(names.filter((name) => name !== CACHE).map((name) => caches.delete(name))))
  event.waitUntil(clean.then(() => self.clients.claim()))
})

/** The service's own answer where it comes in time, else what is kept. */
async function answer(request, path) {
  const cache = await caches.open(CACHE)
  try {
    const response = await fetch(request, { signal: AbortSignal.timeout(WAIT_MS) })
    if (response.ok) await cache.put(path, response.clone())
    return response
  } catch {
    return (await cache.match(path)) ?? Response.error()
  }
}

self.addEventListener('fetch', (/** @type {any} */ event) => {
  const { origin, pathname } = new URL(event.request.url)
  if (event.request.method !== 'GET' || origin !== location.origin || !FILES.includes(pathname)) return
  event.respondWith(answer(event.request, pathname))
})
