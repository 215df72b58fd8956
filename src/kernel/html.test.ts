import assert from 'node:assert/strict'
import { test } from 'node:test'
import { appLink, html, raw, webLink } from './html.ts'

test('values are escaped, also in attributes and lists; markup and raw text are not', () => {
  const evil = `<b a="1" b='2'>&`
  const safe = '&lt;b a=&quot;1&quot; b=&#39;2&#39;&gt;&amp;'
  assert.equal(
    html`<p title="${evil}">${[evil, html`<i>${evil}</i>`]}</p>`.text,
    `<p title="${safe}">${safe}<i>${safe}</i></p>`,
  )
  assert.equal(html`${raw('<br>')}`.text, '<br>')
})

test('a text turns the direction of nothing behind it; letters of other scripts stay', () => {
  assert.equal(
    html`<b title="${'a\u202e'}">${'Table\u202e \u2066x\u2069'}</b> 5.00`.text,
    '<b title="a">Table x</b> 5.00',
  )
  assert.equal(html`${'שלום \u200f שלום'}`.text, 'שלום \u200f שלום')
})

test('null, undefined and false show nothing; zero and large numbers show', () => {
  assert.equal(html`a${null}b${undefined}c${false}d${0}e${9007199254740993n}`.text, 'abcd0e9007199254740993')
})

test('indentation of a template disappears, line breaks inside of values stay', () => {
  const text = html`<ul>
    <li>${'one\n  two'}</li>
    ${html`<li>three
      four</li>`}
  </ul>`.text
  assert.equal(text, '<ul><li>one\n  two</li><li>three four</li></ul>')
})

test('only web links are links, and no link to an app can run a script', () => {
  assert.equal(webLink('https://shop.example/a?b=c'), 'https://shop.example/a?b=c')
  for (const text of ['javascript:alert(1)', 'data:text/html,x', 'ftp://a', '//a', 'a', '', null, ' javascript:x']) {
    assert.equal(webLink(text), null, String(text))
  }
  assert.equal(appLink('bnc://app.example/pay?id=1'), 'bnc://app.example/pay?id=1')
  for (const text of ['javascript:alert(1)', 'JavaScript:x', 'data:text/html,x', 'java\nscript:alert(1)', 'blob:x']) {
    assert.equal(appLink(text), null, text)
  }
})
