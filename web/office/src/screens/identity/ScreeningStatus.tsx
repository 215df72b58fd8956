import type { Data } from '../../api/call.ts'
import { Badge, type Tone } from '../../kit/parts.tsx'
import { useTexts, wordFor } from '../../texts/lang.ts'
import { screeningTexts } from './screening-texts.ts'

export type Screening = Data<'listScreenings'>['screenings'][number]

const TONES: Record<string, Tone> = {
  ...{ checking: 'info', held: 'warn', clean: 'good', blocked: 'bad', released: 'good', returned: 'plain' },
}

export function ScreeningStatus({ status }: Pick<Screening, 'status'>) {
  const t = useTexts(screeningTexts)
  return <Badge tone={TONES[status] ?? 'plain'}>{wordFor(t.status, status)}</Badge>
}
