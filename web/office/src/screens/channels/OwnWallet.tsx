import { useState } from 'react'
import { ApiError, call } from '../../api/call.ts'
import { useAction } from '../../api/hooks.ts'
import { useCompanyQuery } from '../../frame/company.tsx'
import { useNetworkOptions } from '../../frame/networks.ts'
import { Area, Check, Field, Form, Select } from '../../kit/fields.tsx'
import { Dialog } from '../../kit/parts.tsx'
import { useCore, useTexts } from '../../texts/lang.ts'
import type { Account } from './kinds.ts'
import { walletTexts } from './wallet-texts.ts'

const MODES = ['xpub', 'pool', 'static'] as const
type Mode = (typeof MODES)[number]
const modeOf = (text: string | undefined): Mode => MODES.find((mode) => mode === text) ?? 'xpub'

const NETWORK = 'network-'

/** The input, as the settings of the channel. */
function settingsOf(values: Record<string, string>): Record<string, string> {
  const names = Object.keys(values).filter((name) => name.startsWith(NETWORK))
  const networks = names.map((name) => name.slice(NETWORK.length)).join(',')
  const rest = Object.entries(values).filter(([name]) => !name.startsWith(NETWORK))
  return { ...Object.fromEntries(rest), ...(networks && { NETWORKS: networks }) }
}

/** What is wrong with a field, in the reader's language; without a text of ours, the service's message. */
function useFault(): (error: unknown) => unknown {
  const t = useTexts(walletTexts)
  return (error) => {
    const [detail] = error instanceof ApiError ? error.details : []
    if (!detail) return error
    const found = detail.message.match(/0x[0-9a-fA-F]{40}/g) ?? []
    const words: [RegExp, string][] = [
      [/CONFIRM_ADDRESS.*its first are/, t.faults.otherKey(found.join(', '))],
      [/CONFIRM_ADDRESS.*required/, t.faults.noConfirm],
      [/CONFIRM_ADDRESS/, t.faults.mistyped],
      [/XPUB.*PRIVATE/, t.faults.privateKey],
      [/XPUB.*another account/, t.faults.taken],
      [/XPUB/, t.faults.noKey],
      [/ADDRESSES.*Treat it as lost/, t.faults.privateKey],
      [/ADDRESSES.*in use/, t.faults.takenAddress(found[0] ?? '')],
      [/ADDRESSES.*no wallet/, t.faults.noWallet(found[0] ?? '')],
      [/ADDRESSES.*one address/, t.faults.onlyOne],
      [/ADDRESSES.*twice/, t.faults.twice],
      [/ADDRESSES/, t.faults.mistyped],
    ]
    const known = words.find(([pattern]) => pattern.test(`${detail.path} ${detail.message}`))
    return known ? new Error(known[1]) : error
  }
}

/** How a company is paid into its own wallet: by a key that derives addresses, or by its own addresses. */
export function OwnWallet({ account, onClose }: { account: Account; onClose(): void }) {
  const t = useTexts(walletTexts)
  const core = useCore()
  const query = useCompanyQuery()
  const fault = useFault()
  const [mode, setMode] = useState(modeOf(account.hints.MODE))
  const networks = useNetworkOptions(null)
  const chosen = (account.hints.NETWORKS ?? '').split(/[\s,;]+/)
  const action = useAction({
    run: (settings: Record<string, string>) =>
      call('PUT /api/next/channel-accounts/{channel}', { path: { channel: 'crypto' }, body: { settings }, query }),
    done: core.saved,
    onDone: onClose,
  })
  return (
    <Dialog title={t.title} onClose={onClose}>
      <p className="mb-4 text-soft">{t.lead}</p>
      <Form
        button={core.save}
        isBusy={action.isPending}
        error={fault(action.error)}
        onSend={(values) => action.mutate(settingsOf(values))}
      >
        <Select
          label={t.mode}
          name="MODE"
          value={mode}
          options={MODES.map((name) => [name, t.modes[name]])}
          onChange={({ target }) => setMode(modeOf(target.value))}
          hint={t.modeHints[mode]}
        />
        {mode === 'xpub' ? (
          <>
            <Field label={t.xpub} name="XPUB" required autoComplete="off" spellCheck={false} hint={t.xpubHint} />
            <Field label={t.confirm} name="CONFIRM_ADDRESS" required autoComplete="off" hint={t.confirmHint} />
          </>
        ) : mode === 'pool' ? (
          <Area key="pool" label={t.addresses} name="ADDRESSES" required spellCheck={false} hint={t.addressesHint} />
        ) : (
          <Field key="static" label={t.address} name="ADDRESSES" required autoComplete="off" spellCheck={false} />
        )}
        <fieldset>
          <legend className="mb-1 text-sm font-medium">{t.networks}</legend>
          <p className="mb-2 text-[13px] text-soft">{t.networksHint}</p>
          {networks.map(([id, name]) => (
            <Check key={id} name={`${NETWORK}${id}`} value="on" label={name} defaultChecked={chosen.includes(id)} />
          ))}
        </fieldset>
      </Form>
    </Dialog>
  )
}
