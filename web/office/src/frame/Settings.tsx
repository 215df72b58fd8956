import { Select } from '../kit/fields.tsx'
import { chooseLang, LANG_NAMES, LANGS, type Lang, useCore, useLang } from '../texts/lang.ts'
import { chooseScheme, type Scheme, useScheme } from './scheme.ts'

/** Language and appearance; both are stored in this browser. */
export function LanguageChoice() {
  const core = useCore()
  const lang = useLang()
  return (
    <Select
      isBare
      className="min-w-28 grow"
      label={core.language}
      value={lang}
      options={LANGS.map((one) => [one, LANG_NAMES[one]] as const)}
      onChange={(event) => void chooseLang(event.target.value as Lang)}
    />
  )
}

export function SchemeChoice() {
  const core = useCore()
  const scheme = useScheme()
  return (
    <Select
      isBare
      className="grow"
      label={core.scheme.label}
      value={scheme}
      options={[
        ['system', core.scheme.system],
        ['light', core.scheme.light],
        ['dark', core.scheme.dark],
      ]}
      onChange={(event) => chooseScheme(event.target.value as Scheme)}
    />
  )
}
