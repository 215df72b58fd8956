import { LANGS, type Lang } from '../../kernel/lang.ts'

/** The page on which a payer says where a refund goes; every language has every text. */
export type RefundTexts = {
  locale: string
  title: string
  from: (merchant: string) => string
  ask: (network: string) => string
  notTheSender: string
  proposed: (merchant: string) => string
  /** Said by a link that no mail carried. */
  passedOn: (merchant: string) => string
  label: string
  hint: string
  next: string
  checkTitle: string
  check: (network: string) => string
  confirm: string
  change: string
  invalid: string
  notYours: string
  done: string
  sentTo: string
  transaction: string
  dropped: (merchant: string) => string
  unknownTitle: string
  unknown: string
}

const en: RefundTexts = {
  locale: 'en-GB',
  title: 'Your refund',
  from: (merchant) => `Refund from ${merchant}`,
  ask: (network) => `To which wallet address on ${network} shall it go?`,
  notTheSender: 'We do not simply send it back to where it came from: that address may belong to an exchange.',
  proposed: (merchant) =>
    `${merchant} proposes the address below. Send it there only if it is your own; otherwise put in yours.`,
  passedOn: (merchant) =>
    `Thank you. ${merchant} checks this address, then the money is sent. You can still change it.`,
  label: 'Wallet address',
  hint: '0x and 40 characters. Copy it from your wallet; do not type it.',
  next: 'Check the address',
  checkTitle: 'Is this your address?',
  check: (network) =>
    `Compare every character with your wallet. Money sent to a wrong address on ${network} cannot be brought back.`,
  confirm: 'Yes, send it there',
  change: 'Change it',
  invalid: 'This is not a valid address. Copy it again from your wallet: 0x and 40 characters.',
  notYours: 'This address belongs to the token or to the shop, not to you. Copy the address of your own wallet.',
  done: 'Thank you. The money is on its way to this address.',
  sentTo: 'Sent to',
  transaction: 'Transaction',
  dropped: (merchant) => `This refund was not made. Please ask ${merchant}.`,
  unknownTitle: 'This link does not work',
  unknown: 'Open the link from the mail again, or ask the shop for a new one.',
}

const fr: RefundTexts = {
  locale: 'fr-FR',
  title: 'Votre remboursement',
  from: (merchant) => `Remboursement de ${merchant}`,
  ask: (network) => `À quelle adresse de portefeuille sur ${network} faut-il l’envoyer ?`,
  notTheSender:
    'Nous ne le renvoyons pas d’office à l’expéditeur : l’adresse peut appartenir à une plateforme d’échange.',
  proposed: (merchant) =>
    `${merchant} propose l’adresse ci-dessous. Confirmez-la seulement si c’est la vôtre, sinon indiquez la vôtre.`,
  passedOn: (merchant) =>
    `Merci. ${merchant} vérifie cette adresse, puis l’argent est envoyé. Vous pouvez encore la modifier.`,
  label: 'Adresse du portefeuille',
  hint: '0x et 40 caractères. Copiez-la depuis votre portefeuille, ne la tapez pas.',
  next: 'Vérifier l’adresse',
  checkTitle: 'Est-ce bien votre adresse ?',
  check: (network) =>
    `Comparez chaque caractère avec votre portefeuille. Un envoi à une mauvaise adresse sur ${network} est perdu.`,
  confirm: 'Oui, envoyer à cette adresse',
  change: 'La modifier',
  invalid: 'Cette adresse n’est pas valable. Copiez-la de nouveau depuis votre portefeuille : 0x et 40 caractères.',
  notYours: 'Cette adresse est celle du jeton ou du commerce, pas la vôtre. Copiez celle de votre portefeuille.',
  done: 'Merci. L’argent est en route vers cette adresse.',
  sentTo: 'Envoyé à',
  transaction: 'Transaction',
  dropped: (merchant) => `Ce remboursement n’a pas été effectué. Adressez-vous à ${merchant}.`,
  unknownTitle: 'Ce lien ne fonctionne pas',
  unknown: 'Rouvrez le lien reçu par e-mail, ou demandez-en un nouveau au commerce.',
}

const de: RefundTexts = {
  locale: 'de-DE',
  title: 'Ihre Erstattung',
  from: (merchant) => `Erstattung von ${merchant}`,
  ask: (network) => `An welche Wallet-Adresse auf ${network} soll sie gehen?`,
  notTheSender: 'Wir schicken das Geld nicht einfach zurück: Die Absenderadresse kann einer Börse gehören.',
  proposed: (merchant) =>
    `${merchant} schlägt die Adresse unten vor. Bestätigen Sie sie nur, wenn es Ihre ist; sonst geben Sie Ihre ein.`,
  passedOn: (merchant) => `Danke. ${merchant} prüft diese Adresse, dann geht das Geld ab. Sie können sie noch ändern.`,
  label: 'Wallet-Adresse',
  hint: '0x und 40 Zeichen. Aus der Wallet kopieren, nicht abtippen.',
  next: 'Adresse prüfen',
  checkTitle: 'Ist das Ihre Adresse?',
  check: (network) =>
    `Vergleichen Sie jedes Zeichen mit Ihrer Wallet. Geld an eine falsche Adresse auf ${network} ist verloren.`,
  confirm: 'Ja, dorthin senden',
  change: 'Ändern',
  invalid: 'Das ist keine gültige Adresse. Kopieren Sie sie noch einmal aus Ihrer Wallet: 0x und 40 Zeichen.',
  notYours: 'Diese Adresse gehört dem Token oder dem Geschäft, nicht Ihnen. Kopieren Sie die Ihrer eigenen Wallet.',
  done: 'Danke. Das Geld ist unterwegs zu dieser Adresse.',
  sentTo: 'Gesendet an',
  transaction: 'Transaktion',
  dropped: (merchant) => `Diese Erstattung fand nicht statt. Bitte fragen Sie ${merchant}.`,
  unknownTitle: 'Dieser Link funktioniert nicht',
  unknown: 'Öffnen Sie den Link aus der E-Mail noch einmal, oder bitten Sie das Geschäft um einen neuen.',
}

const es: RefundTexts = {
  locale: 'es-ES',
  title: 'Su reembolso',
  from: (merchant) => `Reembolso de ${merchant}`,
  ask: (network) => `¿A qué dirección de monedero en ${network} debe ir?`,
  notTheSender: 'No lo devolvemos sin más al remitente: esa dirección puede ser de una plataforma de intercambio.',
  proposed: (merchant) =>
    `${merchant} propone la dirección de abajo. Confírmela solo si es la suya; si no, indique la suya.`,
  passedOn: (merchant) =>
    `Gracias. ${merchant} comprueba esta dirección y después se envía el dinero. Aún puede cambiarla.`,
  label: 'Dirección del monedero',
  hint: '0x y 40 caracteres. Cópiela de su monedero, no la escriba.',
  next: 'Comprobar la dirección',
  checkTitle: '¿Es esta su dirección?',
  check: (network) =>
    `Compare cada carácter con su monedero. El dinero enviado a una dirección errónea en ${network} se pierde.`,
  confirm: 'Sí, enviarlo allí',
  change: 'Cambiarla',
  invalid: 'Esta dirección no es válida. Cópiela otra vez de su monedero: 0x y 40 caracteres.',
  notYours: 'Esta dirección es del token o del comercio, no suya. Copie la de su propio monedero.',
  done: 'Gracias. El dinero va de camino a esta dirección.',
  sentTo: 'Enviado a',
  transaction: 'Transacción',
  dropped: (merchant) => `Este reembolso no se realizó. Pregunte a ${merchant}.`,
  unknownTitle: 'Este enlace no funciona',
  unknown: 'Abra de nuevo el enlace del correo, o pida uno nuevo al comercio.',
}

const it: RefundTexts = {
  locale: 'it-IT',
  title: 'Il suo rimborso',
  from: (merchant) => `Rimborso da ${merchant}`,
  ask: (network) => `A quale indirizzo del portafoglio su ${network} deve andare?`,
  notTheSender: 'Non lo rimandiamo semplicemente al mittente: l’indirizzo può essere di una piattaforma di scambio.',
  proposed: (merchant) =>
    `${merchant} propone l’indirizzo qui sotto. Lo confermi solo se è il suo, altrimenti indichi il suo.`,
  passedOn: (merchant) =>
    `Grazie. ${merchant} controlla questo indirizzo, poi il denaro viene inviato. Può ancora cambiarlo.`,
  label: 'Indirizzo del portafoglio',
  hint: '0x e 40 caratteri. Lo copi dal suo portafoglio, non lo digiti.',
  next: 'Controllare l’indirizzo',
  checkTitle: 'È questo il suo indirizzo?',
  check: (network) =>
    `Confronti ogni carattere con il suo portafoglio. Il denaro inviato a un indirizzo errato su ${network} è perso.`,
  confirm: 'Sì, inviare lì',
  change: 'Cambiarlo',
  invalid: 'Questo indirizzo non è valido. Lo copi di nuovo dal suo portafoglio: 0x e 40 caratteri.',
  notYours: 'Questo indirizzo è del token o del negozio, non suo. Copi quello del suo portafoglio.',
  done: 'Grazie. Il denaro è in viaggio verso questo indirizzo.',
  sentTo: 'Inviato a',
  transaction: 'Transazione',
  dropped: (merchant) => `Questo rimborso non è stato eseguito. Si rivolga a ${merchant}.`,
  unknownTitle: 'Questo link non funziona',
  unknown: 'Apra di nuovo il link dell’e-mail, o ne chieda uno nuovo al negozio.',
}

const DICTIONARIES: Record<Lang, RefundTexts> = { en, fr, de, es, it }

/** The first language of the browser that we have, else English. */
export function refundTextsFor(acceptLanguage: string | undefined): { lang: Lang; texts: RefundTexts } {
  const wanted = (acceptLanguage ?? '').split(',').map((part) => part.trim().slice(0, 2).toLowerCase())
  const lang = wanted.flatMap((part) => LANGS.filter((known) => known === part))[0] ?? 'en'
  return { lang, texts: DICTIONARIES[lang] }
}
