import assert from 'node:assert/strict'
import { test } from 'node:test'
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
