import { useTexts } from '../../texts/lang.ts'
import { failureTexts } from './failure-texts.ts'

/** Why an attempt failed, in a sentence; the code behind it is what the API and the documentation call it. */
export function Failure({ code }: { code: string }) {
  const sentence = useTexts(failureTexts)[code]
  return (
    <>
      {sentence && <span>{sentence} </span>}
      <code className="text-[13px] text-soft">{code}</code>
    </>
  )
}
