import { useApi } from '../api/hooks.ts'
import { useCan } from '../api/session.ts'
import { useCore } from '../texts/lang.ts'

/** Channels do not change while the service runs. */
function useNames() {
  const can = useCan()
  return useApi('GET /api/next/channel-names', {}, { enabled: can('channels.read') })
}

/** A channel's name in the reader's language; one that this office has no words for is called as payers read it. */
export function useChannelName(): (channel: string) => string {
  const { channels } = useCore()
  const { data } = useNames()
  return (channel) => channels[channel] ?? data?.find((one) => one.paymentChannel === channel)?.name ?? channel
}

/** Choices by id. */
export function useChannelOptions(): [string, string][] {
  const { channels } = useCore()
  const { data = [] } = useNames()
  const others = data.map(({ paymentChannel, name }): [string, string] => [paymentChannel, name])
  return Object.entries({ ...Object.fromEntries(others), ...channels })
}
