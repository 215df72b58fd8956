import { useAction } from '../api/hooks.ts'
import { Form } from './fields.tsx'
import { Dialog } from './parts.tsx'

type Props<Output> = {
  /** What is done, as its button says it. */
  word: string
  text: string
  run(): Promise<Output>
  done?: string
  onDone?(output: Output): void
  onClose(): void
}

/** Asks before what cannot be undone. */
export function Question<Output>({ word, text, run, done, onDone, onClose }: Props<Output>) {
  const action = useAction({
    run,
    ...(done === undefined ? {} : { done }),
    onDone: (output: Output) => {
      onClose()
      onDone?.(output)
    },
  })
  return (
    <Dialog title={word} onClose={onClose}>
      <Form
        tone="bad"
        button={word}
        isBusy={action.isPending}
        error={action.error}
        onSend={() => action.mutate(undefined)}
      >
        <p className="mb-4 wrap-anywhere">{text}</p>
      </Form>
    </Dialog>
  )
}
