import assert from 'node:assert/strict'
import { test } from 'node:test'
import { countProcesses } from '../../config/process-count.ts'
import { embeddedConnections, outgrowsEmbedded, POOL_SIZE } from '../../db/connection-need.ts'
import { joinMetrics } from './metrics-hub.ts'
import { planProcesses } from './parent.ts'

const names = (count: number, roles: ('api' | 'worker')[]) => planProcesses(count, roles).map(({ name }) => name)

test('API processes are the most, every fourth one works, and a lone role fills all', () => {
  assert.deepEqual(names(1, ['api', 'worker']), ['all-1'])
  assert.deepEqual(names(2, ['api', 'worker']), ['api-1', 'worker-1'])
  assert.deepEqual(names(3, ['api', 'worker']), ['api-1', 'api-2', 'worker-1'])
  assert.equal(names(9, ['api', 'worker']).filter((name) => name.startsWith('worker')).length, 2)
  assert.deepEqual(names(2, ['worker']), ['worker-1', 'worker-2'])
})

test('auto is limited as a number is, and the embedded server takes the connections of two sets on any machine', () => {
  assert.deepEqual(
    [1, 8, 16, 128].map((cores) => countProcesses('auto', cores)),
    [3, 9, 17, 64],
  )
  for (const processes of [1, 9, 17, 64])
    assert.ok(embeddedConnections({ processes }) >= 2 * processes * POOL_SIZE + 20)
  assert.ok(!outgrowsEmbedded({ processes: 4 }, { processes: 2 }))
  assert.ok(outgrowsEmbedded({ processes: 17 }, { processes: 3 }), 'a reload to so many is refused')
})

test('the lines of one metric stand together and are described once', () => {
  const text = (process: string): string =>
    `# HELP jobs Jobs.\n# TYPE jobs gauge\njobs{process="${process}"} 1\n\n# HELP calls Calls.\n# TYPE calls counter\n` +
    `calls{process="${process}"} 2\n`
  assert.equal(
    joinMetrics([text('a'), text('b'), '']),
    '# HELP jobs Jobs.\n# TYPE jobs gauge\njobs{process="a"} 1\njobs{process="b"} 1\n\n' +
      '# HELP calls Calls.\n# TYPE calls counter\ncalls{process="a"} 2\ncalls{process="b"} 2\n',
  )
})
