import type { Data } from '../../api/call.ts'

export type Refund = Data<'getRefund'>
