/** Frames of PostgreSQL's protocol (documentation, "Message Formats"): a type, a length that counts itself, a body. */
export type Frame = { type: string; bytes: Buffer }

export function splitFrames(buffer: Buffer): { frames: Frame[]; rest: Buffer } {
  const frames: Frame[] = []
  let at = 0
  while (at + 5 <= buffer.length) {
    const end = at + 1 + buffer.readInt32BE(at + 1)
    if (end > buffer.length) break
    frames.push({ type: String.fromCharCode(buffer[at] ?? 0), bytes: buffer.subarray(at, end) })
    at = end
  }
  return { frames, rest: buffer.subarray(at) }
}

const frame = (type: string, body: Buffer): Buffer => {
  const head = Buffer.alloc(5)
  head.write(type, 0, 'latin1')
  head.writeInt32BE(body.length + 4, 1)
  return Buffer.concat([head, body])
}

const zeroEnded = (text: string): Buffer => Buffer.from(`${text}\0`)

export const queryFrame = (text: string): Buffer => frame('Q', zeroEnded(text))

/** Runs a prepared statement with text parameters; its answer arrives with that of what follows, up to a Sync. */
export const executeFrames = (name: string, ...values: readonly string[]): Buffer => {
  const texts = values.flatMap((value) => {
    const head = Buffer.alloc(4)
    head.writeInt32BE(Buffer.byteLength(value))
    return [head, Buffer.from(value)]
  })
  // the unnamed portal; no formats, so texts; as many parameters; no formats of results
  const bind = frame(
    'B',
    Buffer.concat([zeroEnded(''), zeroEnded(name), Buffer.from([0, 0, 0, values.length]), ...texts, Buffer.alloc(2)]),
  )
  // the unnamed portal, all rows
  return Buffer.concat([bind, frame('E', Buffer.alloc(5))])
}

/** The same for an unprepared text. */
export const runFrames = (text: string): Buffer =>
  Buffer.concat([frame('P', Buffer.concat([zeroEnded(''), zeroEnded(text), Buffer.alloc(2)])), executeFrames('')])

export const PARSE_COMPLETE = frame('1', Buffer.alloc(0))

/** A server's answer to a start-up packet that it accepts. */
export const WELCOME = Buffer.concat([
  frame('R', Buffer.alloc(4)),
  ...[
    ['server_version', '18.4'],
    ['client_encoding', 'UTF8'],
    ['DateStyle', 'ISO, MDY'],
    ['integer_datetimes', 'on'],
    ['standard_conforming_strings', 'on'],
    ['TimeZone', 'UTC'],
  ].map(([name = '', value = '']) => frame('S', Buffer.concat([zeroEnded(name), zeroEnded(value)]))),
  frame('K', Buffer.alloc(8)),
  frame('Z', Buffer.from('I')),
])

/** A server's answer to `begin`. */
export const BEGUN: Frame[] = [
  { type: 'C', bytes: frame('C', zeroEnded('BEGIN')) },
  { type: 'Z', bytes: frame('Z', Buffer.from('T')) },
]

const textAt = (bytes: Buffer, from: number): string => bytes.toString('utf8', from, bytes.indexOf(0, from))

/** The statement's name in a Parse message; empty: unnamed. */
export const parsedName = ({ bytes }: Frame): string => textAt(bytes, 5)

/** The statement's name in a Bind message, after the portal's. */
export const boundName = ({ bytes }: Frame): string => textAt(bytes, bytes.indexOf(0, 5) + 1)

/** The SQL of a Query or Parse message. */
export const sqlOf = (one: Frame): string =>
  one.type === 'Q' ? textAt(one.bytes, 5) : textAt(one.bytes, one.bytes.indexOf(0, 5) + 1)
