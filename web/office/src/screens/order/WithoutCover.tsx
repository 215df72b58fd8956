import type { Lack } from '../../api/lack.ts'
import { useNetworkName } from '../../frame/networks.ts'
import { Form } from '../../kit/fields.tsx'
import { formatMoney } from '../../kit/format.ts'
import { Code, Dialog, Facts, Notice } from '../../kit/parts.tsx'
import { useCore, useLang, useTexts, wordFor } from '../../texts/lang.ts'
import { coverTexts } from './cover-texts.ts'
import { texts } from './texts.ts'

/** Where a refund goes; without a network its provider pays it, without an address the payer is asked. */
export type Goal = { company: string; address: string | null; network: number | null; channel: string }

type WithoutCoverProps = {
  lack: Lack
  goal: Goal
  /** Whether other figures were confirmed before. */
  isChanged: boolean
  isBusy: boolean
  error: unknown
  onSend(): void
  onClose(): void
}

/** The operator advances money, so he confirms it on its own and reads how much it is, for whom and where it goes. */
export function WithoutCover({ lack, goal, isChanged, isBusy, error, onSend, onClose }: WithoutCoverProps) {
  const t = useTexts(coverTexts)
  const { network: networkWord } = useTexts(texts)
  const core = useCore()
  const lang = useLang()
  const networkName = useNetworkName()
  const { company, address, network, channel } = goal
  const money = (amount: string): string => formatMoney(lang, amount, 'USDC')
  const { needs, left, missing, owedAfter } = lack
  const figures = { needs: money(needs), left: money(left), missing: money(missing), owedAfter: money(owedAfter) }
  const onChain: React.ReactNode = address === null ? t.payerNames : <Code text={address} whole />
  const rows: [string, React.ReactNode][] = [
    [core.company, company],
    [t.destination, network === null ? t.provider(wordFor(core.channels, channel)) : onChain],
  ]
  if (network !== null) rows.push([networkWord, `${networkName(network)} (${network})`])
  return (
    <Dialog title={t.title} onClose={onClose}>
      <Form button={t.title} tone="bad" isBusy={isBusy} error={error} onSend={onSend}>
        {isChanged && <Notice tone="bad">{t.changed}</Notice>}
        <p className="mb-4">{t.figures(figures)}</p>
        <div className="mb-4">
          <Facts rows={rows} />
        </div>
      </Form>
    </Dialog>
  )
}
