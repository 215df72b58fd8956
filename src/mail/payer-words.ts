import type { Lang } from '../kernel/lang.ts'
import type { Notice } from './mail.ts'

export type EmailChangeFacts = { merchant: string; shortCode: string }

type Words = { subject(facts: EmailChangeFacts): string; paragraphs(facts: EmailChangeFacts): string[] }

const WORDS: Record<Lang, Words> = {
  en: {
    subject: ({ shortCode }) => `Your e-mail address for order ${shortCode} was changed`,
    paragraphs: ({ merchant, shortCode }) => [
      `${merchant} replaced your e-mail address for order ${shortCode} by another one.`,
      'Questions about a refund still come to this address. If you did not ask for the change, tell the shop.',
    ],
  },
  fr: {
    subject: ({ shortCode }) => `Votre adresse e-mail pour la commande ${shortCode} a été modifiée`,
    paragraphs: ({ merchant, shortCode }) => [
      `${merchant} a remplacé votre adresse e-mail pour la commande ${shortCode} par une autre.`,
      'Les questions sur un remboursement arrivent toujours ici. Si vous n’avez rien demandé, prévenez le commerce.',
    ],
  },
  de: {
    subject: ({ shortCode }) => `Ihre E-Mail-Adresse zur Bestellung ${shortCode} wurde geändert`,
    paragraphs: ({ merchant, shortCode }) => [
      `${merchant} hat Ihre E-Mail-Adresse zur Bestellung ${shortCode} durch eine andere ersetzt.`,
      'Fragen zu einer Erstattung kommen weiterhin hierher. Wenn Sie das nicht wollten, melden Sie sich beim Geschäft.',
    ],
  },
  es: {
    subject: ({ shortCode }) => `Se ha cambiado su correo del pedido ${shortCode}`,
    paragraphs: ({ merchant, shortCode }) => [
      `${merchant} ha sustituido su dirección de correo del pedido ${shortCode} por otra.`,
      'Las preguntas sobre un reembolso siguen llegando aquí. Si usted no lo pidió, avise a la tienda.',
    ],
  },
  it: {
    subject: ({ shortCode }) => `Il suo indirizzo e-mail per l’ordine ${shortCode} è stato cambiato`,
    paragraphs: ({ merchant, shortCode }) => [
      `${merchant} ha sostituito il suo indirizzo e-mail per l’ordine ${shortCode} con un altro.`,
      'Le domande su un rimborso arrivano ancora qui. Se non l’ha chiesto lei, avvisi il negozio.',
    ],
  },
}

/** To the payer's old address, when the shop put another in its place. */
export function emailChangedNotice(lang: Lang, facts: EmailChangeFacts): Notice {
  const { subject, paragraphs } = WORDS[lang]
  return { subject: subject(facts), paragraphs: paragraphs(facts) }
}
