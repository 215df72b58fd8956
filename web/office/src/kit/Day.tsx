import { useAddress, useTyped } from '../frame/address.ts'
import { Field } from './fields.tsx'

/**
 * The first or last day of what a screen shows, kept in the URL. A day that is typed is not yet whole while the URL
 * changes with it, so the field shows what was typed until it is left.
 */
export function Day({ name, label }: { name: 'from' | 'to'; label: string }) {
  const [address, go] = useAddress()
  const { value, setTyped } = useTyped(address[name] ?? '')
  return (
    <Field
      label={label}
      type="date"
      value={value}
      onChange={({ target }) => {
        setTyped(target.value)
        go({ [name]: target.value || undefined, page: undefined })
      }}
      onBlur={() => setTyped(null)}
    />
  )
}
