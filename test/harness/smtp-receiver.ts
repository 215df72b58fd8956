import type { AddressInfo } from 'node:net'
import { SMTPServer } from 'smtp-server'
import { eventually } from './service.ts'

export type ReceivedMail = { to: string; subject: string; text: string; html: string; headers: string }

export type SmtpReceiver = {
  url: string
  /** In the order of their arrival. */
  mailsTo(email: string): ReceivedMail[]
  /** As many mails as there should be; fails with what there is. */
  waitFor(email: string, count: number): Promise<ReceivedMail[]>
  /** While true, every recipient is to be tried again later. */
  setAway(isAway: boolean): void
  close(): Promise<void>
}

const fromQuoted = (text: string): Buffer =>
  Buffer.from(
    text
      .replace(/=\r?\n/g, '')
      .replace(/=([0-9A-F]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16))),
    'latin1',
  )

/** RFC 2047. */
const decodeHeader = (text: string): string =>
  text
    .replace(/\?=\r?\n? +=\?/g, '?==?')
    .replace(/=\?utf-8\?([BQ])\?(.*?)\?=/gi, (_, kind: string, coded: string) =>
      (kind.toUpperCase() === 'B' ? Buffer.from(coded, 'base64') : fromQuoted(coded.replaceAll('_', ' '))).toString(
        'latin1',
      ),
    )

const utf8 = (latin1: string): string => Buffer.from(latin1, 'latin1').toString('utf8')

function partOf(raw: string, type: string): string {
  const part =
    raw.split(/\r\n--[^\r\n]*/).find((one) => new RegExp(`^Content-Type: text/${type}`, 'im').test(one)) ?? ''
  const body = part.slice(part.indexOf('\r\n\r\n') + 4)
  if (/^Content-Transfer-Encoding: base64/im.test(part)) return Buffer.from(body, 'base64').toString('utf8')
  const isQuoted = /^Content-Transfer-Encoding: quoted-printable/im.test(part)
  return isQuoted ? fromQuoted(body).toString('utf8') : utf8(body)
}

function readMail(to: string, raw: string): ReceivedMail {
  const headers = raw.slice(0, raw.indexOf('\r\n\r\n'))
  const subject = /^Subject: (.*(?:\r\n[ \t].*)*)/im.exec(headers)?.[1] ?? ''
  return {
    ...{ to, headers },
    subject: utf8(decodeHeader(subject).replace(/\r\n(?=[ \t])/g, '')),
    text: partOf(raw, 'plain'),
    html: partOf(raw, 'html'),
  }
}

/** A mail server on a port of its own. */
export async function startSmtpReceiver(): Promise<SmtpReceiver> {
  const mails: ReceivedMail[] = []
  let isAway = false
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS'],
    // the service keeps its connection for the next mail
    closeTimeout: 100,
    onRcptTo: (_address, _session, done) =>
      done(isAway ? Object.assign(new Error('4.3.2 later'), { responseCode: 450 }) : null),
    onData(stream, { envelope }, done) {
      const chunks: Buffer[] = []
      stream.on('data', (chunk: Buffer) => chunks.push(chunk))
      stream.on('end', () => {
        const raw = Buffer.concat(chunks).toString('latin1')
        mails.push(...envelope.rcptTo.map(({ address }) => readMail(address, raw)))
        done()
      })
    },
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.server.address() as AddressInfo
  const mailsTo = (email: string): ReceivedMail[] => mails.filter(({ to }) => to === email)
  return {
    url: `smtp://127.0.0.1:${port}`,
    mailsTo,
    waitFor: (email, count) =>
      eventually(
        async () => mailsTo(email),
        (list) => list.length >= count,
        30_000,
      ),
    setAway(away) {
      isAway = away
    },
    close: () => new Promise<void>((resolve) => server.close(resolve)),
  }
}
