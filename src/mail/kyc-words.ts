import type { Lang } from '../kernel/lang.ts'
import type { Notice } from './mail.ts'

export type KycFacts = { merchant: string; shortCode: string; url: string; closer: boolean }

type Words = { subject(facts: KycFacts): string; paragraphs(facts: KycFacts): string[]; button: string }

const WORDS: Record<Lang, Words> = {
  en: {
    subject: ({ merchant }) => `${merchant} has to check who you are`,
    paragraphs: ({ merchant, shortCode, closer }) => [
      closer
        ? `For larger purchases ${merchant} has to look more closely at who pays (order ${shortCode}).`
        : `Before your order ${shortCode} can be paid, ${merchant} is obliged by law to check your identity.`,
      'The page behind this link says what is needed and how the check stands. Nothing was charged.',
    ],
    button: 'Open the check',
  },
  fr: {
    subject: ({ merchant }) => `${merchant} doit vérifier votre identité`,
    paragraphs: ({ merchant, shortCode, closer }) => [
      closer
        ? `Pour des achats plus importants, ${merchant} doit vérifier de plus près qui paie (commande ${shortCode}).`
        : `Avant le paiement de votre commande ${shortCode}, la loi oblige ${merchant} à vérifier votre identité.`,
      'La page de ce lien indique ce qu’il faut et où en est la vérification. Rien n’a été débité.',
    ],
    button: 'Ouvrir la vérification',
  },
  de: {
    subject: ({ merchant }) => `${merchant} muss Ihre Identität prüfen`,
    paragraphs: ({ merchant, shortCode, closer }) => [
      closer
        ? `Für größere Käufe muss ${merchant} genauer prüfen, wer bezahlt (Bestellung ${shortCode}).`
        : `Bevor Ihre Bestellung ${shortCode} bezahlt werden kann, muss ${merchant} von Gesetzes wegen Ihre Identität prüfen.`,
      'Die Seite hinter diesem Link sagt, was gebraucht wird und wie es steht. Es wurde nichts abgebucht.',
    ],
    button: 'Prüfung öffnen',
  },
  es: {
    subject: ({ merchant }) => `${merchant} debe comprobar su identidad`,
    paragraphs: ({ merchant, shortCode, closer }) => [
      closer
        ? `Para compras mayores, ${merchant} debe comprobar con más detalle quién paga (pedido ${shortCode}).`
        : `Antes de pagar su pedido ${shortCode}, ${merchant} está obligado por ley a comprobar su identidad.`,
      'La página de este enlace dice qué hace falta y cómo va la comprobación. No se ha cobrado nada.',
    ],
    button: 'Abrir la comprobación',
  },
  it: {
    subject: ({ merchant }) => `${merchant} deve verificare la sua identità`,
    paragraphs: ({ merchant, shortCode, closer }) => [
      closer
        ? `Per acquisti più grandi ${merchant} deve verificare più a fondo chi paga (ordine ${shortCode}).`
        : `Prima del pagamento del suo ordine ${shortCode}, ${merchant} è tenuto per legge a verificare la sua identità.`,
      'La pagina di questo link dice che cosa serve e a che punto è la verifica. Non è stato addebitato nulla.',
    ],
    button: 'Aprire la verifica',
  },
}

/** Asks a payer to go through an identity check. */
export function kycNotice(lang: Lang, facts: KycFacts): Notice {
  const { subject, paragraphs, button } = WORDS[lang]
  return { subject: subject(facts), paragraphs: paragraphs(facts), button: { label: button, url: facts.url } }
}
