/** Control characters, line breaks, direction marks (U+202E and the like) and zero-width characters (U+200B). */
const UNSEEN = '\\u0000-\\u001f\\u007f-\\u009f\\u00ad\\u061c\\u200b\\u200e\\u200f\\u2028-\\u202e\\u2060-\\u206f\\ufeff'

/**
 * Names appear in mails to other people, so they contain no link, no line break, no direction marks, and nothing
 * invisible that makes two names look alike: a registration must not be a way to write to strangers in our name. The
 * joiners U+200C and U+200D are allowed, because they are letters of some scripts and part of emoji.
 */
export const NAME_PATTERN = `^(?![\\s\\S]*(://|[wW][wW][wW]\\.))[^${UNSEEN}]*$`

export const NAME_RULE = 'must not contain a link (://, www.), a line break or a character that is not seen'

export const MAX_PERSON_NAME = 60
export const MAX_COMPANY_NAME = 120
