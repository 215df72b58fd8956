import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { joinPages } from '../web/office/src/api/pages.ts'
import { dayEnd, toPeriod } from '../web/office/src/kit/days.ts'
import { loadSheet, type Progress } from '../web/office/src/screens/orders/load-export.ts'
import { RowCollector } from '../web/office/src/screens/orders/whole-rows.ts'

const idOf = (index: number): string => index.toString(16).padStart(24, '0')
const quote = (text: string): string => (/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text)
const HEAD = 'Id,Company,Goods\r\n'

test('wherever the connection breaks, the rows before and the rest make the whole file', () => {
  const goods = fc.string({ unit: fc.constantFrom('a', '"', ',', '\r', '\n', 'é', `${idOf(1)},`), maxLength: 12 })
  fc.assert(
    fc.property(
      fc.array(goods, { minLength: 1, maxLength: 12 }),
      fc.nat(),
      fc.integer({ min: 1, max: 9 }),
      (texts, at, size) => {
        const rows = texts.map((text, index) => `${idOf(index)},c,${quote(text)}\r\n`)
        const whole = HEAD + rows.join('')
        const collector = new RowCollector()
        const push = (text: string): void => {
          for (let from = 0; from < text.length; from += size) collector.push(text.slice(from, from + size))
        }
        push(whole.slice(0, at % whole.length))
        collector.cut()
        const { lastId } = collector.whole()
        const known = lastId === null ? -1 : rows.findIndex((row) => row.startsWith(lastId))
        const rest = rows.slice(known + 1).join('')
        const titles = lastId === null ? HEAD : ''
        push(titles + rest)
        assert.equal(collector.whole().text, whole)
        assert.equal(collector.count, rows.length)
      },
    ),
  )
})

test('a spreadsheet says how much of it has come, and starts again after a broken connection', async () => {
  const told: Progress[] = []
  const parts = ['PK1234', 'abcdef', '!']
  const answer = (count: number): Response => {
    const left = parts.slice(0, count).map((text) => new TextEncoder().encode(text))
    const isWhole = count === parts.length
    const pull = (stream: ReadableStreamDefaultController): void => {
      const next = left.shift()
      if (next) stream.enqueue(next)
      else if (isWhole) stream.close()
      else stream.error(new Error('cut'))
    }
    return new Response(new ReadableStream({ pull }), {
      headers: { 'content-disposition': 'attachment; filename="orders.xlsx"' },
    })
  }
  const answers = [answer(1), answer(3)]
  const { name, blob } = await loadSheet(
    async () => answers.shift() ?? assert.fail('asked once too often'),
    (progress) => void told.push(progress),
  )
  assert.deepEqual([name, await blob.text()], ['orders.xlsx', parts.join('')])
  assert.deepEqual(told, [
    ...[
      { bytes: 6, isResuming: false },
      { bytes: 0, isResuming: true },
    ],
    ...[6, 12, 13].map((bytes) => ({ bytes, isResuming: false })),
  ])
})

test('a list of more than one page is read whole, and one that shrinks meanwhile ends', async () => {
  const rows = Array.from({ length: 250 }, (_, index) => idOf(index))
  const asked: number[] = []
  const pageOf = async (page: number) => {
    asked.push(page)
    return { collectors: rows.slice((page - 1) * 100, page * 100), total: 250 }
  }
  assert.deepEqual((await joinPages(pageOf)).collectors, rows)
  assert.deepEqual(asked, [1, 2, 3])
  const shrunk = async (page: number) => ({ total: 250, collectors: page === 1 ? rows.slice(0, 100) : [] })
  assert.equal((await joinPages(shrunk)).collectors.length, 100)
})

test('the books of two months that meet miss no instant, and hold none twice', () => {
  const october = toPeriod({ from: '2026-10-01', to: '2026-10-31' })
  assert.equal(october.to, toPeriod({ from: '2026-11-01' }).from)
  assert.ok(`${dayEnd('2026-10-31')}` < `${october.to}`, 'its last millisecond is before the end')
  assert.deepEqual(toPeriod({ to: 'soon' }), {})
})
