import type { ChannelKind } from './kind.ts'

/** Every provider that can be set up, beside the payer's own wallet, which needs a chain. */
export const CHANNEL_KINDS: readonly ChannelKind[] = []
