import { fr as order } from './orders/fr.ts'
import type { Texts } from './texts.ts'

const notYou = 'Si ce n’était pas vous, changez tout de suite de mot de passe et prévenez l’exploitant de ce service.'

export const fr: Texts = {
  locale: 'fr-FR',
  name: 'Français',
  pay: {
    channels: {
      crypto: 'USDC depuis votre portefeuille',
      'whitepay-non-custody': 'Tout portefeuille, via Whitepay',
      coinbase: 'Carte ou virement, via Coinbase',
    },
    sandbox: 'Environnement de test : aucun argent réel.',
    language: 'Langue',
    payTo: 'Paiement à',
    approximately: 'environ',
    rate: (one, other) => `${one} = ${other}`,
    rateHeld: 'Ce taux est garanti jusqu’à la fin du délai.',
    timeLeft: 'Temps restant',
    validUntil: (date) => `valable jusqu’au ${date}`,
    onNetwork: (network) => `sur ${network}`,
    qrWallet: 'Code QR pour portefeuilles : adresse, réseau et montant',
    qrAddress: 'Code QR avec l’adresse seule',
    qrApp: 'Code QR pour l’application de paiement',
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
    copyAmount: 'le montant',
    copyAddress: 'l’adresse',
    onlyOn: (network) => `Envoyez uniquement des USDC, et uniquement sur ${network}. Tout autre envoi peut être perdu.`,
    openWallet: 'Ouvrir dans le portefeuille',
    arrived: 'Reçu',
    missing: 'Reste à payer',
    confirmations: (done, needed) => `${done} confirmation${done > 1 ? 's' : ''} sur ${needed}`,
    confirmationsOpen: (done) => `${done} confirmation${done > 1 ? 's' : ''}`,
    received: 'Reçu',
    paidAt: 'Date',
    order: 'Commande',
    goods: 'Pour',
    transaction: 'Transaction',
    backToShop: 'Retour à la boutique',
    notPaid: 'Je n’ai pas encore payé',
    notPaidOnline:
      'N’envoyez rien à l’ancienne adresse. Recommencez depuis la boutique pour obtenir un nouveau montant et une nouvelle adresse.',
    notPaidHere: 'N’envoyez rien à l’ancienne adresse. Demandez un nouveau code à la caisse.',
    havePaid: 'J’ai déjà payé',
    havePaidHelp: (merchant, code) =>
      'Ne payez pas une seconde fois. Votre paiement n’est pas perdu : une fois confirmé, il est ajouté à cette ' +
      `commande ou ${merchant} vous le renvoie. Gardez le numéro de transaction et ce numéro de commande : ${code}.`,
    another: 'Payer autrement',
    cancel: 'Annuler cette commande',
    cancelWarning: 'N’annulez que si vous n’avez rien envoyé.',
    cancelNow: 'Oui, annuler',
    takeBack: (merchant, code) =>
      `Vous préférez récupérer votre argent ? Contactez ${merchant} en citant la commande ${code} : ce qui est arrivé peut vous être renvoyé.`,
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
      ORDER_STATE_CONFLICT: 'Ce n’est plus possible. Cette page montre où en est votre commande.',
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
  },
  account: {
    verifyTitle: 'Confirmez votre adresse e-mail',
    verifyText: 'Appuyez sur le bouton pour confirmer que cette adresse est la vôtre.',
    verifyButton: 'Confirmer',
    verified: 'Votre adresse est confirmée. Vous pouvez fermer cette page.',
    deadLink: 'Ce lien n’est plus valable. Demandez un nouveau message.',
    resetTitle: 'Choisissez un nouveau mot de passe',
    resetLabel: 'Nouveau mot de passe',
    resetHint: '12 à 128 caractères avec majuscule, minuscule, chiffre et caractère spécial.',
    resetButton: 'Enregistrer',
    resetDone: 'Votre mot de passe est changé. Vous pouvez vous connecter.',
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
  mails: {
    greeting: (name) => `Bonjour ${name},`,
    closing: 'Ce message est envoyé par une machine ; personne ne lit les réponses.',
    kinds: {
      verifyEmail: ({ url }) => ({
        subject: 'Confirmez votre adresse e-mail',
        paragraphs: [
          'Confirmez que cette adresse est la vôtre. D’ici là, votre compte ne montre que votre propre profil.',
        ],
        button: { label: 'Confirmer mon adresse', url },
        note: 'Le lien est valable 48 heures. Si vous ne vous êtes pas inscrit, vous n’avez rien à faire.',
      }),
      loginCode: ({ code }) => ({
        subject: `${code} est votre code de connexion`,
        paragraphs: ['Saisissez ce code pour terminer la connexion :'],
        code,
        note: `Il est valable 5 minutes et une seule fois. Ne le donnez à personne. ${notYou}`,
      }),
      resetLink: ({ url }) => ({
        subject: 'Choisissez un nouveau mot de passe',
        paragraphs: ['Quelqu’un, sans doute vous, a demandé un nouveau mot de passe pour ce compte.'],
        button: { label: 'Choisir un mot de passe', url },
        note: 'Le lien est valable 30 minutes et une seule fois. Si vous n’avez rien demandé, votre mot de passe ne change pas.',
      }),
      resetCode: ({ url, code }) => ({
        subject: `${code} est votre code pour un nouveau mot de passe`,
        paragraphs: [
          'Quelqu’un, sans doute vous, a demandé un nouveau mot de passe dans l’application. Saisissez-y ce code, ou utilisez le bouton :',
        ],
        code,
        button: { label: 'C’était moi', url },
        note: 'Les deux sont valables 30 minutes. Si vous n’avez rien demandé, n’appuyez pas : votre mot de passe ne change pas.',
      }),
      passwordChanged: () => ({
        subject: 'Votre mot de passe a changé',
        paragraphs: ['Le mot de passe de votre compte vient de changer et tous les appareils ont été déconnectés.'],
        note: notYou,
      }),
      invitation: ({ inviter, company, url }) => ({
        subject: `${company} vous invite`,
        paragraphs: [
          `${inviter} a créé un compte pour vous chez ${company}. Choisissez un mot de passe pour l’utiliser.`,
        ],
        button: { label: 'Choisir un mot de passe', url },
        note: 'Le lien est valable 7 jours et une seule fois.',
      }),
      approvalNeeded: ({ applicant, applicantEmail, role, company, url }) => ({
        subject: `${applicant} demande à rejoindre ${company}`,
        paragraphs: [
          `${applicant} (${applicantEmail}) s’est inscrit comme ${role} de ${company}. Sans votre accord, ce compte ne peut rien faire.`,
        ],
        button: { label: 'Examiner', url },
        note: 'Si vous ne connaissez pas cette personne, vous n’avez rien à faire.',
      }),
      accountApproved: ({ company }) => ({
        subject: 'Votre compte est approuvé',
        paragraphs: [`Un responsable de ${company} a approuvé votre compte. Vous pouvez l’utiliser.`],
      }),
      companyApproved: ({ company }) => ({
        subject: `${company} est approuvée`,
        paragraphs: [`L’exploitant a approuvé ${company}. Vous pouvez créer des commandes.`],
      }),
      authenticatorAdded: () => ({
        subject: 'Une application d’authentification a été ajoutée',
        paragraphs: ['La connexion à votre compte demande désormais un code de votre application d’authentification.'],
        note: notYou,
      }),
      passkeyAdded: ({ passkey }) => ({
        subject: 'Une clé d’accès a été ajoutée',
        paragraphs: [`La clé d’accès « ${passkey} » peut désormais confirmer votre connexion.`],
        note: notYou,
      }),
      authenticatorRemoved: () => ({
        subject: 'Votre application d’authentification a été retirée',
        paragraphs: ['Les codes de connexion à votre compte arrivent désormais par e-mail.'],
        note: notYou,
      }),
      recoveryCodeUsed: ({ left }) => ({
        subject: 'Un code de secours a été utilisé',
        paragraphs: [`Quelqu’un s’est connecté à votre compte avec un code de secours. Codes restants : ${left}.`],
        note: notYou,
      }),
      sessionStolen: () => ({
        subject: 'Une session de votre compte a été fermée',
        paragraphs: [
          'Un ancien jeton de session a servi une deuxième fois ; nous avons fermé cette session. Reconnectez-vous.',
        ],
        note: notYou,
      }),
    },

    kycCheck: {
      subject: ({ merchant }) => `${merchant} doit vérifier votre identité`,
      paragraphs: ({ merchant, shortCode, closer }) => [
        closer
          ? `Pour des achats plus importants, ${merchant} doit vérifier de plus près qui paie (commande ${shortCode}).`
          : `Avant le paiement de votre commande ${shortCode}, la loi oblige ${merchant} à vérifier votre identité.`,
        'La page de ce lien indique ce qu’il faut et où en est la vérification. Rien n’a été débité.',
      ],
      button: 'Ouvrir la vérification',
    },
    receipt: {
      subject: ({ merchant }) => `Votre reçu de ${merchant}`,
      paragraphs: ({ merchant, amount, shortCode }) => [
        `${merchant} a bien reçu votre paiement de ${amount} pour la commande ${shortCode}.`,
        'Le reçu peut être imprimé, et chacun peut vérifier qu’il est authentique.',
      ],
      button: 'Ouvrir le reçu',
    },
    refundAddress: {
      subject: ({ merchant }) => `Où ${merchant} doit-il envoyer votre remboursement ?`,
      paragraphs: ({ merchant, amount, network, shortCode }) => [
        `${merchant} vous rembourse ${amount} USDC pour votre commande ${shortCode}.`,
        `Indiquez l’adresse de portefeuille sur ${network} qui doit recevoir l’argent. L’adresse d’où vous avez payé n’est pas reprise d’office : elle peut appartenir à une plateforme d’échange.`,
      ],
      button: 'Indiquer mon adresse',
    },
    emailChanged: {
      subject: ({ shortCode }) => `Votre adresse e-mail pour la commande ${shortCode} a été modifiée`,
      paragraphs: ({ merchant, shortCode }) => [
        `${merchant} a remplacé votre adresse e-mail pour la commande ${shortCode} par une autre.`,
        'Les questions sur un remboursement arrivent toujours ici. Si vous n’avez rien demandé, prévenez le commerce.',
      ],
    },
    webhookFailures: {
      subject: ({ companyName }) => `Des webhooks de ${companyName} n’ont pas pu être livrés`,
      paragraphs: (facts) => [
        `Bonjour ${facts.firstName},`,
        `le ${facts.day}, votre serveur n’a pas accepté ${facts.failed + facts.parked} de nos messages, malgré cinq essais pour chacun.`,
        'Aucune commande n’est perdue : consultez les échecs et renvoyez-les en un clic, ou lisez GET /api/next/events depuis votre dernier curseur.',
      ],
      button: 'Voir les échecs',
    },
  },
}
