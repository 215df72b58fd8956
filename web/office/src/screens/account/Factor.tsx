import { useState } from 'react'
import { call, type Data } from '../../api/call.ts'
import { useAction } from '../../api/hooks.ts'
import { readProfile, useSession } from '../../api/session.ts'
import { CodeField } from '../../frame/CodeField.tsx'
import { Form } from '../../kit/fields.tsx'
import { Code, Copy, Dialog, Panel, Refusal } from '../../kit/parts.tsx'
import { Qr } from '../../kit/Qr.tsx'
import { Question } from '../../kit/Question.tsx'
import { useTexts } from '../../texts/lang.ts'
import { texts } from './texts.ts'

/** The authenticator app: enrol, recovery codes, remove. */
export function Factor() {
  const t = useTexts(texts)
  const { user } = useSession()
  const [setup, setSetup] = useState<Data<'setupTwoFactor'> | null>(null)
  const [ask, setAsk] = useState<'renew' | 'disable' | null>(null)
  const [codes, setCodes] = useState<string[] | null>(null)
  const begin = useAction({ run: () => call('POST /api/next/auth/2fa/setup'), isAnew: true, onDone: setSetup })
  return (
    <Panel title={t.factor}>
      <p className="mb-3">{user.authenticatorEnabled ? t.factorApp : t.factorMail}</p>
      <Refusal error={begin.error} />
      <div className="flex flex-wrap gap-2">
        {user.authenticatorEnabled ? (
          <>
            <button type="button" className="btn" onClick={() => setAsk('renew')}>
              {t.renew}
            </button>
            <button type="button" className="btn" onClick={() => setAsk('disable')}>
              {t.disable}
            </button>
          </>
        ) : (
          <button type="button" className="btn btn-fill" onClick={() => begin.mutate(undefined)}>
            {t.enrol}
          </button>
        )}
      </div>
      {ask === 'renew' && (
        <Question
          word={t.renew}
          text={t.renewText}
          run={() => call('POST /api/next/auth/2fa/recovery-codes')}
          onDone={({ recoveryCodes }) => setCodes(recoveryCodes)}
          onClose={() => setAsk(null)}
        />
      )}
      {ask === 'disable' && (
        <Question
          word={t.disable}
          text={t.disableText}
          run={async () => {
            await call('POST /api/next/auth/2fa/disable')
            await readProfile()
          }}
          done={t.disabled}
          onClose={() => setAsk(null)}
        />
      )}
      {setup && (
        <Enrol
          setup={setup}
          onClose={() => setSetup(null)}
          onCodes={(list) => {
            setSetup(null)
            setCodes(list)
          }}
        />
      )}
      {codes && <RecoveryCodes codes={codes} onClose={() => setCodes(null)} />}
    </Panel>
  )
}

type EnrolProps = { setup: Data<'setupTwoFactor'>; onClose(): void; onCodes(codes: string[]): void }

function Enrol({ setup, onClose, onCodes }: EnrolProps) {
  const t = useTexts(texts)
  const secret = new URL(setup.otpauthUri).searchParams.get('secret') ?? ''
  const action = useAction({
    run: async (otp: string) => {
      const { recoveryCodes } = await call('POST /api/next/auth/2fa/enable', { body: { otp } })
      await readProfile()
      onCodes(recoveryCodes)
    },
  })
  return (
    <Dialog title={t.enrol} onClose={onClose}>
      <p className="mb-4">{t.scan}</p>
      <div className="mb-4 flex justify-center">
        <Qr text={setup.otpauthUri} label={t.scan} />
      </div>
      <p className="mb-4 text-sm text-soft">
        {t.secret} <Code text={secret} whole /> <Copy text={secret} />
      </p>
      <Form
        button={t.enable}
        isBusy={action.isPending}
        error={action.error}
        onSend={({ code = '' }) => action.mutate(code)}
      >
        <CodeField label={t.code} />
      </Form>
    </Dialog>
  )
}

function RecoveryCodes({ codes, onClose }: { codes: string[]; onClose(): void }) {
  const t = useTexts(texts)
  return (
    <Dialog title={t.codesTitle} onClose={onClose} isOnce>
      <p className="mb-4">{t.codesText}</p>
      <ul className="mb-4 grid grid-cols-2 gap-2 text-center font-mono">
        {codes.map((code) => (
          <li key={code} className="code py-2">
            {code}
          </li>
        ))}
      </ul>
      <div className="flex flex-wrap gap-2">
        <button type="button" className="btn btn-fill" onClick={onClose}>
          {t.codesDone}
        </button>
        <Copy text={codes.join('\n')} />
      </div>
    </Dialog>
  )
}
