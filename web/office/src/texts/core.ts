import type { en } from './en.ts'

/** English defines the keys; the other languages must have them all, or the check of types fails. */
export type Widen<Text> = Text extends string
  ? string
  : Text extends (...args: infer Args) => string
    ? (...args: Args) => string
    : { [Key in keyof Text]: Widen<Text[Key]> }
export type Core = Widen<typeof en>
