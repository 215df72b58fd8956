import assert from 'node:assert/strict'
import { request } from 'node:http'
import { after, before, test } from 'node:test'
import { type Hex, keccak256, parseSignature, parseTransaction, recoverAddress, serializeTransaction } from 'viem'
import { publicKeyToAddress } from 'viem/accounts'
import { startWeb3Signer, type Web3Signer } from './harness/web3signer.ts'

/* The stand-in for Web3Signer against its documentation; no signer of ours takes part. */
let signer: Web3Signer
before(async () => {
  signer = await startWeb3Signer()
})
after(() => signer?.stop())

const first = () => signer.keys[0] as Web3Signer['keys'][number]

async function sign(body: unknown, identifier: string = first().publicKey, type = 'application/json') {
  const answer = await fetch(`${signer.url}/api/v1/eth1/sign/${identifier}`, {
    method: 'POST',
    headers: { 'content-type': type },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  })
  return { status: answer.status, type: answer.headers.get('content-type'), text: await answer.text() }
}

test('it lists its keys without the leading 04; the address follows from each', async () => {
  const keys = (await (await fetch(`${signer.url}/api/v1/eth1/publicKeys`)).json()) as Hex[]
  assert.deepEqual(keys, [first().publicKey])
  assert.match(keys[0] ?? '', /^0x[0-9a-f]{128}$/)
  assert.equal(publicKeyToAddress(`0x04${keys[0]?.slice(2)}`), first().address)
  assert.equal(await (await fetch(`${signer.url}/upcheck`)).text(), 'OK')
})

test('it signs keccak256 of a serialized transaction, and answers r, s, v as text', async () => {
  const transaction = {
    chainId: 31337,
    nonce: 7,
    gas: 21_000n,
    maxFeePerGas: 2n,
    maxPriorityFeePerGas: 1n,
    to: first().address,
  }
  const data = serializeTransaction({ type: 'eip1559', ...transaction })
  const { status, type, text } = await sign({ data })
  assert.deepEqual([status, type], [200, 'text/plain; charset=utf-8'])
  assert.match(text, /^0x[0-9a-f]{128}(1b|1c)$/)
  assert.equal(await recoverAddress({ hash: keccak256(data), signature: text as Hex }), first().address)
  const raw = serializeTransaction({ type: 'eip1559', ...transaction }, parseSignature(text as Hex))
  assert.equal(parseTransaction(raw).nonce, 7)
  assert.deepEqual(signer.signed.at(-1), { publicKey: first().publicKey, data })
})

test('the identifier may lack its 0x; a key it does not have is 404, and nothing is signed', async () => {
  assert.equal((await sign({ data: '0x01' }, first().publicKey.slice(2))).status, 200)
  const before = signer.signed.length
  for (const identifier of [`0x${'ab'.repeat(64)}`, first().address])
    assert.deepEqual((await sign({ data: '0x01' }, identifier)).status, 404)
  assert.equal(signer.signed.length, before)
})

test('a body without data, with data that is not hex, or of another media type is 400', async () => {
  const before = signer.signed.length
  for (const body of [{}, { data: 'hello' }, { data: '0x123' }, { data: '0x' }, '{', { payload: '0x01' }])
    assert.equal((await sign(body)).status, 400, JSON.stringify(body))
  assert.equal((await sign({ data: '0x01' }, first().publicKey, 'text/plain')).status, 400)
  assert.equal(signer.signed.length, before)
})

test('a Host that is not on its allow-list is 403', async () => {
  const status = await new Promise((resolve, reject) => {
    const sent = request(`${signer.url}/upcheck`, { headers: { host: 'signer.example' } }, (answer) => {
      answer.resume()
      resolve(answer.statusCode)
    })
    sent.on('error', reject).end()
  })
  assert.equal(status, 403)
})

test('its faults: unavailable, a page, a signature of another key, a cut one', async () => {
  signer.fail('unavailable')
  assert.equal((await sign({ data: '0x01' })).status, 503)
  signer.fail('html')
  assert.equal((await sign({ data: '0x01' })).type, 'text/html')
  signer.fail('other-key')
  const { text } = await sign({ data: '0x01' })
  assert.notEqual(await recoverAddress({ hash: keccak256('0x01'), signature: text as Hex }), first().address)
  signer.fail('truncated')
  assert.match((await sign({ data: '0x01' })).text, /^0x[0-9a-f]{128}$/)
  signer.fail(null)
  assert.equal((await sign({ data: '0x01' })).status, 200)
})
