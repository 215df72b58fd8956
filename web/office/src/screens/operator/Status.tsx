import type { Data } from '../../api/call.ts'
import { useApi } from '../../api/hooks.ts'
import { Table } from '../../kit/lists.tsx'
import { SLOW_MS } from '../../kit/live.ts'
import { Badge, Loaded, Panel, Time } from '../../kit/parts.tsx'
import { useTexts, wordFor } from '../../texts/lang.ts'
import { statusTexts } from './status-texts.ts'

type StatusData = Data<'getOperatorStatus'>

/** The results of `doctor`, waiting work, and the running processes. */
export function Status() {
  const t = useTexts(statusTexts)
  const status = useApi('GET /api/next/operator/status', {}, { liveMs: SLOW_MS })
  return (
    <Loaded query={status}>
      {({ ready, checks, queues, nodes }) => (
        <>
          <Panel
            title={t.checks}
            actions={<Badge tone={ready ? 'good' : 'bad'}>{ready ? t.allGood : t.trouble}</Badge>}
          >
            {/* the sentences are those of `comptoir doctor`, which speaks English */}
            <ul lang="en" className="space-y-2 text-sm">
              {[...checks]
                .sort((a, b) => Number(a.ok) - Number(b.ok))
                .map((check) => (
                  <li key={`${check.name}-${check.message}`} className="flex flex-wrap items-baseline gap-x-3 gap-y-1">
                    <Badge tone={check.ok ? 'good' : 'bad'}>{check.name}</Badge>
                    <span className="min-w-0 break-words whitespace-pre-line">{check.message}</span>
                    {check.fix && <span className="min-w-0 break-words text-soft">{check.fix}</span>}
                  </li>
                ))}
            </ul>
          </Panel>
          <div className="grid items-start gap-x-5 lg:grid-cols-2">
            <Queues queues={queues} />
            <Nodes nodes={nodes} />
          </div>
        </>
      )}
    </Loaded>
  )
}

function Queues({ queues }: { queues: StatusData['queues'] }) {
  const t = useTexts(statusTexts)
  return (
    <Panel title={t.queues} flush>
      <Table
        label={t.queues}
        rows={queues}
        keyOf={({ name }) => name}
        columns={[
          { head: t.queue, cell: ({ name }) => wordFor(t.names, name) },
          { head: t.waiting, isNumber: true, cell: ({ waiting }) => waiting },
          { head: t.oldest, cell: ({ oldestAt }) => (oldestAt ? <Time at={oldestAt} ago /> : '–') },
        ]}
      />
    </Panel>
  )
}

function Nodes({ nodes }: { nodes: StatusData['nodes'] }) {
  const t = useTexts(statusTexts)
  return (
    <Panel title={t.nodes} flush>
      <Table
        label={t.nodes}
        rows={nodes}
        keyOf={({ name, address }) => `${name}-${address}`}
        columns={[
          { head: t.node, cell: ({ name, address }) => `${name} · ${address}` },
          { head: t.connections, isNumber: true, cell: ({ connections }) => connections },
          { head: t.since, cell: ({ since }) => (since ? <Time at={since} ago /> : '–') },
        ]}
      />
    </Panel>
  )
}
