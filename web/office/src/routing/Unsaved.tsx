import { useBlocker } from '@tanstack/react-router'
import { type RefObject, useEffect, useRef, useState } from 'react'
import { Dialog } from '../kit/parts.tsx'
import { defineTexts, useTexts } from '../texts/lang.ts'

const texts = defineTexts(
  {
    title: 'Leave without saving?',
    text: 'What you changed here is not saved yet.',
    stay: 'Stay here',
    leave: 'Leave without saving',
  },
  {
    fr: {
      title: 'Quitter sans enregistrer ?',
      text: 'Vos modifications ne sont pas encore enregistrées.',
      stay: 'Rester ici',
      leave: 'Quitter sans enregistrer',
    },
    de: {
      title: 'Ohne Speichern verlassen?',
      text: 'Ihre Änderungen sind noch nicht gespeichert.',
      stay: 'Hier bleiben',
      leave: 'Ohne Speichern verlassen',
    },
    es: {
      title: '¿Salir sin guardar?',
      text: 'Los cambios que ha hecho aquí aún no se han guardado.',
      stay: 'Seguir aquí',
      leave: 'Salir sin guardar',
    },
    it: {
      title: 'Uscire senza salvare?',
      text: 'Le modifiche fatte qui non sono ancora state salvate.',
      stay: 'Restare qui',
      leave: 'Uscire senza salvare',
    },
  },
)

const textOf = (form: HTMLFormElement): string =>
  JSON.stringify([...new FormData(form)].map(([name, value]) => [name, String(value)]))

const always = (): boolean => true

type Props = { form: RefObject<HTMLFormElement | null>; isBusy: boolean; error: unknown }

/** Asks before a form is left whose content differs from what is saved. */
export function Unsaved({ form, isBusy, error }: Props) {
  const t = useTexts(texts)
  const saved = useRef('')
  // a form begins with what is saved
  const wasBusy = useRef(true)
  const sent = useRef('')
  const isTypedOn = useRef(false)
  const [isDirty, setDirty] = useState(false)
  useEffect(() => {
    const element = form.current
    if (!element) return
    const look = (): void => setDirty(textOf(element) !== saved.current)
    if (isBusy && !wasBusy.current) {
      sent.current = textOf(element)
      isTypedOn.current = false
    }
    // what was typed after the form was sent is not saved
    if (wasBusy.current && !isBusy && !error) saved.current = isTypedOn.current ? sent.current : textOf(element)
    wasBusy.current = isBusy
    look()
    const onInput = (): void => {
      isTypedOn.current = true
      look()
    }
    // the event comes before the fields are as they were at first
    const onReset = (): void =>
      queueMicrotask(() => {
        sent.current = textOf(element)
        saved.current = sent.current
        look()
      })
    element.addEventListener('input', onInput)
    element.addEventListener('reset', onReset)
    return () => {
      element.removeEventListener('input', onInput)
      element.removeEventListener('reset', onReset)
    }
  }, [form, isBusy, error])
  const { status, proceed, reset } = useBlocker({ shouldBlockFn: always, disabled: !isDirty, withResolver: true })
  if (status !== 'blocked') return null
  return (
    <Dialog title={t.title} onClose={reset}>
      <p className="mb-4">{t.text}</p>
      <div className="flex flex-wrap gap-2">
        <button type="button" className="btn btn-fill" onClick={reset}>
          {t.stay}
        </button>
        <button type="button" className="btn" onClick={proceed}>
          {t.leave}
        </button>
      </div>
    </Dialog>
  )
}
