/** The text that a list is filtered by. An empty field of a form is sent as empty text, and filters by nothing. */
export const filterText = (text: string | undefined): string | null => text?.trim() || null
