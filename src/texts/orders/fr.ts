import type { EndingTexts, OrderTexts, RestTexts } from '../order-texts.ts'

/** How the rest of a part payment is paid. */
const restOf: RestTexts = {
  address: ({ amount }) => `Envoyez les ${amount} restants à la même adresse avant la fin du délai.`,
  provider: ({ channel }) =>
    `Payez le reste chez ${channel} avant la fin du délai. Sa page indique combien, dans la monnaie que vous y avez choisie.`,
  whole: ({ channel }) =>
    `${channel} renvoie un paiement trop faible et vous en avise par e-mail. N’envoyez pas le reste : pour payer, envoyez-y le prix entier en un seul paiement.`,
}

/** What came for an order that is not paid. */
const cameTo: EndingTexts = {
  expired: ({ amount }) => `Nous avons reçu ${amount}, mais pas la totalité dans le délai.`,
  cancelled: ({ amount }) => `Nous avons reçu ${amount} pour cette commande, qui a été annulée.`,
  other: ({ amount }) => `Nous avons reçu ${amount}.`,
}

export const fr: OrderTexts = {
  situations: {
    choose: {
      title: 'Choisissez comment payer',
      text: () => 'Rien n’est débité avant que vous confirmiez dans votre application ou votre portefeuille.',
      next: ({ channel }) => `Payer avec ${channel}`,
    },
    unavailable: {
      title: 'Ce commerce ne peut pas encaisser pour le moment',
      text: () => 'Rien n’a été débité.',
      next: () => 'Prévenez le commerce, ou rouvrez cette page dans quelques minutes.',
    },
    preparing: {
      title: 'Préparation de votre paiement',
      text: () => 'Quelques secondes suffisent. La page continue d’elle-même.',
      next: () => 'Payer autrement',
    },
    providerDown: {
      title: 'Le prestataire de paiement ne répond pas',
      text: () => 'Rien n’a été débité. Nous continuons d’essayer et cette page reprendra d’elle-même.',
      next: () => 'Payer autrement',
    },
    waiting: {
      title: 'En attente de votre paiement',
      text: () => 'Il apparaît ici quelques secondes après l’envoi.',
      next: () => 'Scannez le code, ou copiez le montant et l’adresse.',
    },
    partly: {
      title: 'Une partie de votre paiement est arrivée',
      text: ({ amount, rest }) =>
        rest === 'address' ? `Il manque encore ${amount}.` : `Il manque encore l’équivalent de ${amount}.`,
      next: (facts) => restOf[facts.rest](facts),
    },
    onItsWay: {
      title: 'Un paiement est en route',
      text: ({ channel, due }) => `${channel} voit arriver un paiement, mais pas encore la totalité des ${due}.`,
      next: (facts) =>
        facts.rest === 'whole'
          ? restOf.whole(facts)
          : 'Si vous avez tout envoyé, vous n’avez plus rien à faire. Sinon, envoyez-y le reste.',
    },
    accountGone: {
      title: 'Ne payez pas le reste ici',
      text: ({ channel, merchant }) =>
        `De l’argent est arrivé chez ${channel} ou est en route, mais ${merchant} n’y accepte plus de paiements.`,
      next: ({ merchant, code }) => `Avant de payer davantage, contactez ${merchant} en citant la commande ${code}.`,
    },
    wrongToken: {
      title: 'Un autre jeton est arrivé',
      text: ({ token, merchant }) =>
        `Vous avez envoyé ${token}, mais seuls les USDC règlent cette commande. ${merchant} le voit et peut vous le renvoyer.`,
      next: ({ due, network, channel }) =>
        network
          ? `Pour payer, envoyez ${due} sur ${network}. N’envoyez aucun autre jeton.`
          : `Pour payer, continuez chez ${channel}.`,
    },
    seen: {
      title: 'Paiement reçu, confirmation en cours',
      text: ({ confirms }) =>
        confirms === ''
          ? 'Le réseau le confirme de lui-même.'
          : `${confirms} l’a vu et le confirme encore. Cette page continue d’elle-même.`,
      next: ({ confirms }) =>
        confirms === ''
          ? 'Vous n’avez plus rien à faire. Vous pouvez fermer cette page.'
          : 'Ne payez pas une seconde fois. Vous pouvez fermer cette page.',
    },
    hold: {
      title: 'Paiement reçu, dernier contrôle',
      text: () =>
        'Chaque paiement passe un contrôle de sécurité. Il dure en général une minute ; s’il dure plus longtemps, rien n’est perdu.',
      next: () => 'Ne payez pas une seconde fois. Vous pouvez fermer cette page.',
    },
    paid: {
      title: 'Payé',
      text: ({ merchant }) => `${merchant} a bien reçu votre paiement.`,
      next: () => 'Retour à la boutique',
    },
    overpaid: {
      title: 'Payé, avec un trop-perçu',
      text: ({ merchant, amount }) =>
        `${merchant} a bien reçu votre paiement. Vous avez envoyé ${amount} de trop ; le commerce le voit et peut vous les renvoyer.`,
      next: ({ merchant, code }) => `Pour les récupérer, contactez ${merchant} en citant la commande ${code}.`,
    },
    expired: {
      title: 'Le délai de paiement est écoulé',
      text: ({ shown, channel }) => {
        if (shown === 'address') return 'N’envoyez rien à l’ancienne adresse.'
        return shown === 'provider' ? `Ne payez plus chez ${channel}.` : 'Rien n’a été débité.'
      },
      next: () => 'Obtenir un nouveau prix',
    },
    late: {
      title: 'De l’argent est arrivé, mais la commande n’est pas payée',
      text: (facts) =>
        `${cameTo[facts.ending](facts)} Rien n’est perdu : ${facts.merchant} l’accepte ou vous le renvoie.`,
      next: ({ merchant, code }) =>
        `Ne payez pas une seconde fois. Contactez ${merchant} en citant la commande ${code}.`,
    },
    onItsWayEnded: {
      title: 'Un paiement est en route',
      text: ({ amount, confirms, merchant }) =>
        `${confirms} nous a signalé un paiement de ${amount}. Il n’est pas perdu : une fois confirmé, il est ajouté à cette commande ou ${merchant} vous le renvoie.`,
      next: ({ merchant, code }) =>
        `Ne payez pas une seconde fois. Pour toute question, contactez ${merchant} en citant la commande ${code}.`,
    },
    wrongTokenEnded: {
      title: 'Un autre jeton est arrivé, la commande n’est pas payée',
      text: ({ token, merchant }) =>
        `Vous avez envoyé ${token}, mais seuls les USDC règlent cette commande. ${merchant} le voit et peut vous le renvoyer.`,
      next: ({ merchant, code }) => `Pour le récupérer, contactez ${merchant} en citant la commande ${code}.`,
    },
    sentBack: {
      title: 'Votre argent vous a été renvoyé',
      text: ({ merchant, amount }) => `${merchant} vous a renvoyé ${amount}. Cette commande n’est pas payée.`,
      next: ({ shown }) =>
        shown === 'address'
          ? 'N’envoyez rien à l’ancienne adresse. Pour payer malgré tout, recommencez auprès du commerce.'
          : 'Pour payer malgré tout, recommencez auprès du commerce.',
    },
    cancelled: {
      title: 'Cette commande a été annulée',
      text: ({ shown }) => {
        if (shown === 'address') return 'Ne la payez plus. N’envoyez rien à l’ancienne adresse.'
        return shown === 'provider' ? 'Ne la payez plus.' : 'Rien n’a été débité.'
      },
      next: () => 'Vous n’avez rien à faire.',
    },
    error: {
      title: 'Le paiement n’a pas abouti',
      text: ({ merchant, code }) =>
        `Le prestataire de paiement l’a refusé. Si votre compte a été débité, contactez ${merchant} en citant la commande ${code}.`,
      next: () => 'Choisir un autre moyen de paiement',
    },
    refundApproval: {
      title: 'Votre remboursement attend une validation',
      text: ({ merchant, amount }) =>
        `${merchant} veut vous rembourser ${amount}. Une deuxième personne doit d’abord donner son accord.`,
      next: () => 'Vous n’avez rien à faire.',
    },
    refundAddress: {
      title: 'Où envoyer votre remboursement ?',
      text: ({ merchant, amount }) =>
        `${merchant} veut vous rembourser ${amount} et a besoin de l’adresse de votre portefeuille.`,
      next: () => 'Saisir mon adresse',
    },
    refundCheck: {
      title: 'Nous avons votre adresse',
      text: ({ merchant, amount }) => `${merchant} la vérifie, puis vous renvoie ${amount}.`,
      next: () => 'Modifier mon adresse',
    },
    refundMailed: {
      title: 'Votre adresse est nécessaire au remboursement',
      text: ({ merchant, amount }) =>
        `${merchant} veut vous rembourser ${amount}. Par sécurité, le lien pour saisir votre adresse ne vous a été envoyé que par e-mail.`,
      next: () => 'Ouvrez le lien dans cet e-mail.',
    },
    refundByHand: {
      title: 'Votre remboursement est en préparation',
      text: ({ merchant, amount }) =>
        `${amount} vous reviennent pour votre paiement à ${merchant}. Quelqu’un les envoie à la main : cela peut prendre quelques jours.`,
      next: () => 'Vous n’avez rien à faire.',
    },
    refunding: {
      title: 'Votre remboursement est en cours',
      text: ({ merchant, amount }) => `${merchant} vous renvoie ${amount}. Cela peut prendre un peu de temps.`,
      next: ({ mailer }) =>
        mailer === ''
          ? 'Vous n’avez rien à faire.'
          : `Vous avez payé depuis un portefeuille, et non dans l’application ${mailer} ? ${mailer} vous demande alors votre adresse par e-mail, et le remboursement attend votre réponse.`,
    },
    refundedPart: {
      title: 'Remboursé en partie',
      text: ({ amount, due }) => `${amount} sur ${due} vous ont été renvoyés.`,
      next: () => 'Le reste de la commande reste payé.',
    },
    refunded: {
      title: 'Remboursé',
      text: ({ amount }) => `La totalité, soit ${amount}, vous a été renvoyée.`,
      next: () => 'Vous n’avez rien à faire.',
    },
    review: {
      title: 'Ce paiement est en cours de vérification',
      text: () => 'Le contrôle de sécurité du portefeuille qui a payé demande la décision d’une personne.',
      next: ({ merchant, code }) =>
        `Ne payez pas une seconde fois. Pour toute question, contactez ${merchant} en citant la commande ${code}.`,
    },
  },
  receipt: {
    title: 'Reçu',
    from: (merchant) => `Reçu de ${merchant}`,
    vatNumber: 'N° de TVA de la boutique',
    number: 'Commande',
    reference: 'Référence',
    price: 'Prix',
    paid: 'Payé',
    rate: 'Taux',
    channel: 'Moyen de paiement',
    sentBack: 'Remboursé',
    sentBackBeside: 'Remboursé, hors de ce paiement',
    sentTo: 'Envoyé à',
    show: 'Voir le reçu',
    onExplorer: 'Voir la transaction',
    print: 'Imprimer',
    signed: 'Copie signée (JSON)',
    verify: 'La signature de ce reçu se vérifie avec les clés publiques de ce service :',
    terms: 'Conditions',
    unknown: 'Ce reçu n’existe pas. Vérifiez que vous avez copié le lien en entier.',
  },
  ways: {
    groups: {
      exchange: 'Avec une application d’échange',
      wallet: 'Avec un portefeuille',
      onramp: 'Avec un compte Coinbase',
    },
    notes: {
      exchange: 'depuis votre solde, en quelques secondes',
      wallet: 'USDC plus frais de réseau, environ une minute',
      onramp: 'vous y achetez des USDC, frais en plus, quelques minutes',
    },
    lastUsed: 'utilisé la dernière fois',
    otherWays: 'Autres moyens de paiement',
    showCode: 'Afficher le code',
    openApp: (app) => `Ouvrir l’application ${app}`,
    openPage: (provider) => `Continuer chez ${provider}`,
    newPrice: 'Obtenir un nouveau prix',
    newPriceWith: (channel) => `Nouveau prix, payer avec ${channel}`,
    newPriceHint: 'Même commande, au taux du jour.',
  },
  help: {
    title: 'Aide',
    ask: (merchant, code) => `Une question sur cette commande ? Contactez ${merchant} en citant ${code}.`,
    phone: 'Téléphone',
    email: 'E-mail',
    subject: (code) => `Commande ${code}`,
    reference: 'Hash de la transaction, ou numéro du paiement chez le prestataire',
    referenceHint: 'Votre portefeuille, plateforme ou application l’affiche avec le paiement.',
    referenceSend: 'Rechercher mon paiement',
    otherNetwork: (network, merchant, code) =>
      `Envoyé sur un autre réseau que ${network} ? Ne payez pas une deuxième fois. L’adresse y appartient en général aussi au service du commerce : l’argent peut être récupéré. Contactez ${merchant} en citant la commande ${code} et le hash de la transaction.`,
    otherToken: (merchant, code) =>
      `L’ETH et la plupart des autres jetons n’apparaissent jamais ici d’eux-mêmes, même arrivés à cette adresse. N’envoyez rien de plus : contactez ${merchant} en citant la commande ${code} et le hash de la transaction.`,
  },
  askBack: {
    offer: (merchant) =>
      `Vous pouvez demander ici qu’il vous soit renvoyé. ${merchant} est prévenu aussitôt et décide.`,
    button: 'Demander la restitution',
    asked: (merchant) =>
      `Vous avez demandé la restitution de cet argent, et ${merchant} en est prévenu. Gardez le lien de cette page : elle dit ce qui est décidé, et où indiquer l’adresse de votre portefeuille si elle est nécessaire.`,
  },
  link: {
    preview: (merchant, amount) => `Payer ${amount} à ${merchant}`,
    previewText: 'Ouvrez le lien pour choisir comment payer.',
    poster: 'Affiche à imprimer',
    posterText: 'Scannez le code avec votre téléphone pour payer.',
    print: 'Imprimer',
    payTo: (merchant) => `Payer ${merchant}`,
    payNow: (amount) => `Payer ${amount}`,
    goOn: 'Continuer',
    amountLabel: (currency) => `Montant en ${currency}`,
    between: (least, most) => `De ${least} à ${most}`,
    nothingYet: 'Vous choisirez ensuite comment payer. Rien n’est débité avant.',
    last: {
      unfinished: (amount) => `Votre paiement de ${amount} n’est pas terminé`,
      resumeHint: 'Reprenez-le pour ne pas payer deux fois.',
      resume: 'Reprendre ce paiement',
      another: 'Commencer un autre paiement',
      see: (amount) => `Voir votre dernier paiement ici : ${amount}`,
    },
    closedTitle: 'Ce lien est fermé',
    closed: (merchant) =>
      `${merchant} n’encaisse plus par ce lien. Demandez au commerce un nouveau lien ou un nouveau code.`,
    notSetUp: (merchant) => `Ce lien n’est pas configuré correctement. Merci de le signaler à ${merchant}.`,
    faults: {
      wrong: (example) => `Saisissez un montant, par exemple ${example}.`,
      low: (least) => `Le montant minimum est de ${least}.`,
      high: (most) => `Le montant maximum est de ${most}.`,
    },
  },
  verify: {
    title: 'Vérifier un reçu',
    lead: 'Cette page fonctionne seule, même enregistrée sur votre ordinateur et sans connexion. Ce que vous saisissez n’en sort pas.',
    receipt: 'Reçu signé',
    receiptHint: 'Ouvrez le fichier, ou collez ce qu’affiche « Copie signée (JSON) » sur le reçu.',
    file: 'Ouvrir un fichier',
    keys: 'Clés publiques du service',
    keysHint: 'Collez ce que le service affiche à l’adresse /.well-known/jwks.json, ou récupérez-y les clés.',
    fetchKeys: 'Récupérer les clés de %',
    check: 'Vérifier',
    good: 'Ce reçu est authentique',
    goodText:
      'Signé par %. Assurez-vous que vous faites confiance à ce service : chacun peut en exploiter un autre et signer ses propres reçus.',
    bad: 'Ce reçu n’est pas authentique',
    badText: 'La signature ne correspond pas au contenu : quelque chose a été modifié, ou une autre clé a signé.',
    unreadable: 'Ce n’est pas un reçu signé. Collez le texte entier, de la première à la dernière accolade.',
    noKeys: 'Collez d’abord les clés publiques, ou récupérez-les auprès du service.',
    keyMissing: 'Aucune de ces clés n’a signé ce reçu. Récupérez les clés du service qui l’a émis.',
    noFetch: '% ne répond pas. Ouvrez l’adresse dans une autre fenêtre et collez les clés.',
    altered: 'La copie lisible jointe à la signature dit autre chose. Seul ce qui suit est signé.',
    unsupported:
      'Ce navigateur ne sait pas vérifier ces signatures. Utilisez-en un plus récent, ou la commande : comptoir verify-receipt FILE',
    save: 'Enregistrer cette page',
    link: 'Vérifier un reçu signé sur votre propre ordinateur',
  },
}
