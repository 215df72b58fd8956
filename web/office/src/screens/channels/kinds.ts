import type { Data } from '../../api/call.ts'

export type Account = Data<'listChannelAccounts'>[number]
export type Rule = Data<'listChannelRules'>[number]
