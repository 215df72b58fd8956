import { useNavigate, useSearch } from '@tanstack/react-router'

/** A choice that lives in the address as `?status=`. */
export function StatusTabs({ options, label }: { options: readonly (readonly [string, string])[]; label: string }) {
  const { status = '' } = useSearch({ strict: false })
  const navigate = useNavigate()
  const choose = (value: string): void =>
    void navigate({
      to: '.',
      search: ((old: object) => ({ ...old, status: value || undefined, page: undefined })) as never,
    })
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
  const { page } = useSearch({ strict: false }) as { page?: number }
  const navigate = useNavigate()
  const go = (next: number): void =>
    void navigate({ to: '.', search: ((old: object) => ({ ...old, page: next > 1 ? next : undefined })) as never })
  return [page ?? 1, go]
}
