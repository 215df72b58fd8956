import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { test } from 'node:test'

/*
 * The shape of the house: how full a room may be, how much one file may know, and that no two rooms need each other.
 * The numbers are signs, not aims. Where one would make a room worse, docs/decisions says why and the list here too.
 */

const ROOT = join(import.meta.dirname, '..')
const read = (file: string): string => readFileSync(join(ROOT, file), 'utf8')
const list = (pattern: string): string[] =>
  globSync(pattern, { cwd: ROOT })
    // what a build leaves beside the source comes and goes
    .filter((file) => !/(^|\/)(node_modules|dist)\//.test(file))
    .sort()

const everything = list('{src,sandbox,sdk,cli,test,simulation,bench,scripts,examples}/**/*.ts')
const sources = list('src/**/*.ts').filter((file) => !file.endsWith('.test.ts'))

/** Files that a file imports, type-only imports included: a type is a dependency of the reader too. */
function importsOf(file: string): string[] {
  const found = [...read(file).matchAll(/(?:from|import)\s*\(?\s*'(\.[^']+)'/g)]
  return [...new Set(found.map(([, specifier = '']) => join(dirname(file), specifier)))]
}

const MAX_FILES = 20
const MAX_ROOT_FILES = 6

test('no folder is a drawer: at most 20 files in one, and 6 in the root of src', () => {
  const counts = new Map<string, number>()
  for (const file of sources) counts.set(dirname(file), (counts.get(dirname(file)) ?? 0) + 1)
  const full = [...counts].filter(([folder, count]) => count > (folder === 'src' ? MAX_ROOT_FILES : MAX_FILES))
  assert.deepEqual(full, [])
})

const MAX_IMPORTS = 35

test('no file needs more than 35 others: whoever reads it can hold it in mind', () => {
  const wide = sources
    .map((file) => ({ file, count: importsOf(file).length }))
    .filter(({ count }) => count > MAX_IMPORTS)
  assert.deepEqual(wide, [])
})

/** Groups of names that reach each other, by Tarjan's algorithm. */
function findCircles(edges: ReadonlyMap<string, readonly string[]>): string[][] {
  const order = new Map<string, number>()
  const low = new Map<string, number>()
  const stack: string[] = []
  const circles: string[][] = []
  const walk = (node: string): void => {
    order.set(node, order.size)
    low.set(node, order.get(node) ?? 0)
    stack.push(node)
    for (const next of edges.get(node) ?? []) {
      if (!order.has(next)) walk(next)
      if (stack.includes(next)) low.set(node, Math.min(low.get(node) ?? 0, low.get(next) ?? 0))
    }
    if (low.get(node) !== order.get(node)) return
    const group = stack.splice(stack.indexOf(node))
    if (group.length > 1) circles.push(group.sort())
  }
  for (const node of edges.keys()) if (!order.has(node)) walk(node)
  return circles
}

test('no circle between files, type-only imports included', () => {
  const files = list('{src,sandbox,sdk,cli,simulation,bench,scripts,web}/**/*.{ts,tsx}')
  const edges = new Map(files.map((file) => [file, importsOf(file)]))
  assert.deepEqual(findCircles(edges), [])
})

test('no circle between rooms', () => {
  const roomOf = (file: string): string => file.split('/').slice(0, 2).join('/')
  const rooms = sources.filter((file) => dirname(file) !== 'src')
  const edges = new Map<string, string[]>()
  for (const file of rooms) {
    const known = edges.get(roomOf(file)) ?? []
    const targets = importsOf(file).map(roomOf)
    edges.set(roomOf(file), [...known, ...targets.filter((target) => target !== roomOf(file))])
  }
  assert.deepEqual(findCircles(edges), [])
})

test('no type is talked away: neither `as never` nor `as any` outside tests', () => {
  const wrong = [...sources, ...list('web/office/src/**/*.{ts,tsx}')].flatMap((file) =>
    read(file)
      .split('\n')
      .flatMap((line, index) =>
        /\bas (never|any)\b/.test(line) && !/^\s*(\*|\/\/)/.test(line) ? [`${file}:${index + 1}`] : [],
      ),
  )
  assert.deepEqual(wrong, [])
})

/** The parameters between two parentheses that a function begins with, split at the commas of its own level. */
function parametersOf(text: string): number {
  let depth = 0
  let count = text.trim() === '' ? 0 : 1
  for (const [index, character] of [...text].entries()) {
    if ('([{<'.includes(character)) depth += 1
    // the arrow of a function type closes nothing
    if (')]}'.includes(character) || (character === '>' && text[index - 1] !== '=')) depth -= 1
    if (character === ',' && depth === 0 && text.slice(index + 1).trim() !== '') count += 1
  }
  return count
}

const MAX_WITH_MANY = 15

test('few functions take more than four parameters', () => {
  const many = sources.flatMap((file) => {
    const text = read(file)
    const heads = [...text.matchAll(/(?:function \w+(?:<[^(]*>)?|(?:const|async) \w+ = (?:async )?)\(/g)]
    return heads.flatMap((head) => {
      const from = head.index + head[0].length
      let depth = 1
      let to = from
      while (depth > 0 && to < text.length) {
        if (text[to] === '(') depth += 1
        if (text[to] === ')') depth -= 1
        to += 1
      }
      return parametersOf(text.slice(from, to - 1)) > 4 ? [`${file} ${head[0]}`] : []
    })
  })
  assert.ok(many.length < MAX_WITH_MANY, many.join('\n'))
})

test('every export is used by another file', () => {
  const users = everything
  const words = new Map(users.map((file) => [file, new Set(read(file).match(/\w+/g))]))
  const unused = sources.flatMap((file) => {
    const names = [...read(file).matchAll(/^export (?:async )?(?:function|const|class) (\w+)/gm)].map(
      ([, name = '']) => name,
    )
    return names
      .filter((name) => !users.some((user) => user !== file && words.get(user)?.has(name)))
      .map((name) => `${file} ${name}`)
  })
  assert.deepEqual(unused, [])
})
