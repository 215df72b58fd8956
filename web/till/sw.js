/*
 * Keeps the till's shell, so that it opens without a connection. It keeps nothing else, and no sale passes through.
 * The page names the version of its scripts in their addresses, so a page never runs with files of another version.
 */
const VERSION = '__VERSION__'
const CACHE = `till-${VERSION}`
const FOLDER = `/till/${VERSION}/`
const SCRIPTS = [
  'app.js',
  'api.js',
  'sales.js',
  'kept.js',
  'watch.js',
  'states.js',
  'sound.js',
  'format.js',
  'display.js',
]
/** Under their addresses the same for ever. */
const FILES = [...SCRIPTS, 'till.css'].map((name) => FOLDER + name)
const PAGES = ['/till', '/till/display']
/** Of any version: no page depends on which. */
const LOOSE = ['/till/again.js', '/till/icon.svg', '/till/manifest.webmanifest']
const WAIT_MS = 3000
const WHOLE_MS = 10_000

/** What belongs to this version. Of two nodes, one may still be of the other. */
async function isOurs(path, response) {
  return response.ok && (!PAGES.includes(path) || (await response.clone().text()).includes(FOLDER))
}

/** Everything or nothing: the browser tries again with the next visit. */
async function install() {
  const cache = await caches.open(CACHE)
  const paths = [...PAGES, ...LOOSE, ...FILES]
  const responses = await Promise.all(
    paths.map((path) => fetch(path, { cache: FILES.includes(path) ? 'default' : 'no-cache' })),
  )
  for (const [index, response] of responses.entries())
    if (!(await isOurs(paths[index], response))) throw new Error(`${paths[index]} is of another version`)
  await Promise.all(responses.map((response, index) => cache.put(paths[index], response)))
}

self.addEventListener('install', (/** @type {any} */ event) => {
  event.waitUntil(install().then(() => self.skipWaiting()))
})

self.addEventListener('activate', (/** @type {any} */ event) => {
  const clean = caches
    .keys()
    .then((names) => Promise.all(names.filter((name) => name !== CACHE).map((name) => caches.delete(name))))
  event.waitUntil(clean.then(() => self.clients.claim()))
})

/** An answer begins soon; on a slow line the rest may take longer. A connection that dies meanwhile gives no answer. */
async function fetchInTime(request) {
  const stop = new AbortController()
  let timer = setTimeout(() => stop.abort(), WAIT_MS)
  try {
    const response = await fetch(request, { signal: stop.signal })
    clearTimeout(timer)
    timer = setTimeout(() => stop.abort(), WHOLE_MS)
    await response.clone().arrayBuffer()
    return response
  } finally {
    clearTimeout(timer)
  }
}

/** The service's own answer where it comes in time, else what is kept. */
async function answer(event, path) {
  const cache = await caches.open(CACHE)
  const kept = await cache.match(path)
  if (FILES.includes(path)) return kept ?? fetch(event.request)
  try {
    const response = await (kept ? fetchInTime(event.request) : fetch(event.request))
    const copy = response.clone()
    const keep = isOurs(path, copy).then((isKept) => isKept && cache.put(path, copy))
    event.waitUntil(keep.catch(() => {}))
    // a node that starts, or none behind the gateway
    return response.status >= 500 ? (kept ?? response) : response
  } catch {
    return kept ?? Response.error()
  }
}

self.addEventListener('fetch', (/** @type {any} */ event) => {
  const { origin, pathname } = new URL(event.request.url)
  if (event.request.method !== 'GET' || origin !== location.origin) return
  if ([...PAGES, ...LOOSE, ...FILES].includes(pathname)) event.respondWith(answer(event, pathname))
})
