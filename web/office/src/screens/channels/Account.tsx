import { useState } from 'react'
import { ApiError, call, type Data } from '../../api/call.ts'
import { useAction } from '../../api/hooks.ts'
import { recognize } from '../../api/sentences.ts'
import { useChannelName } from '../../frame/channels.ts'
import { useCompanyQuery } from '../../frame/company.tsx'
import { Field, Form } from '../../kit/fields.tsx'
import { Code, Copy, Dialog, Notice, Refusal, type Tone } from '../../kit/parts.tsx'
import { useCore, useTexts, wordFor } from '../../texts/lang.ts'
import { accountTexts } from './account-texts.ts'
import type { Account } from './kinds.ts'
import { OwnWallet } from './OwnWallet.tsx'

type Verdict = Data<'checkChannelAccount'>
/** Actions in a row: there are many rows, so they are unobtrusive. */
export const SMALL = 'btn btn-quiet min-h-9 px-2 py-1 text-sm text-brand'

type Ask = 'settings' | 'drop' | null

const TONES: Record<Verdict['outcome'], Tone> = { accepted: 'good', refused: 'bad', clock: 'bad', silent: 'warn' }

/** The company's own account at a provider, or its own wallet: set up, check, change, remove. */
export function OwnAccount({ account }: { account: Account }) {
  const t = useTexts(accountTexts)
  const query = useCompanyQuery()
  const [ask, setAsk] = useState<Ask>(null)
  const path = { channel: account.channel }
  const isWallet = account.channel === 'crypto'
  const check = useAction({
    run: () => call('POST /api/next/channel-accounts/{channel}/check', { path, query }),
    isAnew: true,
  })
  const onSaved = (): void => {
    setAsk(null)
    if (!isWallet) check.mutate(undefined)
  }
  const button = (word: string, onClick: () => void, isBusy = false) => (
    <button type="button" className={SMALL} aria-busy={isBusy} disabled={isBusy} onClick={onClick}>
      {word}
    </button>
  )
  return (
    <>
      {button(account.own ? t.change : isWallet ? t.setUpWallet : t.setUp, () => setAsk('settings'))}
      {account.own && !isWallet && button(t.check, () => check.mutate(undefined), check.isPending)}
      {account.own && button(isWallet ? t.dropWallet : t.drop, () => setAsk('drop'))}
      {account.own && (check.data || check.error) && (
        <div className="basis-full">
          <Refusal error={check.error} />
          {check.data && <Said verdict={check.data} />}
        </div>
      )}
      {ask === 'settings' &&
        (isWallet ? (
          <OwnWallet account={account} onClose={() => setAsk(null)} />
        ) : (
          <Settings account={account} onClose={() => setAsk(null)} onSaved={onSaved} />
        ))}
      {ask === 'drop' && <Drop account={account} onDropped={check.reset} onClose={() => setAsk(null)} />}
    </>
  )
}

function Said({ verdict: { outcome, reason } }: { verdict: Verdict }) {
  const t = useTexts(accountTexts)
  return (
    <Notice tone={TONES[outcome]}>
      {t.outcomes[outcome]}
      {reason && <span className="mt-1 block text-xs break-words">{t.said(reason)}</span>}
    </Notice>
  )
}

/** Where the provider did not say whose credentials these are, waiting or other ones help, and insisting harms. */
const NOT_TOLD: readonly (string | undefined)[] = ['accountSilent', 'accountRefused']

/** The service refused because payments or refunds need the account that goes; the person may insist. */
const isNeeded = (error: unknown): boolean =>
  error instanceof ApiError && error.code === 'ACCOUNT_IN_USE' && !NOT_TOLD.includes(recognize(error.message)?.name)

/** The credentials are deleted and can only be entered again. */
function Drop({ account, onDropped, onClose }: { account: Account; onDropped(): void; onClose(): void }) {
  const t = useTexts(accountTexts)
  const query = useCompanyQuery()
  const action = useAction({
    run: (force: boolean) =>
      call('DELETE /api/next/channel-accounts/{channel}', {
        path: { channel: account.channel },
        query: { ...query, force },
      }),
    done: t.dropped,
    onDone: () => {
      onDropped()
      onClose()
    },
  })
  const force = isNeeded(action.error)
  const word = account.channel === 'crypto' ? t.dropWallet : t.drop
  return (
    <Dialog title={word} onClose={onClose}>
      <Form
        button={force ? t.dropAnyway : word}
        tone="bad"
        isBusy={action.isPending}
        error={action.error}
        onSend={() => action.mutate(force)}
      >
        <p className="mb-4">{t.dropText}</p>
      </Form>
    </Dialog>
  )
}

function Settings({ account, onClose, onSaved }: { account: Account; onClose(): void; onSaved(): void }) {
  const t = useTexts(accountTexts)
  const core = useCore()
  const channelName = useChannelName()
  const query = useCompanyQuery()
  const action = useAction({
    run: ({ settings, force }: { settings: Record<string, string>; force: boolean }) =>
      call('PUT /api/next/channel-accounts/{channel}', {
        path: { channel: account.channel },
        body: { settings },
        query: { ...query, force },
      }),
    done: core.saved,
    onDone: onSaved,
  })
  const force = isNeeded(action.error)
  const field = ({ name, means, required, secret }: Account['settings'][number]) => (
    <Field
      key={name}
      label={required ? wordFor(t.names, name) : name}
      name={name}
      hint={required ? undefined : means}
      required={required}
      type={secret ? 'password' : 'text'}
      autoComplete="off"
      placeholder={account.hints[name]}
    />
  )
  const rare = account.settings.filter(({ required }) => !required)
  return (
    <Dialog title={channelName(account.channel)} onClose={onClose}>
      <p className="mb-4 text-soft">{t.settings}</p>
      <p className="mb-1 text-sm">{t.callback}</p>
      <p className="mb-4 flex flex-wrap items-center gap-1">
        <Code text={account.callbackUrl} whole />
        <Copy text={account.callbackUrl} />
      </p>
      <Form
        button={force ? t.replaceAnyway : core.save}
        tone={force ? 'bad' : 'fill'}
        isBusy={action.isPending}
        error={action.error}
        onSend={(settings) => action.mutate({ settings, force })}
        // insisting was meant for what was written then
        onInput={force ? action.reset : undefined}
      >
        {account.settings.filter(({ required }) => required).map(field)}
        {rare.length > 0 && (
          <details className="mb-4">
            <summary className="cursor-pointer py-2">{t.rare}</summary>
            <p className="mb-3 text-[13px] text-soft">{t.rareText}</p>
            {rare.map(field)}
          </details>
        )}
      </Form>
    </Dialog>
  )
}
