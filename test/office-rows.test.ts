import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
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
