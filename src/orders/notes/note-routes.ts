import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { actorOf } from '../../http/actor.ts'
import { Envelope, ok } from '../../http/envelope.ts'
import { contextOf } from '../../http/request-context.ts'
import { VISIBLE_PATTERN } from '../../kernel/names.ts'
import { Type } from '../../kernel/schema.ts'
import { CodeParams } from '../order-schemas.ts'
import { addNote, LONGEST_NOTE, listNotes, MOST_NOTES, type NoteDeps, removeNote } from './note-service.ts'

const HEAD = {
  _id: Type.String(),
  author: Type.String({
    description: 'Who wrote it: `user:<id>`.',
    examples: ['user:66a1f0c2e4b07d3a5c9e1f20'],
  }),
  authorName: Type.Union([Type.String(), Type.Null()], {
    description: 'The person’s name as it was then.',
    examples: ['Maud Lefèvre'],
  }),
  createdAt: Type.String({ format: 'date-time', description: 'UTC with milliseconds.' }),
  removable: Type.Boolean({ description: 'Whether you may remove it.' }),
}

const Notes = Type.Object({
  notes: Type.Array(
    Type.Object({
      ...HEAD,
      text: Type.Union([Type.String(), Type.Null()], {
        description: 'Plain text with line breaks. Null: it was encrypted with a master key that is no longer there.',
        examples: ['Called, comes on Friday.'],
      }),
    }),
    { description: `Newest first; at most ${MOST_NOTES}.` },
  ),
})

const Body = Type.Object({
  text: Type.String({
    ...{ minLength: 1, pattern: VISIBLE_PATTERN, examples: ['Called, comes on Friday.'] },
    description:
      `1 to ${LONGEST_NOTE} characters without the blanks at its ends. Line breaks are kept; other control characters ` +
      'are refused.',
  }),
})

const NoteParams = Type.Object({ ...CodeParams.properties, id: Type.String({ pattern: '^[0-9a-f]{24}$' }) })

/** What staff write on an order for their colleagues. */
export const noteRoutes: FastifyPluginAsyncTypebox<NoteDeps> = async (app, deps) => {
  app.get(
    '/notes/:code',
    {
      config: { permission: 'notes.read' },
      schema: {
        operationId: 'listOrderNotes',
        summary: 'Notes of the staff on an order',
        tags: ['orders'],
        params: CodeParams,
        response: { 200: Envelope(Notes) },
      },
    },
    async (request) => ok({ notes: await listNotes(deps, actorOf(request), request.params.code) }),
  )
  app.post(
    '/notes/:code',
    {
      config: { permission: 'notes.write' },
      schema: {
        operationId: 'addOrderNote',
        summary: 'Write a note on an order',
        tags: ['orders'],
        params: CodeParams,
        body: Body,
        response: { 200: Envelope(Type.Object(HEAD)) },
      },
    },
    async (request) => ok(await addNote(deps, contextOf(request), request.params.code, request.body)),
  )
  app.delete(
    '/notes/:code/:id',
    {
      config: { permission: 'notes.write' },
      schema: {
        operationId: 'removeOrderNote',
        summary: 'Remove a note from an order',
        tags: ['orders'],
        params: NoteParams,
        response: { 200: Envelope(Type.Null()) },
      },
    },
    async (request) => {
      await removeNote(deps, contextOf(request), request.params)
      return ok(null)
    },
  )
}
