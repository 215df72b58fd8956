import { type OpenApi, operationsOf } from './document.ts'
import { completeFields, sampleOf } from './fields.ts'
import { completeOperations, HEADERS, PARAMETERS } from './operations.ts'
import { addWebhooks } from './webhooks.ts'

function addSamples(document: OpenApi): void {
  const webhooks = Object.values(document.webhooks ?? {}).flatMap((item) => Object.values(item))
  const operations = [...operationsOf(document).map(({ operation }) => operation), ...webhooks]
  for (const { requestBody, responses } of operations) {
    const contents = [requestBody?.content, ...Object.values(responses).map(({ content }) => content)]
    for (const media of contents.flatMap((content) => Object.values(content ?? {}))) {
      if (media.examples === undefined && media.schema !== undefined) media.example ??= sampleOf(media.schema, document)
    }
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
