import { useState } from 'react'
import { call, type Data } from '../../api/call.ts'
import { useAction, useApi } from '../../api/hooks.ts'
import { useCan } from '../../api/session.ts'
import { useCompanyQuery } from '../../frame/company.tsx'
import { Field, Form } from '../../kit/fields.tsx'
import { Badge, Code, Copy, Dialog, Loaded, Panel, Refusal } from '../../kit/parts.tsx'
import { useCore, useTexts, wordFor } from '../../texts/lang.ts'
import { texts } from './texts.ts'

type Account = Data<'listChannelAccounts'>[number]

export function Channels() {
  const t = useTexts(texts)
  const core = useCore()
  const can = useCan()
  const company = useCompanyQuery()
  const channels = useApi('GET /api/next/channels', { query: company })
  const accounts = useApi('GET /api/next/channel-accounts', { query: company }, { enabled: can('channels.accounts') })
  return (
    <Panel title={t.channels}>
      <Loaded query={channels} isEmpty={(list) => list.length === 0} empty={<p className="text-soft">{t.none}</p>}>
        {(list) => (
          <ul className="divide-y divide-line">
            {list.map(({ paymentChannel, available, reason }) => {
              const account = accounts.data?.find(({ channel }) => channel === paymentChannel)
              return (
                <li key={paymentChannel} className="py-3 first:pt-0 last:pb-0">
                  <p className="flex flex-wrap items-center gap-2">
                    <strong>{wordFor(core.channels, paymentChannel)}</strong>
                    <Badge tone={available ? 'good' : 'plain'}>{available ? t.available : t.unavailable}</Badge>
                    {account && <span className="text-sm text-soft">{account.own ? t.own : t.shared}</span>}
                  </p>
                  {reason && <p className="text-sm text-soft">{reason}</p>}
                  {account && account.settings.length > 0 && can('channels.account') && <Own account={account} />}
                </li>
              )
            })}
          </ul>
        )}
      </Loaded>
    </Panel>
  )
}

function Own({ account }: { account: Account }) {
  const t = useTexts(texts)
  const query = useCompanyQuery()
  const [isOpen, setOpen] = useState(false)
  const path = { channel: account.channel }
  const drop = useAction({
    run: () => call('DELETE /api/next/channel-accounts/{channel}', { path, query }),
    done: t.done,
  })
  return (
    <>
      <Refusal error={drop.error} />
      <div className="mt-2 flex flex-wrap gap-2">
        <button type="button" className="btn" onClick={() => setOpen(true)}>
          {account.own ? t.change : t.setUp}
        </button>
        {account.own && (
          <button type="button" className="btn" onClick={() => drop.mutate(undefined)}>
            {t.drop}
          </button>
        )}
      </div>
      {isOpen && <Settings account={account} onClose={() => setOpen(false)} />}
    </>
  )
}

function Settings({ account, onClose }: { account: Account; onClose(): void }) {
  const t = useTexts(texts)
  const core = useCore()
  const query = useCompanyQuery()
  const action = useAction({
    run: (settings: Record<string, string>) =>
      call('PUT /api/next/channel-accounts/{channel}', {
        path: { channel: account.channel },
        body: { settings },
        query,
      }),
    done: core.saved,
    onDone: onClose,
  })
  return (
    <Dialog title={wordFor(core.channels, account.channel)} onClose={onClose}>
      <p className="mb-4 text-soft">{t.settings}</p>
      {/* a wallet calls no one back */}
      {account.channel !== 'crypto' && (
        <>
          <p className="mb-1 text-sm">{t.callback}</p>
          <p className="mb-4 flex flex-wrap items-center gap-1">
            <Code text={account.callbackUrl} whole />
            <Copy text={account.callbackUrl} />
          </p>
        </>
      )}
      <Form
        button={core.save}
        isBusy={action.isPending}
        error={action.error}
        onSend={(values) => action.mutate(values)}
      >
        {account.settings.map(({ name, means, required, secret }) => (
          <Field
            key={name}
            label={required ? name : `${name} (${core.optional})`}
            name={name}
            hint={means}
            required={required}
            type={secret ? 'password' : 'text'}
            autoComplete="off"
            placeholder={account.hints[name]}
          />
        ))}
      </Form>
    </Dialog>
  )
}
