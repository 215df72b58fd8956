/** Control characters, line breaks, direction marks (U+202E and the like) and zero-width characters (U+200B). */
const UNSEEN = '\\u0000-\\u001f\\u007f-\\u009f\\u00ad\\u061c\\u200b\\u200e\\u200f\\u2028-\\u202e\\u2060-\\u206f\\ufeff'

/** Joiners, variation selectors and what fonts leave blank, such as U+2800 and U+3164. */
const FILLERS = '\\u034f\\u115f\\u1160\\u17b4\\u17b5\\u180b-\\u180f\\u200c\\u200d\\u2800\\u3164\\ufe00-\\ufe0f\\uffa0'

/** The same beyond the first plane: tags, variation selectors from U+E0100. A class of these needs the flag u. */
const UNSEEN_BEYOND = '(?![\\u0000-\\uffff])(?:\\p{Cf}|\\p{Variation_Selector})'

/** At least one visible character: a blank reference or name cannot be found on a screen. */
export const VISIBLE_PATTERN = `(?!${UNSEEN_BEYOND})[^\\s${UNSEEN}${FILLERS}]`

const ALL_UNSEEN = new RegExp(`[${UNSEEN}]|${UNSEEN_BEYOND}`, 'gu')

/** What host names take for a dot (UTS #46). */
export const DOTS = '.\\u2024\\u3002\\ufe52\\uff0e\\uff61'

/** Older rows may hold a name that the rules below would refuse: what is not seen becomes a space. */
export const withoutUnseen = (text: string): string => text.replace(ALL_UNSEEN, ' ')

export const VISIBLE_RULE = 'must have at least one character that people see'

/**
 * Names appear in mails to other people, so they contain no link, no line break, no direction marks, and nothing
 * invisible that makes two names look alike: a registration must not be a way to write to strangers in our name. The
 * joiners U+200C and U+200D are allowed, because they are letters of some scripts and part of emoji.
 */
export const NAME_PATTERN =
  `^(?![\\s\\S]*(://|[wW][wW][wW][${DOTS}]))(?![\\s\\S]*${UNSEEN_BEYOND})` + `(?=.*${VISIBLE_PATTERN})[^${UNSEEN}]*$`

export const NAME_RULE =
  'must have a character that people see, and no link (://, www.), line break or character that is not seen'

export const MAX_PERSON_NAME = 60
export const MAX_COMPANY_NAME = 120
