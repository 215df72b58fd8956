/** Scripted trouble that a developer can trigger (`POST /stories/<name>`). */
export const STORIES = [
  'timeout-after-acceptance',
  'duplicate-callbacks',
  'reordered-callbacks',
  'forged-callback',
  'unknown-status',
  'outage',
  'credentials-refused',
  'clock-skew',
  'late-payment',
  'partial-refund',
  'refund-pending',
  'refund-timeout-after-acceptance',
  'kyt-blocked',
  'kyt-sanctioned',
  'kyt-outage',
  'kyc-refused',
] as const
export type Story = (typeof STORIES)[number]

/** Amounts that start a story automatically: the cents of the amount that the provider is asked for. */
export const MAGIC_CENTS: Readonly<Record<string, Story | 'pays' | 'declines' | 'pays-half' | 'expires'>> = {
  '.01': 'pays',
  '.02': 'declines',
  '.03': 'pays-half',
  '.04': 'expires',
  '.05': 'timeout-after-acceptance',
  '.06': 'duplicate-callbacks',
  '.07': 'reordered-callbacks',
  '.08': 'forged-callback',
  '.09': 'unknown-status',
  '.11': 'late-payment',
  '.12': 'partial-refund',
}

/** The provider refuses a refund with these cents. */
export const REFUSED_REFUND_CENTS = '.13'

const centsOf = (amount: string): string | undefined => /^\d+(\.\d\d)0*$/.exec(amount)?.[1]

export const isRefusedRefund = (amount: string): boolean => centsOf(amount) === REFUSED_REFUND_CENTS

/** "10.010000" has the cents ".01"; nonzero digits after the second make it an ordinary amount. */
export function magicOf(amount: string): (typeof MAGIC_CENTS)[string] | undefined {
  const cents = centsOf(amount)
  return cents === undefined ? undefined : MAGIC_CENTS[cents]
}

export type ArmOptions = { provider?: string; seconds?: number }

/** These last for some seconds; the others happen once. */
const LASTING = ['outage', 'credentials-refused', 'clock-skew'] as const
export type LastingStory = (typeof LASTING)[number]
const isLasting = (name: Story): name is LastingStory => (LASTING as readonly Story[]).includes(name)

/** The stories that wait for the next payment, and those that last. */
export class Stories {
  readonly #armed: { name: Story; provider: string | null }[] = []
  /** Story and provider (`*`: all) to its end time. */
  readonly #lasting = new Map<string, number>()
  readonly #now: () => number

  constructor(now: () => number) {
    this.#now = now
  }

  arm(name: Story, { provider, seconds = 5 }: ArmOptions): void {
    if (isLasting(name)) this.#lasting.set(`${name} ${provider ?? '*'}`, this.#now() + seconds * 1000)
    else this.#armed.push({ name, provider: provider ?? null })
  }

  /** Takes a story that waits for this provider, if there is one. */
  take(name: Story, provider: string): boolean {
    const index = this.#armed.findIndex((one) => one.name === name && (one.provider ?? provider) === provider)
    if (index < 0) return false
    this.#armed.splice(index, 1)
    return true
  }

  isOn(name: LastingStory, provider: string): boolean {
    const until = [`${name} *`, `${name} ${provider}`].map((key) => this.#lasting.get(key) ?? 0)
    return this.#now() < Math.max(...until)
  }
}
