import type { Lang } from '../../kernel/lang.ts'

/** The short form on which a payer says who he is; every language has every text. */
export type IdentityTexts = {
  title: string
  why: (merchant: string) => string
  email: string
  emailHint: string
  firstName: string
  lastName: string
  orCompany: string
  companyName: string
  next: string
  faults: { emailMissing: string; emailWrong: string; firstName: string; lastName: string }
}

const en: IdentityTexts = {
  title: 'Who pays?',
  why: (merchant) => `For this amount ${merchant} must know who pays. What you enter is kept encrypted.`,
  email: 'E-mail',
  emailHint: 'For news of this payment, nothing else.',
  firstName: 'First name',
  lastName: 'Last name',
  orCompany: 'Or, if a company pays:',
  companyName: 'Company name',
  next: 'Continue',
  faults: {
    emailMissing: 'Enter an e-mail address.',
    emailWrong: 'This is not a whole e-mail address, such as name@example.com.',
    firstName: 'Enter your first name, or a company name below.',
    lastName: 'Enter your last name, or a company name below.',
  },
}

const fr: IdentityTexts = {
  title: 'Qui paie ?',
  why: (merchant) => `Pour ce montant, ${merchant} doit savoir qui paie. Vos données sont conservées chiffrées.`,
  email: 'E-mail',
  emailHint: 'Pour les nouvelles de ce paiement, rien d’autre.',
  firstName: 'Prénom',
  lastName: 'Nom',
  orCompany: 'Ou, si une entreprise paie :',
  companyName: 'Nom de l’entreprise',
  next: 'Continuer',
  faults: {
    emailMissing: 'Indiquez une adresse e-mail.',
    emailWrong: 'Cette adresse e-mail n’est pas complète ; par exemple nom@exemple.fr.',
    firstName: 'Indiquez votre prénom, ou le nom d’une entreprise plus bas.',
    lastName: 'Indiquez votre nom, ou le nom d’une entreprise plus bas.',
  },
}

const de: IdentityTexts = {
  title: 'Wer bezahlt?',
  why: (merchant) =>
    `Bei diesem Betrag muss ${merchant} wissen, wer bezahlt. Ihre Angaben werden verschlüsselt aufbewahrt.`,
  email: 'E-Mail',
  emailHint: 'Für Nachrichten zu dieser Zahlung, für nichts anderes.',
  firstName: 'Vorname',
  lastName: 'Nachname',
  orCompany: 'Oder, wenn eine Firma bezahlt:',
  companyName: 'Name der Firma',
  next: 'Weiter',
  faults: {
    emailMissing: 'Geben Sie eine E-Mail-Adresse an.',
    emailWrong: 'Diese E-Mail-Adresse ist nicht vollständig; zum Beispiel name@beispiel.de.',
    firstName: 'Geben Sie Ihren Vornamen an, oder unten den Namen einer Firma.',
    lastName: 'Geben Sie Ihren Nachnamen an, oder unten den Namen einer Firma.',
  },
}

const es: IdentityTexts = {
  title: '¿Quién paga?',
  why: (merchant) => `Para este importe, ${merchant} debe saber quién paga. Sus datos se guardan cifrados.`,
  email: 'Correo electrónico',
  emailHint: 'Para noticias de este pago, nada más.',
  firstName: 'Nombre',
  lastName: 'Apellidos',
  orCompany: 'O, si paga una empresa:',
  companyName: 'Nombre de la empresa',
  next: 'Continuar',
  faults: {
    emailMissing: 'Indique una dirección de correo.',
    emailWrong: 'Esta dirección de correo no está completa; por ejemplo nombre@ejemplo.es.',
    firstName: 'Indique su nombre, o el de una empresa más abajo.',
    lastName: 'Indique sus apellidos, o el nombre de una empresa más abajo.',
  },
}

const it: IdentityTexts = {
  title: 'Chi paga?',
  why: (merchant) => `Per questo importo ${merchant} deve sapere chi paga. I suoi dati sono conservati cifrati.`,
  email: 'E-mail',
  emailHint: 'Per notizie su questo pagamento, nient’altro.',
  firstName: 'Nome',
  lastName: 'Cognome',
  orCompany: 'Oppure, se paga un’azienda:',
  companyName: 'Nome dell’azienda',
  next: 'Continuare',
  faults: {
    emailMissing: 'Indichi un indirizzo e-mail.',
    emailWrong: 'Questo indirizzo e-mail non è completo; per esempio nome@esempio.it.',
    firstName: 'Indichi il suo nome, o quello di un’azienda qui sotto.',
    lastName: 'Indichi il suo cognome, o il nome di un’azienda qui sotto.',
  },
}

export const IDENTITY_TEXTS: Record<Lang, IdentityTexts> = { en, fr, de, es, it }
