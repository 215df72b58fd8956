import type { Schemas } from '../../api/call.ts'
import { Badge, type Tone } from '../../kit/parts.tsx'
import { useTexts, wordFor } from '../../texts/lang.ts'
import { texts } from './texts.ts'

const TONES: Record<string, Tone> = { pending: 'warn', approved: 'good', refused: 'bad' }

export function CheckStatus({ check }: { check: Pick<Schemas['Kyc'], 'status' | 'eddStatus'> }) {
  const t = useTexts(texts)
  return (
    <>
      <Badge tone={TONES[check.status] ?? 'plain'}>{wordFor(t.status, check.status)}</Badge>{' '}
      {check.eddStatus !== 'none' && <Badge tone="info">{wordFor(t.edd, check.eddStatus)}</Badge>}
    </>
  )
}
