import type { Lang } from '../kernel/lang.ts'
import type { Notice } from './mail.ts'

export type FailureFacts = {
  day: string
  companyName: string
  firstName: string
  failed: number
  parked: number
  officeUrl: string
}

type Words = { subject(facts: FailureFacts): string; paragraphs(facts: FailureFacts): string[]; button: string }

const total = ({ failed, parked }: FailureFacts): number => failed + parked

const WORDS: Record<Lang, Words> = {
  en: {
    subject: ({ companyName }) => `Webhooks of ${companyName} could not be delivered`,
    paragraphs: (facts) => [
      `Hello ${facts.firstName},`,
      `on ${facts.day} your server did not take ${total(facts)} of our messages, although each was tried five times.`,
      'No order is lost: see what failed and send it again with one click, or read GET /api/next/events from your last cursor.',
    ],
    button: 'See what failed',
  },
  fr: {
    subject: ({ companyName }) => `Des webhooks de ${companyName} n’ont pas pu être livrés`,
    paragraphs: (facts) => [
      `Bonjour ${facts.firstName},`,
      `le ${facts.day}, votre serveur n’a pas accepté ${total(facts)} de nos messages, malgré cinq essais pour chacun.`,
      'Aucune commande n’est perdue : consultez les échecs et renvoyez-les en un clic, ou lisez GET /api/next/events depuis votre dernier curseur.',
    ],
    button: 'Voir les échecs',
  },
  de: {
    subject: ({ companyName }) => `Webhooks von ${companyName} konnten nicht zugestellt werden`,
    paragraphs: (facts) => [
      `Guten Tag ${facts.firstName},`,
      `am ${facts.day} hat Ihr Server ${total(facts)} unserer Nachrichten nicht angenommen, obwohl jede fünfmal versucht wurde.`,
      'Keine Bestellung ist verloren: Sehen Sie nach, was fehlschlug, und senden Sie es mit einem Klick erneut, oder lesen Sie GET /api/next/events ab Ihrem letzten Cursor.',
    ],
    button: 'Fehlgeschlagene ansehen',
  },
  es: {
    subject: ({ companyName }) => `No se pudieron entregar webhooks de ${companyName}`,
    paragraphs: (facts) => [
      `Hola ${facts.firstName}:`,
      `el ${facts.day} su servidor no aceptó ${total(facts)} de nuestros mensajes, aunque cada uno se intentó cinco veces.`,
      'No se ha perdido ningún pedido: vea qué falló y reenvíelo con un clic, o lea GET /api/next/events desde su último cursor.',
    ],
    button: 'Ver los fallos',
  },
  it: {
    subject: ({ companyName }) => `Alcuni webhook di ${companyName} non sono stati consegnati`,
    paragraphs: (facts) => [
      `Buongiorno ${facts.firstName},`,
      `il ${facts.day} il suo server non ha accettato ${total(facts)} dei nostri messaggi, benché ognuno sia stato tentato cinque volte.`,
      'Nessun ordine è perso: guardi che cosa non è riuscito e lo rinvii con un clic, oppure legga GET /api/next/events dal suo ultimo cursore.',
    ],
    button: 'Vedere gli errori',
  },
}

/** The daily mail about webhooks that failed for good. */
export function webhookFailureNotice(lang: Lang, facts: FailureFacts): Notice {
  const words = WORDS[lang]
  return {
    subject: words.subject(facts),
    paragraphs: words.paragraphs(facts),
    button: { label: words.button, url: `${facts.officeUrl}/webhooks?status=failed` },
  }
}
