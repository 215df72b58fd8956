import { useParams } from '@tanstack/react-router'
import { useRef, useState } from 'react'
import { call, type Data } from '../../api/call.ts'
import { useAction, useApi, useOpening } from '../../api/hooks.ts'
import { useCan } from '../../api/session.ts'
import { Area, Form } from '../../kit/fields.tsx'
import { SLOW_MS } from '../../kit/live.ts'
import { Dialog, Loaded, Panel, Time } from '../../kit/parts.tsx'
import { useTexts } from '../../texts/lang.ts'
import { noteTexts } from './note-texts.ts'

type Note = Data<'listOrderNotes'>['notes'][number]

/** What colleagues wrote on the order. It is never printed, because the payer may get the paper. */
export function Notes() {
  const t = useTexts(noteTexts)
  const { code } = useParams({ from: '/inside/orders/$code' })
  const can = useCan()
  const notes = useApi('GET /api/next/confirm_conversion/notes/{code}', { path: { code } }, { liveMs: SLOW_MS })
  const [removed, setRemoved] = useState(0)
  return (
    <div className="no-print">
      <Panel title={t.notes}>
        {can('notes.write') && <Write code={code} removed={removed} />}
        <Loaded
          query={notes}
          isEmpty={({ notes: all }) => all.length === 0}
          empty={<p className="text-sm text-soft">{t.none}</p>}
        >
          {({ notes: all }) => (
            <ul className="divide-y divide-line">
              {all.map((note) => (
                <Item key={note._id} note={note} code={code} onRemoved={() => setRemoved(removed + 1)} />
              ))}
            </ul>
          )}
        </Loaded>
      </Panel>
    </div>
  )
}

/** Pasted text brings along what the service refuses: tabs, and marks that turn the direction of writing. */
const clean = (text: string): string =>
  text.replaceAll(/[\u202a-\u202e\u2066-\u2069]/g, '').replaceAll(/(?![\r\n])\p{Cc}/gu, ' ')

/** @param removed how many notes were: the same words again are a new note then, also where the answer got lost */
function Write({ code, removed }: { code: string; removed: number }) {
  const t = useTexts(noteTexts)
  const opening = useOpening()
  const sent = useRef<{ area: HTMLTextAreaElement; text: string }>(null)
  const add = useAction({
    run: (text: string) => {
      const deed = { opening: `${opening}-${removed}`, typed: text }
      return call('POST /api/next/confirm_conversion/notes/{code}', {
        path: { code },
        body: { text: clean(text) },
        deed,
      })
    },
    done: t.added,
    // before the page is asked anew: the next note is not written behind this one. What was typed meanwhile stays
    onDone: () => {
      if (sent.current && sent.current.area.value === sent.current.text) sent.current.area.form?.reset()
    },
  })
  return (
    <div className="mb-4">
      <Form
        isGuarded
        button={t.add}
        isBusy={add.isPending}
        isSaved={add.isDone}
        error={add.error}
        onSend={({ text = '' }, form) => {
          const area = form.elements.namedItem('text') as HTMLTextAreaElement
          sent.current = { area, text: area.value }
          add.mutate(text)
        }}
      >
        <Area label={t.write} name="text" required maxLength={2000} rows={3} dir="auto" hint={t.hint} />
      </Form>
    </div>
  )
}

const Text = ({ text }: { text: string }) => (
  <p dir="auto" className="whitespace-pre-wrap wrap-anywhere">
    {text}
  </p>
)

function Item({ note, code, onRemoved }: { note: Note; code: string; onRemoved(): void }) {
  const t = useTexts(noteTexts)
  const [isAsking, setAsking] = useState(false)
  const remove = useAction({
    run: () => call('DELETE /api/next/confirm_conversion/notes/{code}/{id}', { path: { code, id: note._id } }),
    done: t.removed,
    onDone: onRemoved,
  })
  const text = note.text ?? t.unreadable
  const who = note.authorName ?? note.author
  return (
    <li className="py-3 text-sm">
      <Text text={text} />
      <div className="mt-1 flex flex-wrap items-center justify-between gap-x-3 text-soft">
        <span className="min-w-0">
          <bdi className="wrap-anywhere">{who}</bdi> · <Time at={note.createdAt} />
        </span>
        {note.removable && (
          <button
            type="button"
            className="btn btn-quiet min-h-8 py-1 text-sm"
            aria-label={t.removeOf(who)}
            onClick={() => setAsking(true)}
          >
            {t.remove}
          </button>
        )}
      </div>
      {isAsking && (
        <Dialog title={t.removeTitle} onClose={() => setAsking(false)}>
          <Form
            tone="bad"
            button={t.remove}
            isBusy={remove.isPending}
            error={remove.error}
            onSend={() => remove.mutate(undefined)}
          >
            <Text text={text} />
            <p className="my-4 text-soft">{t.removeText}</p>
          </Form>
        </Dialog>
      )}
    </li>
  )
}
