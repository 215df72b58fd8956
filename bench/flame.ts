import { once } from 'node:events'
import { mkdirSync, writeFileSync } from 'node:fs'
import { Session } from 'node:inspector/promises'
import { join } from 'node:path'

/*
 * Flame graphs: `npm run bench -- orders --flame` and `-- webhooks --flame` write docs/flames/*.svg. A box is a
 * function, below its caller, with a width proportional to its share of the samples. Hover over a box for its name and
 * share.
 */
const FOLDER = join(import.meta.dirname, '../docs/flames')
export const wantsFlame = process.argv.includes('--flame')

const SAMPLE_US = 200
const [WIDTH, ROW, HEAD] = [1200, 16, 40]
/** Narrower boxes are left out: they would be unreadable, and make the file large. */
const NARROWEST = 4
const CHARACTER = 6.2

type Frame = { functionName: string; url: string; lineNumber: number }
type ProfileNode = { id: number; callFrame: Frame; children?: number[] | undefined }
export type Profile = {
  nodes: ProfileNode[]
  samples?: number[] | undefined
  timeDeltas?: number[] | undefined
}

type Box = { name: string; place: string; us: number; children: Map<string, Box> }

const newBox = (name: string, place: string): Box => ({ name, place, us: 0, children: new Map() })

/** The path within the project or the package, without machine-specific parts. */
const placeOf = ({ url, lineNumber }: Frame): string => {
  const path = url.replace(/^.*\/node_modules\//, '').replace(/^file:.*?\/(?=(src|bench|sandbox)\/)/, '')
  return path === '' ? '' : `${path}:${lineNumber + 1}`
}

/** Waiting, and the profiler's own start and end. */
const isNotWork = ({ functionName, url }: Frame): boolean =>
  functionName === '(idle)' || functionName === '(program)' || url === 'node:inspector'

/** The samples as a tree in which equal callees of a box are merged. Waiting is left out. */
function treeOf({ nodes, samples = [], timeDeltas = [] }: Profile): Box {
  const byId = new Map(nodes.map((node) => [node.id, node]))
  const own = new Map<number, number>()
  for (const [index, id] of samples.entries()) own.set(id, (own.get(id) ?? 0) + Math.max(0, timeDeltas[index] ?? 0))
  const root = newBox('all', '')
  const add = (id: number, above: Box): number => {
    const node = byId.get(id)
    if (node === undefined) return 0
    const name = node.callFrame.functionName || '(anonymous)'
    if (isNotWork(node.callFrame)) return 0
    const place = placeOf(node.callFrame)
    const box = name === '(root)' ? above : (above.children.get(`${name} ${place}`) ?? newBox(name, place))
    if (box !== above) above.children.set(`${name} ${place}`, box)
    let us = own.get(id) ?? 0
    for (const child of node.children ?? []) us += add(child, box)
    if (box !== above) box.us += us
    return us
  }
  root.us = add(nodes[0]?.id ?? 0, root)
  return root
}

const escapeXml = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;')

/** Our code in orange, packages in yellow, Node and the engine in grey. */
const colorOf = ({ place }: Box): string => {
  if (/^(src|bench|sandbox)\//.test(place)) return '#f59e4c'
  return place === '' || place.startsWith('node:') ? '#c9ced6' : '#f4d35e'
}

/** One SVG that any browser can open. */
export function flameSvg(profile: Profile, title: string): string {
  const root = treeOf(profile)
  const perUs = WIDTH / Math.max(1, root.us)
  const boxes: string[] = []
  let deepest = 0
  const draw = (box: Box, x: number, depth: number): void => {
    const width = box.us * perUs
    if (width < NARROWEST) return
    deepest = Math.max(deepest, depth)
    const share = `${((box.us / root.us) * 100).toFixed(1)} %`
    const text = width > 30 ? escapeXml(box.name.slice(0, Math.floor(width / CHARACTER))) : ''
    const place = box.place === '' ? '' : ` ${box.place}`
    boxes.push(
      `<g transform="translate(${x.toFixed(1)} ${HEAD + depth * ROW})"><title>${escapeXml(`${box.name}${place}: ${share}`)}</title>` +
        `<rect width="${width.toFixed(1)}" height="${ROW - 1}" fill="${colorOf(box)}"/>${text && `<text x="2" y="11">${text}</text>`}</g>`,
    )
    let at = x
    for (const child of [...box.children.values()].sort((left, right) => right.us - left.us)) {
      draw(child, at, depth + 1)
      at += child.us * perUs
    }
  }
  draw(root, 0, 0)
  const height = HEAD + (deepest + 1) * ROW
  return (
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" font-family="monospace" font-size="10">` +
    `<title>${escapeXml(title)}</title><rect width="100%" height="100%" fill="#fff"/><text x="4" y="20" font-size="14">${escapeXml(title)}</text>\n${boxes.join('\n')}\n</svg>\n`
  )
}

/** Functions by their own time, as shares, largest first. */
export function selfTimes(
  { nodes, samples = [], timeDeltas = [] }: Profile,
  most = 15,
): [name: string, share: number][] {
  const working = nodes.filter(({ callFrame }) => !isNotWork(callFrame))
  const names = new Map(
    working.map(({ id, callFrame }) => [id, `${callFrame.functionName || '(anonymous)'} ${placeOf(callFrame)}`]),
  )
  const own = new Map<string, number>()
  let all = 0
  for (const [index, id] of samples.entries()) {
    const name = names.get(id)
    if (name === undefined) continue
    const us = Math.max(0, timeDeltas[index] ?? 0)
    all += us
    own.set(name, (own.get(name) ?? 0) + us)
  }
  const sorted = [...own].sort(([, left], [, right]) => right - left).slice(0, most)
  return sorted.map(([name, us]) => [name.trim(), us / all])
}

/** Writes docs/flames/<name>.svg and prints the functions with the largest shares. */
export function writeFlame(name: string, title: string, profile: Profile): void {
  mkdirSync(FOLDER, { recursive: true })
  writeFileSync(join(FOLDER, `${name}.svg`), flameSvg(profile, title))
  process.stdout.write(`\ndocs/flames/${name}.svg: ${title}\n`)
  for (const [place, share] of selfTimes(profile))
    process.stdout.write(`${(share * 100).toFixed(1).padStart(6)} %  ${place}\n`)
}

/** Profiles this process while something runs. */
export async function profileHere(work: () => Promise<unknown>): Promise<Profile> {
  const session = new Session()
  session.connect()
  await session.post('Profiler.enable')
  await session.post('Profiler.setSamplingInterval', { interval: SAMPLE_US })
  await session.post('Profiler.start')
  await work()
  const { profile } = await session.post('Profiler.stop')
  session.disconnect()
  return profile
}

type Target = { webSocketDebuggerUrl: string }

/** Profiles another process, which was started with `--inspect=127.0.0.1:<port>`, while something runs. */
export async function profileThere(port: number, work: () => Promise<unknown>): Promise<Profile> {
  const [target] = (await (await fetch(`http://127.0.0.1:${port}/json/list`)).json()) as Target[]
  const socket = new WebSocket(target?.webSocketDebuggerUrl ?? '')
  await once(socket, 'open')
  let last = 0
  const post = (method: string, params = {}): Promise<{ profile?: Profile }> => {
    last += 1
    const id = last
    return new Promise((resolve) => {
      const heard = ({ data }: MessageEvent): void => {
        const reply = JSON.parse(String(data)) as { id: number; result: { profile?: Profile } }
        if (reply.id !== id) return
        socket.removeEventListener('message', heard)
        resolve(reply.result)
      }
      socket.addEventListener('message', heard)
      socket.send(JSON.stringify({ id, method, params }))
    })
  }
  await post('Profiler.enable')
  await post('Profiler.setSamplingInterval', { interval: SAMPLE_US })
  await post('Profiler.start')
  await work()
  const { profile } = await post('Profiler.stop')
  socket.close()
  if (profile === undefined) throw new Error('the process gave no profile')
  return profile
}
