import { useState } from 'react'
import { call, type Data } from '../../api/call.ts'
import { useAction, useApi } from '../../api/hooks.ts'
import { readProfile } from '../../api/session.ts'
import { canPasskey, makePasskey } from '../../frame/passkey.ts'
import { Field, Form } from '../../kit/fields.tsx'
import { Dialog, Facts, Loaded, Panel, Time } from '../../kit/parts.tsx'
import { Question } from '../../kit/Question.tsx'
import { useTexts } from '../../texts/lang.ts'
import { passkeyTexts } from './passkey-texts.ts'

type Passkey = Data<'listPasskeys'>[number]

/** Keys on devices that confirm a login with a touch. */
export function Passkeys() {
  const t = useTexts(passkeyTexts)
  const list = useApi('GET /api/next/auth/passkeys', {})
  const [isNew, setNew] = useState(false)
  return (
    <Panel title={t.title}>
      <p className="mb-3">{canPasskey() ? t.text : t.unsupported}</p>
      <Loaded query={list} isEmpty={(keys) => keys.length === 0} empty={<p className="mb-3 text-soft">{t.none}</p>}>
        {(keys) => (
          <ul className="mb-3 divide-y divide-line">
            {keys.map((passkey) => (
              <li key={passkey._id} className="py-3">
                <Row passkey={passkey} />
              </li>
            ))}
          </ul>
        )}
      </Loaded>
      {canPasskey() && (
        <button type="button" className="btn" onClick={() => setNew(true)}>
          {t.add}
        </button>
      )}
      {isNew && <NewPasskey onClose={() => setNew(false)} />}
    </Panel>
  )
}

function NewPasskey({ onClose }: { onClose(): void }) {
  const t = useTexts(passkeyTexts)
  const add = useAction({
    run: async (name: string) => {
      const response = await makePasskey().catch((error: unknown) => {
        // cancelling the browser's own dialog needs no message from us
        throw error instanceof DOMException ? new Error(t.givenUp) : error
      })
      await call('POST /api/next/auth/passkeys', { body: { name, response } })
      await readProfile()
    },
    done: t.added,
    onDone: onClose,
  })
  return (
    <Dialog title={t.add} onClose={onClose}>
      <Form button={t.make} isBusy={add.isPending} error={add.error} onSend={({ name = '' }) => add.mutate(name)}>
        <Field label={t.name} name="name" required maxLength={60} hint={t.nameHint} />
      </Form>
    </Dialog>
  )
}

function Row({ passkey }: { passkey: Passkey }) {
  const t = useTexts(passkeyTexts)
  const [isAsking, setAsking] = useState(false)
  return (
    <div className="flex flex-wrap items-start justify-between gap-3">
      <div className="min-w-0">
        <p className="font-medium break-words">{passkey.name}</p>
        <Facts
          rows={[
            [t.created, <Time key="created" at={passkey.createdAt} />],
            [t.used, passkey.lastUsedAt ? <Time key="used" at={passkey.lastUsedAt} ago /> : t.never],
          ]}
        />
      </div>
      <button type="button" className="btn" onClick={() => setAsking(true)}>
        {t.remove}
      </button>
      {isAsking && (
        <Question
          word={t.remove}
          text={t.removeText(passkey.name)}
          run={async () => {
            await call('DELETE /api/next/auth/passkeys/{id}', { path: { id: passkey._id } })
            await readProfile()
          }}
          done={t.removed}
          onClose={() => setAsking(false)}
        />
      )}
    </div>
  )
}
