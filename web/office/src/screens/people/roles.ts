import type { Role, Schemas } from '../../api/call.ts'

/** The roles that its people can have. Both kinds have the same rights, and each its own word for who leads it. */
export const rolesOf = (kind: Schemas['Company']['kind']): readonly Role[] => [
  'Cashier',
  'Observer',
  kind === 'association' ? 'Association' : 'Manager',
]
