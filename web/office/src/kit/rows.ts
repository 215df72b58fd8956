type RowOf<Answer, Key extends string> = Answer extends readonly (infer Row)[]
  ? Row
  : Answer extends Record<Key, readonly (infer Row)[]>
    ? Row
    : never

/** The rows of a list, whether the API answers with a bare array or with a page. */
export const rowsOf = <Answer, Key extends string>(answer: Answer, key: Key): RowOf<Answer, Key>[] =>
  (Array.isArray(answer) ? answer : (answer as Record<string, unknown>)[key]) as RowOf<Answer, Key>[]

/** How many there are in all; a bare array tells only whether there is another page. */
export const totalOf = (answer: object, page: number, limit: number): number =>
  Array.isArray(answer)
    ? (page - 1) * limit + answer.length + (answer.length === limit ? 1 : 0)
    : (answer as { total: number }).total
