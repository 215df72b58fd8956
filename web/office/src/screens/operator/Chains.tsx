import type { Data } from '../../api/call.ts'
import { useApi } from '../../api/hooks.ts'
import { formatCount } from '../../kit/format.ts'
import { Table } from '../../kit/lists.tsx'
import { SLOW_MS } from '../../kit/live.ts'
import { Badge, Empty, Facts, Loaded, Notice, Panel, Time, type Tone } from '../../kit/parts.tsx'
import { useLang, useTexts, wordFor } from '../../texts/lang.ts'
import { chainTexts } from './chain-texts.ts'

type Chain = Data<'listOperatorChains'>['chains'][number]
const TONES: Record<string, Tone> = { ok: 'good', behind: 'warn' }

/** How far each chain is read, and the current state of each of its endpoints. */
export function Chains() {
  const t = useTexts(chainTexts)
  const chains = useApi('GET /api/next/operator/chains', {}, { liveMs: SLOW_MS })
  return (
    <Loaded
      query={chains}
      isEmpty={(data) => data.chains.length === 0}
      empty={
        <Panel title={t.chains}>
          <Empty icon="link" title={t.none}>
            {t.noneText}
          </Empty>
        </Panel>
      }
    >
      {(data) => data.chains.map((chain) => <One key={chain.network} chain={chain} />)}
    </Loaded>
  )
}

function One({ chain }: { chain: Chain }) {
  const t = useTexts(chainTexts)
  const lang = useLang()
  const { network, name, ok, message, fix, head, blockAt, lagSeconds, trouble, endpoints } = chain
  return (
    <Panel
      title={`${name} (${network})`}
      actions={<Badge tone={ok ? 'good' : 'bad'}>{ok ? t.ok : trouble ? t.trouble[trouble] : t.lags}</Badge>}
    >
      {!ok && (
        <Notice tone="bad">
          <span lang="en">
            {message} {fix}
          </span>
        </Notice>
      )}
      <Facts
        rows={[
          [t.head, head === null ? t.never : formatCount(lang, head)],
          [t.blockAt, blockAt && <Time key="at" at={blockAt} long />],
          [t.lag, lagSeconds === null ? null : t.seconds(formatCount(lang, lagSeconds))],
        ]}
      />
      <div className="mt-3">
        <Table
          label={t.endpoints}
          rows={endpoints}
          keyOf={({ number }) => String(number)}
          columns={[
            { head: t.endpoint, cell: ({ number }) => number },
            {
              head: t.state,
              cell: ({ state }) => <Badge tone={TONES[state] ?? 'bad'}>{wordFor(t.states, state)}</Badge>,
            },
            {
              head: t.its,
              isNumber: true,
              cell: ({ head: own }) => (own === null ? '–' : formatCount(lang, own)),
            },
            {
              head: t.answer,
              isNumber: true,
              cell: ({ answerMs }) => (answerMs === null ? '–' : `${formatCount(lang, answerMs)} ms`),
            },
          ]}
        />
      </div>
    </Panel>
  )
}
