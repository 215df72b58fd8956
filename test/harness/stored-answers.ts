import { Ajv2020 } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import { sql } from '../../src/db/db.ts'
import { type OpenApi, operationsOf } from '../../src/http/openapi/document.ts'
import type { World } from './permission-world.ts'
import type { Answer } from './service.ts'

/* What an answer under an Idempotency-Key has to be: of the route's schema, and stored with its effect. */

const READS = 'reads, and changes nothing'
const ASKS = 'asks the provider or the chain, whose answer is booked once, however often it is asked'
const SENDS = 'sends a test, which the person sees arrive twice'

/**
 * Operations whose answer is not stored in the transaction of the effect, and why a process that dies in between does
 * no harm: the same request again does the same.
 */
export const STORED_APART: Record<string, string> = {
  ...{ findPayerOrders: READS, verifyAuditLog: READS, checkChannelAccount: READS },
  ...{ confirmOrder: ASKS, nameTransaction: ASKS },
  ...{ testWebhookSecret: SENDS, sendTestWebhook: SENDS },
}

export type StoredAnswers = {
  /** What is wrong with an answer that was given under this key. To be asked before the next snapshot of the tables. */
  wrongIn(id: string, answer: Answer, key: string): Promise<string[]>
}

const escapePointer = (word: string): string => encodeURIComponent(word.replaceAll('~', '~0').replaceAll('/', '~1'))

/** After `openSnapshots`, whose table says by its `xmin` which transaction wrote something. */
export async function openStoredAnswers({ shop }: World, document: OpenApi): Promise<StoredAnswers> {
  const { db } = shop.host
  await db.run(sql`create unlogged table stored_answers (key text)`)
  await db.run(sql`
    create function note_answer() returns trigger language plpgsql as $$ begin
      insert into stored_answers values (new.key);
      return null;
    end $$`)
  await db.run(sql`
    create trigger note_answer after insert or update on idempotency_keys for each row
      when (new.response is not null) execute function note_answer()`)
  const ajv = addFormats.default(new Ajv2020({ strict: false }))
  ajv.addSchema(document, 'api')
  const places = new Map(
    operationsOf(document).map(({ operation, path, method }) => [
      operation.operationId,
      ['paths', path, method, 'responses', '200', 'content', 'application/json', 'schema'].map(escapePointer).join('/'),
    ]),
  )
  return {
    async wrongIn(id, answer, key) {
      const validate = ajv.compile({ $ref: `api#/${places.get(id)}` })
      const wrong = validate(JSON.parse(answer.text))
        ? []
        : [`${id}: ${ajv.errorsText(validate.errors)}: ${answer.text}`]
      const withEffect = await db.maybe(sql`
        select 1 from stored_answers s join row_changes c on c.xmin = s.xmin where s.key = ${key} limit 1`)
      if (!withEffect && !(id in STORED_APART)) wrong.push(`${id}: its answer is not stored with its effect`)
      return wrong
    },
  }
}
