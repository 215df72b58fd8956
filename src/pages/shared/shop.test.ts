import assert from 'node:assert/strict'
import { test } from 'node:test'
import { brandStyle, contrast } from './shop.ts'

const COLOURS = ['#ffff00', '#000000', '#ffffff', '#777777', '#ff0000', '#00ff00', '#0000ff', '#7a1f3d', '#f4c2c2']

/** The accent and its text colour, light and dark, as the page gets them. */
const accentsOf = (brandColor: string): [string, string][] =>
  [...brandStyle({ brandColor }).matchAll(/--accent:(#[0-9a-f]{6});--on-accent:(#[0-9a-f]{6})/g)].map(
    ([, accent = '', on = '']) => [accent, on],
  )

test('whatever colour a shop chooses, links and buttons can be read, light and dark (WCAG AA)', () => {
  for (const colour of COLOURS) {
    const [light, dark] = accentsOf(colour)
    assert.ok(light && dark, colour)
    for (const ground of ['#ffffff', '#f4f5f6']) assert.ok(contrast(light[0], ground) >= 4.5, `${colour} on ${ground}`)
    for (const ground of ['#171b20', '#20262c']) assert.ok(contrast(dark[0], ground) >= 4.5, `${colour} on ${ground}`)
    for (const [accent, on] of [light, dark]) assert.ok(contrast(on, accent) >= 4.5, `${on} on ${accent}`)
  }
})

test('only six hexadecimal digits get into the style', () => {
  for (const bad of ['red', '#fff', '#12345g', '#123456;}body{display:none', 'url(https://evil.example)'])
    assert.equal(brandStyle({ brandColor: bad }), '')
  assert.equal(brandStyle({ brandColor: null }), '')
})
