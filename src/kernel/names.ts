/**
 * Names stand in mails to other people, so they carry no link, no line break and nothing that turns the direction of
 * the text: a registration must not be a way to write to strangers in our name.
 */
export const NAME_PATTERN =
  '^(?![\\s\\S]*(://|[wW][wW][wW]\\.))[^\\u0000-\\u001f\\u007f\\u2028-\\u202e\\u2066-\\u2069]*$'

export const NAME_RULE = 'must not contain a link (://, www.) or a line break'

export const MAX_PERSON_NAME = 60
export const MAX_COMPANY_NAME = 120
