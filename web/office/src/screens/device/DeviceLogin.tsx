import { useState } from 'react'
import { ApiError, type Body, call, type Data } from '../../api/call.ts'
import { useAction, useApi } from '../../api/hooks.ts'
import { useAddress } from '../../frame/address.ts'
import { OneCompany, useCompanyQuery } from '../../frame/company.tsx'
import { Check, Field, Form, Select } from '../../kit/fields.tsx'
import { Facts, Loaded, Notice, Page, Panel, Time } from '../../kit/parts.tsx'
import { useTexts } from '../../texts/lang.ts'
import { texts as keyTexts } from '../keys/texts.ts'
import { texts } from './texts.ts'

type Waiting = Data<'getDeviceLogin'>
type Done = 'approved' | 'denied'

const DAYS = ['1', '7', '30', '90', '365'] as const

/**
 * A program asks for a key: whoever confirms must know that it is their own program (RFC 8628, 5.4: remote phishing).
 */
export function DeviceLogin() {
  const t = useTexts(texts)
  const [{ code }, go] = useAddress() as unknown as [{ code?: string }, (change: { code: string | undefined }) => void]
  const [done, setDone] = useState<Done | null>(null)
  return (
    <Page title={t.title} lead={t.lead}>
      <div className="max-w-xl">
        {done && <Notice tone={done === 'approved' ? 'good' : 'info'}>{t[done]}</Notice>}
        {!done && !code && (
          <Panel title={t.which}>
            <Form button={t.look} onSend={({ code: typed }) => typed && go({ code: typed })}>
              <Field
                label={t.code}
                name="code"
                required
                kind="code"
                autoComplete="off"
                autoCapitalize="characters"
                placeholder="XXXX-XXXX"
                hint={t.codeHint}
              />
            </Form>
          </Panel>
        )}
        {!done && code && (
          <OneCompany>
            {() => <Question code={code} onDone={setDone} onOther={() => go({ code: undefined })} />}
          </OneCompany>
        )}
      </div>
    </Page>
  )
}

type QuestionProps = { code: string; onDone(done: Done): void; onOther(): void }

function Question({ code, onDone, onOther }: QuestionProps) {
  const t = useTexts(texts)
  const login = useApi('GET /api/next/auth/device/{userCode}', { path: { userCode: code } })
  const isUnknown = login.error instanceof ApiError && login.error.code === 'OBJECT_NOT_FOUND'
  const isDecided = login.data !== undefined && login.data.status !== 'pending'
  if (isUnknown || isDecided) {
    return (
      <>
        <Notice tone="warn">{t.unknown}</Notice>
        <button type="button" className="btn" onClick={onOther}>
          {t.other}
        </button>
      </>
    )
  }
  return <Loaded query={login}>{(found) => <Decide code={code} login={found} onDone={onDone} />}</Loaded>
}

function Decide({ code, login, onDone }: { code: string; login: Waiting; onDone(done: Done): void }) {
  const t = useTexts(texts)
  const keys = useTexts(keyTexts)
  const query = useCompanyQuery()
  const path = { userCode: code }
  const approve = useAction({
    run: ({ days, mine: _mine, ...scopes }: Record<string, string>) => {
      const body = { scopes: Object.keys(scopes), days: Number(days) } as Body<'approveDeviceLogin'>
      return call('POST /api/next/auth/device/{userCode}/approve', { path, query, body })
    },
    onDone: () => onDone('approved'),
  })
  const deny = useAction({
    run: () => call('POST /api/next/auth/device/{userCode}/deny', { path }),
    onDone: () => onDone('denied'),
  })
  const shown = code.toUpperCase()
  return (
    <Panel title={t.asks}>
      <p className="num mb-4 text-center text-3xl font-semibold tracking-widest">{shown}</p>
      <Facts
        rows={[
          [t.program, login.clientName],
          [t.address, login.ip],
          [t.started, <Time key="started" at={login.createdAt} ago />],
        ]}
      />
      <div className="mt-4">
        <Notice tone={login.sameAddress ? 'info' : 'warn'}>{login.sameAddress ? t.same : t.foreign(login.ip)}</Notice>
      </div>
      <Form
        button={t.approve}
        isBusy={approve.isPending}
        error={approve.error ?? deny.error}
        onSend={(values) => approve.mutate(values)}
        beside={
          <button type="button" className="btn" disabled={deny.isPending} onClick={() => deny.mutate(undefined)}>
            {t.deny}
          </button>
        }
      >
        <fieldset className="mb-4">
          <legend className="mb-2 text-sm font-medium">{keys.scopes}</legend>
          {login.scopes.map((scope) => (
            <Check key={scope} label={keys.scope[scope] ?? scope} hint={scope} name={scope} value="on" defaultChecked />
          ))}
        </fieldset>
        <Select
          label={t.lives}
          name="days"
          defaultValue="90"
          options={DAYS.map((days): [string, string] => [days, t.days(Number(days))])}
        />
        <Check label={t.mine(shown)} name="mine" required />
      </Form>
    </Panel>
  )
}
