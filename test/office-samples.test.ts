import assert from 'node:assert/strict'
import { execFile, spawn, spawnSync } from 'node:child_process'
import { createHmac } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { sql } from '../src/db/db.ts'
import { aboveCommandLine } from '../web/office/src/screens/developer/above-command-line.ts'
import { SAMPLES } from '../web/office/src/screens/developer/samples.ts'
import { freePort } from './harness/free-port.ts'
import { eventually, type Merchant, startTestService, type TestService } from './harness/service.ts'

/* The code that the back office shows, run as it stands. An interpreter that is not installed is said so. */

let service: TestService
let folder: string

before(async () => {
  service = await startTestService()
  folder = mkdtempSync(join(tmpdir(), 'comptoir-samples-'))
})
after(async () => {
  await service?.stop()
  rmSync(folder, { recursive: true, force: true })
})

const RUNS: Record<string, { command: string; file: string; args?: string[]; probe: string[] }> = {
  curl: { command: 'bash', file: 'sample.sh', probe: ['-c', 'command -v curl'] },
  JavaScript: { command: process.execPath, file: 'sample.mjs', probe: ['--version'] },
  PHP: { command: 'php', file: 'sample.php', probe: ['-r', 'exit(extension_loaded("curl") ? 0 : 1);'] },
  Python: { command: 'python3', file: 'sample.py', probe: ['--version'] },
}
const isHere = (language: string): boolean => {
  const { command, probe } = RUNS[language] as (typeof RUNS)[string]
  return spawnSync(command, probe).status === 0
}

/** Not in this process: it is also the server that the code calls. */
async function run(language: string, code: string): Promise<string> {
  const { command, file } = RUNS[language] as (typeof RUNS)[string]
  const path = join(folder, file)
  writeFileSync(path, code)
  return new Promise((resolve, reject) =>
    execFile(command, [path], { timeout: 15_000 }, (error, out, err) =>
      error ? reject(new Error(err)) : resolve(out),
    ),
  )
}

const absent = Object.keys(RUNS).filter((language) => !isHere(language))
if (absent.length > 0) console.log(`left out, not installed: ${absent.join(', ')}`)

const countKeys = async ({ companyId }: Merchant): Promise<number> => {
  const found = await service.db.one<{ count: number }>(
    sql`select count(*)::int as count from idempotency_keys where company_id = ${companyId}`,
  )
  return found.count
}

for (const language of Object.keys(RUNS).filter(isHere)) {
  test(`the first order in ${language} runs as it is shown, and each run is the order of another customer`, async () => {
    const merchant = await service.createMerchant()
    const headers = merchant.headers
    const key = { apiKey: headers['x-api-key'] ?? '', apiSecret: headers['x-api-secret'] ?? '' }
    const code = SAMPLES[language]?.({ origin: service.baseUrl, till: 'TILL-1', key }) ?? ''
    const first = /\/pay\?code=(\w{24})/.exec(await run(language, code))?.[1]
    const second = /\/pay\?code=(\w{24})/.exec(await run(language, code))?.[1]
    assert.ok(second)
    assert.ok(first)
    assert.notEqual(second, first)
    const { data } = await service.call<{ fromAmount: string }>('GET', `status/${first}`)
    assert.equal(data.fromAmount, '12.50')
    assert.equal(await countKeys(merchant), 2, 'each under a key of its own')
  })
}

const SECRET = `whsec_${'c2VjcmV0'.repeat(5)}`
/** What a merchant writes below the sample: a receiver that answers 200 to a signed webhook, and 400 to any other. */
const RECEIVERS: Record<string, { file: string; start: (path: string, port: number) => string[]; code: string }> = {
  JavaScript: {
    file: 'verify.js',
    start: (path, port) => [process.execPath, path, String(port)],
    code: `import { createServer } from 'node:http'
createServer(async (request, response) => {
  const body = Buffer.concat(await request.toArray())
  response.statusCode = verifyWebhook(body, request.headers['service-signature'], '${SECRET}') ? 200 : 400
  response.end()
}).listen(Number(process.argv[2]), '127.0.0.1')
`,
  },
  Python: {
    file: 'verify.py',
    start: (path, port) => ['python3', path, String(port)],
    code: `
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer
class Receiver(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        good = verify_webhook(body, self.headers["service-signature"], "${SECRET}")
        self.send_response(200 if good else 400)
        self.send_header("content-length", "0")
        self.end_headers()
HTTPServer(("127.0.0.1", int(sys.argv[1])), Receiver).serve_forever()
`,
  },
  PHP: {
    file: 'verify.php',
    start: (path, port) => ['php', '-S', `127.0.0.1:${port}`, path],
    code: `
$good = verifyWebhook(file_get_contents('php://input'), $_SERVER['HTTP_SERVICE_SIGNATURE'] ?? null, '${SECRET}');
http_response_code($good ? 200 : 400);
`,
  },
}

for (const [language, { file, start, code }] of Object.entries(RECEIVERS).filter(([name]) => isHere(name))) {
  test(`the verification in ${language} works where it is pasted: in a server, whose standard input stays open`, async () => {
    const program = readFileSync(join(import.meta.dirname, '../sdk/examples', file), 'utf8')
    const path = join(folder, `receiver-${file.replace(/js$/, 'mjs')}`)
    writeFileSync(path, aboveCommandLine(program) + code)
    const port = await freePort()
    const [command = '', ...args] = start(path, port)
    const server = spawn(command, args, { stdio: ['pipe', 'ignore', 'ignore'] })
    const body = '{"event":"order.paid"}'
    const at = Math.floor(Date.now() / 1000)
    const signature = createHmac('sha256', SECRET).update(`${at}.${body}`).digest('hex')
    const send = (v1: string) =>
      fetch(`http://127.0.0.1:${port}`, {
        ...{ method: 'POST', body, headers: { 'service-signature': `t=${at},v1=${v1}` } },
        signal: AbortSignal.timeout(2000),
      }).then(
        ({ status }) => status,
        () => null,
      )
    try {
      assert.equal(
        await eventually(
          () => send(signature),
          (status) => status !== null,
        ),
        200,
      )
      assert.equal(await send('0'.repeat(64)), 400)
    } finally {
      server.kill('SIGKILL')
    }
  })
}
