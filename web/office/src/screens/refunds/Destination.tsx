import type { Data } from '../../api/call.ts'
import { useChannelName } from '../../frame/channels.ts'
import { useNetworkName } from '../../frame/networks.ts'
import { readKind } from '../../kit/field-kinds.ts'
import { Code, Facts, Notice } from '../../kit/parts.tsx'
import { useCore, useTexts } from '../../texts/lang.ts'
import { destinationTexts } from './destination-texts.ts'
import { goesToAddress } from './refund.ts'

/** Where a refund goes: of one that is not made yet, or of one that is. */
export type Goal = Pick<Data<'getMispaymentRefund'>, 'company' | 'network' | 'address' | 'proposedAddress'> & {
  channel: string
  /** Who of the shop typed the e-mail where the payer is asked; an older node does not say it. */
  emailWriter?: Data<'getMispaymentRefund'>['emailWriter']
}

/** What the service says of a refund that is not made yet, by the names that an older node may leave out. */
type Answer = Pick<Data<'getMispaymentRefund'>, 'company' | 'network' | 'address'> &
  Partial<Data<'getMispaymentRefund'>>

const isSame = (one: string, other: string): boolean => one.toLowerCase() === other.toLowerCase()

/**
 * With the address that a person types instead; whether it is one in full is the form's question.
 * @param channel of the payment, for an older node that does not say it
 * @returns null: nothing can be refunded any more
 */
export function goalOf(
  answer: Answer,
  { typed = '', channel = '' }: { typed?: string; channel?: string },
): Goal | null {
  const { company, network, proposedAddress = null, emailWriter = null, statedAddresses = [] } = answer
  if (answer.channel === null) return null
  const known = { company, network, channel: answer.channel ?? channel, emailWriter }
  const read = readKind('wallet', typed, 'en')
  const typedAddress = 'value' in read && read.value !== '' ? read.value : null
  if (typedAddress !== null) {
    const isStated = statedAddresses.some((one) => isSame(one, typedAddress))
    return { ...known, address: isStated ? typedAddress : null, proposedAddress: isStated ? null : typedAddress }
  }
  return { ...known, address: answer.address, proposedAddress }
}

/** What the person confirms by sending it: an address that the money really goes to. */
export const confirmedAddress = (goal: Goal | null): { address?: string } =>
  goal === null || goal.address === null ? {} : { address: goal.address }

/** In full, because what is sent cannot be taken back. */
export function Destination({ goal }: { goal: Goal | null }) {
  const t = useTexts(destinationTexts)
  const core = useCore()
  const channelName = useChannelName()
  const networkName = useNetworkName()
  if (goal === null) return null
  const { company, channel, network, address, proposedAddress, emailWriter } = goal
  const rows: [string, React.ReactNode][] = [[core.company, company]]
  if (!goesToAddress(goal)) rows.push([t.goes, t.provider(channelName(channel))])
  else if (address !== null) rows.push([t.goes, <Code key="goes" text={address} whole />])
  else if (proposedAddress !== null) rows.push([t.proposed, <Code key="proposed" text={proposedAddress} whole />])
  else rows.push([t.goes, t.asked])
  if (network !== null) rows.push([t.network, `${networkName(network)} (${network})`])
  const isProposed = goesToAddress(goal) && address === null && proposedAddress !== null
  return (
    <div className="mb-4">
      <Facts rows={rows} />
      {isProposed && (
        <div className="mt-3">
          <Notice tone="warn">{t.proposedText}</Notice>
        </div>
      )}
      {goesToAddress(goal) && address === null && emailWriter && (
        <div className="mt-3">
          <Notice tone="warn">{t.typedBy(emailWriter.name ?? emailWriter.by)}</Notice>
        </div>
      )}
    </div>
  )
}
