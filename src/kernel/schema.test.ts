import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Type as Library } from 'typebox'
import { Type } from './schema.ts'

/** The same schemas with either builder: each one with and without keywords. */
function build({ ...T }: typeof Type): unknown[] {
  const Part = T.Object({ name: T.String(), note: T.Optional(T.String({ maxLength: 9 })) }, { description: 'a part' })
  const { note } = Part.properties
  return [
    ...[T.Any(), T.Any({ description: 'any' }), T.Unknown(), T.Unknown({ description: 'unknown' })],
    ...[T.Null(), T.Boolean({ default: false }), T.Number({ minimum: -1 }), T.Integer(), T.Integer({ minimum: 1 })],
    ...[T.String(), T.String({ format: 'uuid', description: 'an id' }), T.Literal('EUR'), T.Literal(7, { title: '7' })],
    ...[T.Array(T.String()), T.Array(Part, { minItems: 1, description: 'parts' })],
    ...[T.Union([T.Null(), Part]), T.Union([T.Literal('a'), T.Literal('b')], { description: 'a or b' })],
    ...[T.Enum({ first: 'first', second: 'second' }), T.Enum({ first: '1st' }, { description: 'a choice' })],
    ...[T.Record(T.String(), T.Number()), T.Record(T.String({ maxLength: 4 }), Part, { maxProperties: 3 })],
    ...[T.Ref('Part'), T.Unsafe<string>({ type: 'string', nullable: true }), T.Partial(Part)],
    ...[T.Partial(Part, { description: 'a change' }), T.Object({}), T.Object({ part: Part, rest: T.Optional(Part) })],
    // a schema that is modified on the way: optional is what was built so, not a copy of it
    T.Object({ copied: { ...note }, kept: note, again: T.Optional(T.Optional(T.Null())) }),
    T.Object({ part: T.Partial(T.Object({ deep: Part })) }, { additionalProperties: false }),
  ]
}

test('a schema is what the library makes of it, to the order of its keywords', () => {
  const [ours, theirs] = [build(Type), build(Library)]
  for (const [at, schema] of ours.entries()) assert.equal(JSON.stringify(schema), JSON.stringify(theirs[at]))
})

test('what is changed into an optional schema stays as it was for others', () => {
  const Name = Type.String()
  Type.Object({ name: Type.Optional(Name) })
  assert.deepEqual(Type.Object({ name: Name }).required, ['name'])
})
