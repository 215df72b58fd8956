import { LANGS, type Lang } from '../../kernel/lang.ts'

/** The page on which a payer goes through an identity check; every language has every text. */
export type KycTexts = {
  title: string
  from: (merchant: string) => string
  order: string
  states: { pending: string; closer: string; approved: string; refused: string }
  why: (merchant: string) => string
  closerWhy: (merchant: string) => string
  byHand: (merchant: string) => string
  prepare: string
  again: string
  comeBack: string
  loading: string
  failed: string
  retry: string
  noScript: string
  approved: string
  toPayment: string
  startAgain: (merchant: string) => string
  refused: (merchant: string, shortCode: string) => string
  unknownTitle: string
  unknown: string
}

const en: KycTexts = {
  title: 'Identity check',
  from: (merchant) => `Identity check for ${merchant}`,
  order: 'Order',
  states: {
    pending: 'Your identity has to be checked',
    closer: 'A closer look is needed',
    approved: 'Your identity is confirmed',
    refused: 'Your identity could not be confirmed',
  },
  why: (merchant) => `The law obliges ${merchant} to know who pays this amount. Nothing was charged.`,
  closerWhy: (merchant) =>
    `For larger purchases ${merchant} has to look more closely at who pays. Nothing was charged.`,
  byHand: (merchant) =>
    `${merchant} checks it and will ask you by e-mail for what is needed, usually a copy of an identity document.`,
  prepare: 'Have an identity document and a camera ready. It takes a few minutes.',
  again: 'Please try again',
  comeBack: 'This page shows the result by itself. You may close it and come back by the link in your mail.',
  loading: 'The check is being loaded …',
  failed: 'The check could not be loaded. You lose nothing; try again in a moment.',
  retry: 'Try again',
  noScript:
    'The check needs JavaScript and a camera. Switch JavaScript on, or open the link from the mail in another browser.',
  approved: 'Thank you. You can go on now.',
  toPayment: 'Continue to the payment',
  startAgain: (merchant) =>
    `The time to pay this order is over. Start again at ${merchant}; with the same e-mail you are not checked again.`,
  refused: (merchant, shortCode) =>
    `This order cannot be paid. If you think that this is a mistake, contact ${merchant} and name order ${shortCode}.`,
  unknownTitle: 'This link does not work',
  unknown: 'Open the link from the mail again, or ask the shop for a new one.',
}

const fr: KycTexts = {
  title: 'Vérification d’identité',
  from: (merchant) => `Vérification d’identité pour ${merchant}`,
  order: 'Commande',
  states: {
    pending: 'Votre identité doit être vérifiée',
    closer: 'Une vérification approfondie est nécessaire',
    approved: 'Votre identité est confirmée',
    refused: 'Votre identité n’a pas pu être confirmée',
  },
  why: (merchant) => `La loi oblige ${merchant} à savoir qui paie ce montant. Rien n’a été débité.`,
  closerWhy: (merchant) =>
    `Pour des achats plus importants, ${merchant} doit vérifier de plus près qui paie. Rien n’a été débité.`,
  byHand: (merchant) =>
    `${merchant} s’en charge et vous demandera par e-mail ce qu’il faut, en général la copie d’une pièce d’identité.`,
  prepare: 'Préparez une pièce d’identité et une caméra. Cela prend quelques minutes.',
  again: 'Veuillez réessayer',
  comeBack: 'Cette page affiche elle-même le résultat. Vous pouvez la fermer et revenir par le lien de l’e-mail.',
  loading: 'La vérification se charge…',
  failed: 'La vérification n’a pas pu être chargée. Rien n’est perdu ; réessayez dans un instant.',
  retry: 'Réessayer',
  noScript:
    'La vérification a besoin de JavaScript et d’une caméra. Activez JavaScript, ou ouvrez le lien dans un autre navigateur.',
  approved: 'Merci. Vous pouvez continuer.',
  toPayment: 'Continuer vers le paiement',
  startAgain: (merchant) =>
    `Le temps pour payer cette commande est écoulé. Recommencez chez ${merchant} ; avec le même e-mail, pas de nouvelle vérification.`,
  refused: (merchant, shortCode) =>
    `Cette commande ne peut pas être payée. Si vous pensez à une erreur, contactez ${merchant} en citant la commande ${shortCode}.`,
  unknownTitle: 'Ce lien ne fonctionne pas',
  unknown: 'Rouvrez le lien reçu par e-mail, ou demandez-en un nouveau au commerce.',
}

const de: KycTexts = {
  title: 'Identitätsprüfung',
  from: (merchant) => `Identitätsprüfung für ${merchant}`,
  order: 'Bestellung',
  states: {
    pending: 'Ihre Identität muss geprüft werden',
    closer: 'Eine genauere Prüfung ist nötig',
    approved: 'Ihre Identität ist bestätigt',
    refused: 'Ihre Identität konnte nicht bestätigt werden',
  },
  why: (merchant) =>
    `Das Gesetz verpflichtet ${merchant} zu wissen, wer diesen Betrag bezahlt. Es wurde nichts abgebucht.`,
  closerWhy: (merchant) => `Für größere Käufe muss ${merchant} genauer prüfen, wer bezahlt. Es wurde nichts abgebucht.`,
  byHand: (merchant) =>
    `${merchant} prüft sie und fragt Sie per E-Mail nach dem, was nötig ist, meist der Kopie eines Ausweises.`,
  prepare: 'Halten Sie einen Ausweis und eine Kamera bereit. Es dauert wenige Minuten.',
  again: 'Bitte noch einmal',
  comeBack:
    'Diese Seite zeigt das Ergebnis von selbst. Sie können sie schließen und über den Link in der E-Mail wiederkommen.',
  loading: 'Die Prüfung wird geladen …',
  failed: 'Die Prüfung konnte nicht geladen werden. Es geht nichts verloren; versuchen Sie es gleich noch einmal.',
  retry: 'Noch einmal versuchen',
  noScript:
    'Die Prüfung braucht JavaScript und eine Kamera. Schalten Sie JavaScript ein, oder öffnen Sie den Link in einem anderen Browser.',
  approved: 'Danke. Es kann weitergehen.',
  toPayment: 'Weiter zur Zahlung',
  startAgain: (merchant) =>
    `Die Zeit für diese Bestellung ist um. Beginnen Sie bei ${merchant} neu; mit derselben E-Mail werden Sie nicht noch einmal geprüft.`,
  refused: (merchant, shortCode) =>
    `Diese Bestellung kann nicht bezahlt werden. Falls das ein Irrtum ist, wenden Sie sich an ${merchant} und nennen Sie die Bestellung ${shortCode}.`,
  unknownTitle: 'Dieser Link funktioniert nicht',
  unknown: 'Öffnen Sie den Link aus der E-Mail noch einmal, oder bitten Sie das Geschäft um einen neuen.',
}

const es: KycTexts = {
  title: 'Comprobación de identidad',
  from: (merchant) => `Comprobación de identidad para ${merchant}`,
  order: 'Pedido',
  states: {
    pending: 'Hay que comprobar su identidad',
    closer: 'Hace falta una comprobación más detallada',
    approved: 'Su identidad está confirmada',
    refused: 'No se ha podido confirmar su identidad',
  },
  why: (merchant) => `La ley obliga a ${merchant} a saber quién paga este importe. No se ha cobrado nada.`,
  closerWhy: (merchant) =>
    `Para compras mayores, ${merchant} debe comprobar con más detalle quién paga. No se ha cobrado nada.`,
  byHand: (merchant) =>
    `${merchant} se encarga y le pedirá por correo lo que haga falta, normalmente la copia de un documento de identidad.`,
  prepare: 'Tenga a mano un documento de identidad y una cámara. Son unos minutos.',
  again: 'Inténtelo de nuevo',
  comeBack: 'Esta página muestra el resultado por sí sola. Puede cerrarla y volver con el enlace del correo.',
  loading: 'Se está cargando la comprobación…',
  failed: 'No se ha podido cargar la comprobación. No se pierde nada; inténtelo de nuevo en un momento.',
  retry: 'Intentar de nuevo',
  noScript: 'La comprobación necesita JavaScript y una cámara. Active JavaScript o abra el enlace en otro navegador.',
  approved: 'Gracias. Ya puede continuar.',
  toPayment: 'Continuar con el pago',
  startAgain: (merchant) =>
    `Se acabó el tiempo para pagar este pedido. Empiece de nuevo en ${merchant}; con el mismo correo no se le comprueba otra vez.`,
  refused: (merchant, shortCode) =>
    `Este pedido no se puede pagar. Si cree que es un error, contacte con ${merchant} e indique el pedido ${shortCode}.`,
  unknownTitle: 'Este enlace no funciona',
  unknown: 'Abra de nuevo el enlace del correo, o pida uno nuevo al comercio.',
}

const it: KycTexts = {
  title: 'Verifica dell’identità',
  from: (merchant) => `Verifica dell’identità per ${merchant}`,
  order: 'Ordine',
  states: {
    pending: 'La sua identità deve essere verificata',
    closer: 'Serve una verifica più approfondita',
    approved: 'La sua identità è confermata',
    refused: 'Non è stato possibile confermare la sua identità',
  },
  why: (merchant) => `La legge obbliga ${merchant} a sapere chi paga questo importo. Non è stato addebitato nulla.`,
  closerWhy: (merchant) =>
    `Per acquisti più grandi ${merchant} deve verificare più a fondo chi paga. Non è stato addebitato nulla.`,
  byHand: (merchant) =>
    `${merchant} se ne occupa e le chiederà per e-mail ciò che serve, di solito la copia di un documento d’identità.`,
  prepare: 'Tenga pronti un documento d’identità e una fotocamera. Bastano pochi minuti.',
  again: 'Riprovi, per favore',
  comeBack: 'Questa pagina mostra il risultato da sola. Può chiuderla e tornare dal link dell’e-mail.',
  loading: 'La verifica si sta caricando…',
  failed: 'Non è stato possibile caricare la verifica. Non si perde nulla; riprovi tra un momento.',
  retry: 'Riprovare',
  noScript: 'La verifica richiede JavaScript e una fotocamera. Attivi JavaScript o apra il link in un altro browser.',
  approved: 'Grazie. Ora può proseguire.',
  toPayment: 'Continuare con il pagamento',
  startAgain: (merchant) =>
    `Il tempo per pagare questo ordine è scaduto. Ricominci da ${merchant}; con la stessa e-mail non sarà verificato di nuovo.`,
  refused: (merchant, shortCode) =>
    `Questo ordine non può essere pagato. Se pensa a un errore, si rivolga a ${merchant} e indichi l’ordine ${shortCode}.`,
  unknownTitle: 'Questo link non funziona',
  unknown: 'Riapra il link dell’e-mail, o ne chieda uno nuovo al negozio.',
}

const DICTIONARIES: Record<Lang, KycTexts> = { en, fr, de, es, it }

/** The first language of the browser that we have, else English. */
export function kycTextsFor(acceptLanguage: string | undefined): { lang: Lang; texts: KycTexts } {
  const wanted = (acceptLanguage ?? '').split(',').map((part) => part.trim().slice(0, 2).toLowerCase())
  const lang = wanted.flatMap((part) => LANGS.filter((known) => known === part))[0] ?? 'en'
  return { lang, texts: DICTIONARIES[lang] }
}
