import { useState } from 'react'
import { type Body, call, type Data } from '../../api/call.ts'
import { useAction, useApi } from '../../api/hooks.ts'
import { Area, Field, Form, Select } from '../../kit/fields.tsx'
import { Badge, Loaded, Panel, Time } from '../../kit/parts.tsx'
import { Question } from '../../kit/Question.tsx'
import { useCore, useTexts } from '../../texts/lang.ts'
import { statusTexts } from './status-texts.ts'

type Announcement = Data<'listAnnouncements'>[number]

/** One operator writes, every office shows it. */
export function Announcements() {
  const t = useTexts(statusTexts)
  const core = useCore()
  const list = useApi('GET /api/next/announcements', {})
  const make = useAction({
    run: ({ text = '', tone, endsAt }: Record<string, string>) => {
      const until = endsAt ? { endsAt: new Date(endsAt).toISOString() } : {}
      return call('POST /api/next/announcements', { body: { text, tone, ...until } as Body<'createAnnouncement'> })
    },
    isAnew: true,
    done: t.announced,
  })
  const [asked, setAsked] = useState<Announcement | null>(null)
  return (
    <Panel title={t.announcements}>
      <Loaded query={list} isEmpty={(all) => all.length === 0} empty={<p className="mb-4 text-soft">{t.nothing}</p>}>
        {(all) => (
          <ul className="mb-4 divide-y divide-line">
            {all.map((one) => (
              <li key={one._id} className="flex flex-wrap items-start justify-between gap-3 py-2">
                <p className="min-w-0 break-words">
                  <Badge tone={one.tone}>{one.tone === 'warn' ? t.warn : t.info}</Badge> {one.text}
                  {one.endsAt && (
                    <span className="block text-sm text-soft">
                      {t.until} <Time at={one.endsAt} />
                    </span>
                  )}
                </p>
                <button type="button" className="btn" onClick={() => setAsked(one)}>
                  {t.takeDown}
                </button>
              </li>
            ))}
          </ul>
        )}
      </Loaded>
      {asked && (
        <Question
          word={t.takeDown}
          text={asked.text}
          run={() => call('DELETE /api/next/announcements/{id}', { path: { id: asked._id } })}
          done={t.takenDown}
          onClose={() => setAsked(null)}
        />
      )}
      <Form
        button={t.announce}
        isBusy={make.isPending}
        error={make.error}
        onSend={(values, form) => make.mutate(values, { onSuccess: () => form.reset() })}
      >
        <Area label={t.text} name="text" required maxLength={500} />
        <div className="grid gap-x-3 sm:grid-cols-2">
          <Select label={t.tone} name="tone" options={[['info', t.info] as const, ['warn', t.warn] as const]} />
          <Field label={`${t.until} (${core.optional})`} name="endsAt" type="datetime-local" />
        </div>
      </Form>
    </Panel>
  )
}
