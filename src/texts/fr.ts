import { fr as button } from './buttons/fr.ts'
import { fr as mails } from './mails/fr.ts'
import { fr as order } from './orders/fr.ts'
import type { Texts } from './texts.ts'
import { fr as till } from './till/fr.ts'
import { fr as wallet } from './wallets/fr.ts'

export const fr: Texts = {
  locale: 'fr-FR',
  name: 'Français',
  pay: {
    channels: {
      crypto: 'USDC depuis votre portefeuille',
      'whitepay-non-custody': 'Tout portefeuille, via Whitepay',
      coinbase: 'USDC depuis votre compte Coinbase',
    },
    sandbox: 'Environnement de test : aucun argent réel.',
    language: 'Langue',
    payTo: 'Paiement à',
    approximately: 'environ',
    rate: (one, other) => `${one} = ${other}`,
    rateHeld: 'Ce taux est garanti jusqu’à la fin du délai.',
    rateChosen: 'le taux est fixé quand vous choisissez comment payer',
    heldUntil: (date) => `le montant affiché est garanti pour ce moyen de paiement jusqu’au ${date}`,
    timeLeft: 'Temps restant',
    validUntil: (date) => `valable jusqu’au ${date}`,
    onNetwork: (network) => `sur ${network}`,
    qrWallet: 'Code QR pour portefeuilles : adresse, réseau et montant',
    qrAddress: 'Code QR avec l’adresse seule',
    qrApp: 'Code QR pour l’application de paiement',
    qrChoice: 'Contenu du code QR',
    walletLink: 'Portefeuille',
    addressOnly: 'Adresse seule',
    addressOnlyHint: 'Pour une plateforme d’échange ou une autre application : saisissez le montant vous-même.',
    scan: 'Scannez avec votre portefeuille',
    scanWith: (app) => `Scannez avec l’application ${app}, ou continuez ci-dessous.`,
    amount: 'Montant',
    address: 'Adresse',
    network: 'Réseau',
    copy: 'Copier',
    copied: 'Copié',
    byHand:
      'La copie est bloquée ici. Le texte est sélectionné : copiez-le vous-même et vérifiez-le après l’avoir collé.',
    copyAmount: 'le montant',
    copyAddress: 'l’adresse',
    onlyOn: (network) => `Envoyez uniquement des USDC, et uniquement sur ${network}. Tout autre envoi peut être perdu.`,
    openWallet: 'Ouvrir dans le portefeuille',
    arrived: 'Reçu',
    missing: 'Reste à payer',
    coming: 'En route',
    confirmations: (done, needed) => `${done} confirmation${done > 1 ? 's' : ''} sur ${needed}`,
    confirmationsOpen: (done) => `${done} confirmation${done > 1 ? 's' : ''}`,
    received: 'Reçu',
    paidAt: 'Date',
    order: 'Commande',
    goods: 'Pour',
    transaction: 'Transaction',
    backToShop: 'Retour à la boutique',
    returnIn: (seconds) => `Retour à la boutique dans ${seconds} s.`,
    returnSay: (seconds) =>
      `Retour à la boutique dans ${seconds} secondes, sauf si vous choisissez « Rester sur cette page ».`,
    stay: 'Rester sur cette page',
    notPaid: 'Je n’ai pas encore payé',
    notPaidOnline: 'Recommencez depuis la boutique pour obtenir un nouveau prix.',
    notPaidHere: 'Demandez un nouveau code à la caisse.',
    havePaid: 'J’ai déjà payé',
    stillLooking:
      'Nous cherchons encore un paiement envoyé à temps. Ne payez pas une seconde fois : cette page continue d’elle-même.',
    havePaidHelp: (merchant, code) =>
      'Ne payez pas une seconde fois. Votre paiement n’est pas perdu : une fois confirmé, il est ajouté à cette ' +
      `commande ou ${merchant} vous le renvoie. Gardez le numéro de transaction et ce numéro de commande : ${code}.`,
    another: 'Payer autrement',
    cancel: 'Annuler cette commande',
    cancelWarning: 'N’annulez que si vous n’avez rien envoyé.',
    cancelNow: 'Oui, annuler',
    takeBack: (merchant, code) =>
      `Vous préférez récupérer votre argent ? Contactez ${merchant} en citant la commande ${code} : ce qui est arrivé peut vous être renvoyé.`,
    beside: (amount, merchant) =>
      `${amount} sont arrivés par une tentative précédente ou trop tard : ils ne comptent pas ici. ${merchant} les voit et peut vous les renvoyer.`,
    besideComing: (amount, merchant) =>
      `${amount} sont en route par une tentative précédente. Ne les payez pas une seconde fois : ils ne comptent pas ici, mais dès leur arrivée, ${merchant} les voit et peut vous les renvoyer.`,
    sentBefore: (place, merchant, code) =>
      `N’envoyez plus rien à ${place}. Si vous l’avez déjà fait, ne payez pas de nouveau : contactez ${merchant} en citant la commande ${code}.`,
    uncredited: (amount, channel, merchant) =>
      `${amount} sont arrivés chez ${channel} autrement que demandé, par exemple sur un autre réseau : ils ne comptent pas ici. ${merchant} les voit et décide de leur suite.`,
    help: 'J’ai payé, mais rien ne se passe',
    helpText: (merchant, code) =>
      'Un envoi apparaît en général ici moins d’une minute après avoir quitté votre portefeuille. Vérifiez-y que ' +
      'vous avez envoyé des USDC, sur le réseau indiqué et à cette adresse. Si c’est le cas et que rien ne change, ' +
      `contactez ${merchant} en citant la commande ${code}.`,
    lost: 'Pas de connexion. La page réessaie ; votre paiement n’est pas affecté.',
    testWallet: 'Payer depuis le portefeuille de test',
    testProvider: 'Jouer le payeur chez le prestataire de test',
    testDecline: 'Refuser',
    testFull: 'Montant exact',
    testHalf: 'La moitié',
    testMore: 'Trop',
    problems: {
      CHANNEL_UNAVAILABLE:
        'Le prestataire de paiement n’a pas répondu. Rien n’a été débité ; réessayez dans un instant.',
      CHANNEL_NOT_AVAILABLE: 'Ce moyen de paiement n’est plus disponible. Choisissez-en un autre.',
      LINK_UNAVAILABLE: 'La page du prestataire n’a pas pu être ouverte. Réessayez dans un instant.',
      ORDER_STATE_CONFLICT: 'Ce n’est plus possible. Cette page montre où en est votre commande.',
      PURCHASE_SOLD: `${button.paidTitle}. ${button.paid}`,
      PAYER_IDENTITY_REQUIRED: 'Pour ce montant, le commerce doit savoir qui paie.',
      SPENDING_LIMIT_EXCEEDED:
        'Avec cette commande, vous dépasseriez ce que le commerce peut accepter en 30 jours. Contactez-le.',
      TRANSACTION_INVALID: 'Un hash de transaction se compose de 0x et de 64 caractères. Copiez-le en entier.',
      TRANSACTION_UNKNOWN:
        'Aucun réseau de ce commerce ne connaît encore cette transaction. Vérifiez le hash ou réessayez dans une minute.',
      TRANSACTION_WAITING: 'La transaction est en route. Elle apparaîtra ici dès que le réseau la confirmera.',
      TRANSACTION_ELSEWHERE: 'Cette transaction ne paie pas cette commande. Vérifiez l’adresse, le jeton et le réseau.',
      TRANSACTION_TOKEN:
        'Cette transaction a envoyé un autre jeton que des USDC. Le commerce le voit et peut vous le renvoyer ; contactez-le.',
      PAYMENT_NOT_RECEIVED:
        'Le prestataire n’a encore signalé aucun paiement pour cette commande. Vérifiez dans son application qu’il a abouti, ou réessayez dans une minute.',
      CROSS_SITE_REQUEST: 'Par sécurité, cette étape doit partir de cette page. Veuillez réessayer.',
    },
    problem: 'Cela n’a pas fonctionné. Réessayez dans un instant.',
    unknownTitle: 'Commande introuvable',
    unknown:
      'Vérifiez que vous avez copié le lien en entier, ou scannez de nouveau le code du commerce. ' +
      'Si vous veniez d’une boutique, retournez-y et recommencez le paiement.',
    failedTitle: 'Un problème est survenu de notre côté',
    failed: 'Votre paiement n’est pas affecté. Rechargez cette page dans un instant.',
  },
  order,
  identity: {
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
  },
  refund: {
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
  },
  kyc: {
    title: 'Vérification d’identité',
    from: (merchant) => `Vérification d’identité pour ${merchant}`,
    order: 'Commande',
    states: {
      pending: 'Votre identité doit être vérifiée',
      closer: 'Une vérification approfondie est nécessaire',
      approved: 'Votre identité est confirmée',
      refused: 'Votre identité n’a pas pu être confirmée',
    },
    why: (merchant) => `La loi oblige ${merchant} à savoir qui paie ce montant.`,
    closerWhy: (merchant) => `Pour des achats plus importants, ${merchant} doit vérifier de plus près qui paie.`,
    notCharged: 'Rien n’a été débité.',
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
    paid: 'Un paiement pour cette commande est arrivé ou en route. Sa page indique où il en est.',
    toPaid: 'Voir le paiement',
    cannotPay: 'Cette commande ne peut pas être payée.',
    mistaken: (merchant, shortCode) =>
      `Si vous pensez à une erreur, contactez ${merchant} en citant la commande ${shortCode}.`,
    mailedTitle: 'Nous vous avons envoyé un e-mail',
    mailed: 'Ouvrez le lien qu’il contient pour continuer la vérification, sur l’appareil de votre choix.',
    notMailed: (merchant, shortCode) =>
      `Si rien n’arrive, ${merchant} peut aussi vous donner le lien : citez la commande ${shortCode}.`,
    unknownTitle: 'Ce lien ne fonctionne pas',
    unknown: 'Rouvrez le lien reçu par e-mail, ou demandez-en un nouveau au commerce.',
  },
  account: {
    verifyTitle: 'Confirmez votre adresse e-mail',
    verifyText: ({ email, role, company }) =>
      company === null
        ? `Un compte avec le rôle « ${role} » a été créé avec l’adresse ${email}.`
        : `Un compte chez ${company} avec le rôle « ${role} » a été créé avec l’adresse ${email}.`,
    verifyOnlyYou: 'Appuyez sur le bouton seulement si vous attendez ce compte.',
    verifyNotYou: 'Vous ne l’attendez pas ? Fermez cette page. Sans votre confirmation, ce compte ne peut rien faire.',
    verifyButton: 'Confirmer',
    verified: 'Votre adresse est confirmée.',
    verifiedStays: 'Vous êtes toujours connecté dans ce navigateur.',
    verifiedEnded: 'Connectez-vous pour continuer. Par sécurité, les connexions précédentes de ce compte ont pris fin.',
    verifiedChoose:
      'Choisissez maintenant un mot de passe. Par sécurité, l’ancien n’est plus valable et les connexions précédentes de ce compte ont pris fin.',
    goOn: 'Continuer',
    taken:
      'Cette adresse a désormais un compte que l’invitation ne peut pas remplacer. Connectez-vous à ce compte ou réinitialisez son mot de passe.',
    deadLink: 'Ce lien n’est plus valable. Demandez un nouveau message.',
    resetTitle: 'Choisissez un nouveau mot de passe',
    resetLabel: 'Nouveau mot de passe',
    resetHint: '12 à 128 caractères avec majuscule, minuscule, chiffre et caractère spécial.',
    resetButton: 'Enregistrer',
    resetDone: 'Votre mot de passe est changé. Vous pouvez vous connecter.',
    passwordFaults: {
      short: 'Saisissez au moins 12 caractères.',
      long: 'Ne dépassez pas 128 caractères.',
      upper: 'Ajoutez une majuscule.',
      lower: 'Ajoutez une minuscule.',
      digit: 'Ajoutez un chiffre.',
      special: 'Ajoutez un caractère spécial, par exemple « ! » ou « ? ».',
      common:
        'Ce mot de passe est facile à deviner. Choisissez plusieurs mots sans lien entre eux, ou laissez un gestionnaire de mots de passe en créer un.',
    },
    logIn: 'Se connecter',
    confirmTitle: 'Un nouveau mot de passe a été demandé dans l’application',
    confirmText: 'N’appuyez que si c’était vous. L’application pourra alors fixer le nouveau mot de passe.',
    confirmButton: 'C’était moi',
    confirmed: 'Merci. Retournez dans l’application et choisissez le mot de passe.',
  },
  busy: {
    title: 'Un instant, s’il vous plaît',
    text: 'Trop de pages ont été ouvertes depuis votre réseau. Patientez une minute, puis rouvrez cette page.',
  },
  missing: {
    title: 'Cette page n’existe pas',
    text: 'Vérifiez que vous avez copié l’adresse en entier, ou revenez en arrière et suivez de nouveau le lien.',
  },
  unreadable: {
    title: 'Votre saisie est illisible',
    text: 'Elle est trop longue ou contient un caractère qui ne peut pas être enregistré. Revenez en arrière, ressaisissez le texte à la main et renvoyez-le.',
  },
  mailbox: {
    title: 'Boîte aux lettres du bac à sable',
    lead: 'Ces e-mails auraient été envoyés. Définissez SMTP_URL pour les envoyer.',
    to: 'Destinataire',
    show: 'Afficher',
    none: 'Aucun e-mail pour l’instant.',
    withLayout: 'avec sa mise en page',
  },
  mails,
  button,
  wallet,
  till,
}
