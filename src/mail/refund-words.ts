import type { Lang } from '../kernel/lang.ts'
import type { Notice } from './mail.ts'

export type RefundFacts = { merchant: string; amount: string; network: string; shortCode: string; url: string }

type Words = { subject(facts: RefundFacts): string; paragraphs(facts: RefundFacts): string[]; button: string }

const WORDS: Record<Lang, Words> = {
  en: {
    subject: ({ merchant }) => `Where shall ${merchant} send your refund?`,
    paragraphs: ({ merchant, amount, network, shortCode }) => [
      `${merchant} is refunding ${amount} USDC for your order ${shortCode}.`,
      `Please say to which wallet address on ${network} the money shall go. The address from which you paid is not used by itself: it may belong to an exchange.`,
    ],
    button: 'Enter my address',
  },
  fr: {
    subject: ({ merchant }) => `Où ${merchant} doit-il envoyer votre remboursement ?`,
    paragraphs: ({ merchant, amount, network, shortCode }) => [
      `${merchant} vous rembourse ${amount} USDC pour votre commande ${shortCode}.`,
      `Indiquez l’adresse de portefeuille sur ${network} qui doit recevoir l’argent. L’adresse d’où vous avez payé n’est pas reprise d’office : elle peut appartenir à une plateforme d’échange.`,
    ],
    button: 'Indiquer mon adresse',
  },
  de: {
    subject: ({ merchant }) => `Wohin soll ${merchant} Ihr Geld zurückschicken?`,
    paragraphs: ({ merchant, amount, network, shortCode }) => [
      `${merchant} erstattet Ihnen ${amount} USDC für Ihre Bestellung ${shortCode}.`,
      `Bitte nennen Sie die Wallet-Adresse auf ${network}, die das Geld erhalten soll. Die Adresse, von der Sie bezahlt haben, wird nicht von selbst genommen: Sie kann einer Börse gehören.`,
    ],
    button: 'Meine Adresse angeben',
  },
  es: {
    subject: ({ merchant }) => `¿Adónde debe enviar ${merchant} su reembolso?`,
    paragraphs: ({ merchant, amount, network, shortCode }) => [
      `${merchant} le reembolsa ${amount} USDC de su pedido ${shortCode}.`,
      `Indique la dirección de monedero en ${network} que debe recibir el dinero. La dirección desde la que pagó no se usa sin preguntar: puede pertenecer a una plataforma de intercambio.`,
    ],
    button: 'Indicar mi dirección',
  },
  it: {
    subject: ({ merchant }) => `Dove deve inviare il rimborso ${merchant}?`,
    paragraphs: ({ merchant, amount, network, shortCode }) => [
      `${merchant} le rimborsa ${amount} USDC per il suo ordine ${shortCode}.`,
      `Indichi l’indirizzo del portafoglio su ${network} che deve ricevere il denaro. L’indirizzo da cui ha pagato non viene usato da solo: può appartenere a una piattaforma di scambio.`,
    ],
    button: 'Indicare il mio indirizzo',
  },
}

/** Asks a payer where a refund goes. */
export function refundAddressNotice(lang: Lang, facts: RefundFacts): Notice {
  const { subject, paragraphs, button } = WORDS[lang]
  return {
    subject: subject(facts),
    paragraphs: paragraphs(facts),
    button: { label: button, url: facts.url },
  }
}

const SPOKEN: Partial<Record<string, Lang>> = {
  FR: 'fr',
  MC: 'fr',
  PF: 'fr',
  NC: 'fr',
  DE: 'de',
  AT: 'de',
  LI: 'de',
  ES: 'es',
  IT: 'it',
}

/** The language to write in to somebody of whom only the shop's country is known. */
export const langOfCountry = (country: string | null): Lang => SPOKEN[country ?? ''] ?? 'en'
