import { type Media, type OpenApi, operationsOf } from './document.ts'
import { completeFields, sampleOf } from './fields.ts'
import { OPERATION_WORDS } from './operation-words.ts'
import { completeOperations, HEADERS, PARAMETERS } from './operations.ts'
import { addWebhooks } from './webhooks.ts'

/** A body that the service accepts: some fields exclude others. */
function leaveOut({ example }: Media, unsent: readonly string[]): void {
  if (typeof example !== 'object' || example === null) return
  for (const name of unsent) Reflect.deleteProperty(example, name)
}

function addSamples(document: OpenApi): void {
  const webhooks = Object.values(document.webhooks ?? {}).flatMap((item) => Object.values(item))
  const operations = [...operationsOf(document).map(({ operation }) => operation), ...webhooks]
  for (const { operationId, requestBody, responses } of operations) {
    const contents = [requestBody?.content, ...Object.values(responses).map(({ content }) => content)]
    for (const media of contents.flatMap((content) => Object.values(content ?? {}))) {
      if (media.examples === undefined && media.schema !== undefined) media.example ??= sampleOf(media.schema, document)
    }
    const { unsent = [] } = OPERATION_WORDS[operationId] ?? {}
    for (const media of Object.values(requestBody?.content ?? {})) leaveOut(media, unsent)
  }
}

/**
 * Adds what the schemas do not say: texts, examples, each operation's own failures, security and headers, and the
 * webhooks.
 */
export function completeDocument(document: OpenApi, baseUrl: string): OpenApi {
  Object.assign(document.components, { headers: HEADERS, parameters: PARAMETERS })
  addWebhooks(document)
  completeOperations(document, baseUrl)
  completeFields(document)
  addSamples(document)
  return document
}
