import type { Data } from '../../api/call.ts'
import { Badge } from '../../kit/parts.tsx'
import { useTexts } from '../../texts/lang.ts'
import { Failure } from './Failure.tsx'
import { texts } from './test-texts.ts'

/** What the receiver of a test said, in a line, and why it counts as not delivered. */
export function TestOutcome({ result }: { result: Data<'testWebhookSecret'> }) {
  const t = useTexts(texts)
  return (
    <>
      <p className="mb-2 flex flex-wrap items-center gap-2 text-sm">
        <Badge tone={result.delivered ? 'good' : 'bad'}>{result.delivered ? t.delivered : t.failed}</Badge>
        {result.statusCode !== null && <span>{result.statusCode}</span>}
        <span className="text-soft">{`${result.durationMs} ms`}</span>
      </p>
      {result.errorCode !== null && (
        <p className="mb-2 text-sm">
          <Failure code={result.errorCode} />
        </p>
      )}
    </>
  )
}
