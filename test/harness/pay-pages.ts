import type { Lang } from '../../src/kernel/lang.ts'
import { TEXTS } from '../../src/texts/languages.ts'
import type { Situation } from '../../src/texts/order-texts.ts'
import { makePayStates } from './pay-states.ts'
import type { PayWorld } from './pay-world.ts'
import { callService, eventually } from './service.ts'

/** One page that a payer meets: its address without a language, and words that it shows in one. */
export type PayerPage = { name: string; url: string; words(lang: Lang): string }

type Link = { _id: string; url: string; posterUrl: string }

async function makeLinks({ host, merchant }: PayWorld) {
  const make = async (body: object): Promise<Link> => {
    const sent = { merchantIdentifier: merchant.merchantIdentifier, currency: 'EUR', ...body }
    const answer = await callService<Link>(host.baseUrl, 'POST', '/api/next/static-links', { as: merchant, body: sent })
    return answer.data
  }
  const closed = await make({ name: 'Tisch 4', amount: '12.50' })
  const path = `/api/next/static-links/${closed._id}`
  await callService(host.baseUrl, 'PUT', path, { as: merchant, body: { active: false } })
  return { typed: await make({ name: 'Tombola' }), fixed: await make({ name: 'Tisch 4', amount: '12.50' }), closed }
}

/** Every page of payers: each situation of an order, and what stands around it. */
export async function makePayerPages(world: PayWorld): Promise<PayerPage[]> {
  const { host } = world
  const states = await makePayStates(world)
  const situations = (Object.entries(states) as [Situation, string][]).map(
    ([name, url]): PayerPage => ({ name, url, words: (lang) => TEXTS[lang].order.situations[name].title }),
  )
  const textOf = async (url: string): Promise<string> => (await fetch(url)).text()
  const receipt = await eventually(
    async () => /href="([^"]*\/receipt\/[\w-]+)"/.exec(await textOf(states.paid))?.[1] ?? '',
    (link) => link !== '',
  )
  const refundOf = async (url: string) => /href="([^"]*\/refund\?[^"]+)"/.exec(await textOf(url))?.[1] ?? ''
  const refund = await refundOf(states.refundAddress)
  const named = (await refundOf(states.refundCheck)).replace(/&(amp;)?change=1/, '')
  const links = await makeLinks(world)
  const who = world.pageUrl(await world.createOrder({ amount: 1500 }))
  const page = (name: string, path: string, words: PayerPage['words']): PayerPage => ({
    ...{ name, words, url: new URL(path.replaceAll('&amp;', '&'), host.baseUrl).href },
  })
  return [
    ...situations,
    page('receipt', receipt, (lang) => TEXTS[lang].order.receipt.from('Test & Söhne')),
    page('noReceipt', '/receipt/none', (lang) => TEXTS[lang].order.receipt.unknown),
    page('verify', '/receipt/verify', (lang) => TEXTS[lang].order.verify.lead),
    page('poster', states.choose.replace('/pay?', '/pay/poster?'), (lang) => TEXTS[lang].order.link.posterText),
    page('link', links.typed.url, (lang) => TEXTS[lang].order.link.goOn),
    page('linkFixed', links.fixed.url, (lang) => TEXTS[lang].order.link.nothingYet),
    page('linkClosed', links.closed.url, (lang) => TEXTS[lang].order.link.closedTitle),
    page('linkPoster', links.typed.posterUrl, (lang) => TEXTS[lang].order.link.posterText),
    page('identity', who, (lang) => TEXTS[lang].identity.title),
    page('refund', refund, (lang) => TEXTS[lang].refund.label),
    page('refundNamed', named, (lang) => TEXTS[lang].order.situations.refundCheck.title),
    page('noRefund', '/refund?code=x&token=y', (lang) => TEXTS[lang].refund.unknownTitle),
    page('noCheck', '/kyc?code=x&token=y', (lang) => TEXTS[lang].kyc.unknownTitle),
    page('verifyEmail', '/account/verify-email?token=x', (lang) => TEXTS[lang].account.verifyTitle),
    page('reset', '/account/reset-password?token=x', (lang) => TEXTS[lang].account.deadLink),
    page('mailbox', '/mailbox', (lang) => TEXTS[lang].mailbox.title),
    page('button', '/buy-button/landing?id=none', (lang) => TEXTS[lang].button.failedTitle),
    page('unknown', '/pay?code=nothing', (lang) => TEXTS[lang].pay.unknownTitle),
    page('missing', '/nowhere', (lang) => TEXTS[lang].missing.title),
  ]
}

export const inLanguage = ({ url }: PayerPage, lang: string): string => {
  const address = new URL(url)
  address.searchParams.set('lang', lang)
  return address.href
}
