import { useAddress } from '../frame/address.ts'

/** A choice that lives in the address as `?status=`. */
export function StatusTabs({ options, label }: { options: readonly (readonly [string, string])[]; label: string }) {
  const [{ status = '' }, go] = useAddress()
  const choose = (value: string): void => go({ status: value || undefined, page: undefined })
  return (
    <fieldset className="mb-4 flex flex-wrap gap-2">
      <legend className="sr-only">{label}</legend>
      {options.map(([value, word]) => (
        <button
          key={value}
          type="button"
          className="chip min-h-8 border border-line px-3 aria-pressed:border-fill aria-pressed:bg-fill aria-pressed:text-white"
          aria-pressed={status === value}
          onClick={() => choose(value)}
        >
          {word}
        </button>
      ))}
    </fieldset>
  )
}

/** The page of a list, in the address. */
export function usePage(): [number, (page: number) => void] {
  const [{ page }, go] = useAddress()
  return [page ?? 1, (next) => go({ page: next > 1 ? next : undefined })]
}
