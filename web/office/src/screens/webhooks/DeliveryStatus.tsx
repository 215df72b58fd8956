import { Badge, type Tone } from '../../kit/parts.tsx'
import { useTexts, wordFor } from '../../texts/lang.ts'
import { texts } from './texts.ts'

const TONES: Record<string, Tone> = { delivered: 'good', pending: 'info', failed: 'bad', parked: 'bad' }

export function DeliveryStatus({ status }: { status: string }) {
  const t = useTexts(texts)
  return <Badge tone={TONES[status] ?? 'plain'}>{wordFor(t.status, status)}</Badge>
}
