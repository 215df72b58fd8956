import { countLines, type MailTexts, type RoleWords, roleWord, someOf } from '../mail-texts.ts'

const notYou = 'Si ce n’était pas vous, changez tout de suite de mot de passe et prévenez l’exploitant de ce service.'

const roles: RoleWords = {
  SuperAdmin: 'Exploitant',
  SuperManager: 'Responsable de plusieurs sociétés',
  Manager: 'Responsable',
  Association: 'Association',
  Cashier: 'Caissier',
  Observer: 'Observateur',
  SimpleUser: 'Client',
  Service: 'Machine',
}

export const fr: MailTexts = {
  greeting: (name) => `Bonjour ${name},`,
  closing: 'Ceci est un message automatique. Les réponses ne sont pas lues.',
  help: ({ merchant, contact, shortCode }) =>
    `Une question ? Contactez ${merchant} : ${contact}. Indiquez le numéro de commande ${shortCode}.`,
  screens: { home: 'Ouvrir le back-office', account: 'Vérifier mon compte', keys: 'Voir les clés d’API' },
  roles,
  kinds: {
    verifyEmail: ({ role, company, url }) => ({
      subject: 'Confirmez votre adresse e-mail',
      paragraphs: someOf([
        role !== '' &&
          (company === ''
            ? `Un compte avec le rôle « ${roleWord(roles, role)} » a été créé avec cette adresse.`
            : `Un compte chez ${company} avec le rôle « ${roleWord(roles, role)} » a été créé avec cette adresse.`),
        'Ne confirmez que si vous attendez ce compte. D’ici là, ce compte ne montre que son propre profil.',
      ]),
      button: { label: 'Confirmer mon adresse', url },
      note: 'Le lien est valable 48 heures. Si vous ne l’attendez pas, ne confirmez pas et ignorez ce message : sans votre confirmation, ce compte ne peut rien faire.',
    }),
    loginCode: ({ code }) => ({
      subject: `${code} est votre code de connexion`,
      paragraphs: ['Saisissez ce code pour terminer la connexion :'],
      code,
      note: `Il est valable 5 minutes et une seule fois. Ne le donnez à personne. ${notYou}`,
    }),
    confirmCode: ({ code }) => ({
      subject: `${code} est votre code de confirmation`,
      paragraphs: ['Saisissez ce code pour confirmer l’action en cours dans votre compte :'],
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
    invitation: ({ inviter, company, replaces, url }) => ({
      subject: `${company} vous invite`,
      paragraphs: someOf([
        `${inviter} a créé un compte pour vous chez ${company}. Choisissez un mot de passe pour l’utiliser.`,
        replaces !== '' &&
          'Cette adresse a déjà un compte ici. Quand vous choisirez le mot de passe, ce compte prendra fin et le nouveau le remplacera.',
      ]),
      button: { label: 'Choisir un mot de passe', url },
      note:
        replaces === ''
          ? 'Le lien est valable 7 jours et une seule fois.'
          : `Le lien est valable 7 jours et une seule fois. Si vous voulez garder l’ancien compte ou ne connaissez pas ${company}, ignorez ce message.`,
    }),
    approvalNeeded: ({ applicant, applicantEmail, role, company, url }) => ({
      subject: `${applicant} demande à rejoindre ${company}`,
      paragraphs: [
        `${applicant} (${applicantEmail}) s’est inscrit chez ${company} avec le rôle « ${roleWord(roles, role)} ». Sans votre accord, ce compte ne peut rien faire.`,
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
    deviceLogin: ({ computer, address }) => ({
      subject: 'Un programme s’est connecté',
      paragraphs: [
        `Vous avez confirmé la connexion de « ${computer} », demandée depuis l’adresse ${address}. Ce programme dispose désormais d’une clé d’API de votre entreprise.`,
        'Si vous ne la reconnaissez pas, révoquez la clé dans le back-office, sous Clés d’API, et changez votre mot de passe.',
      ],
    }),
    passkeyAdded: ({ passkey }) => ({
      subject: 'Une clé d’accès a été ajoutée',
      paragraphs: [`La clé d’accès « ${passkey} » peut désormais confirmer votre connexion.`],
      note: notYou,
    }),
    passkeyRemoved: ({ passkey }) => ({
      subject: 'Une clé d’accès a été supprimée',
      paragraphs: [`La clé d’accès « ${passkey} » ne confirme plus votre connexion.`],
      note: notYou,
    }),
    authenticatorRemoved: () => ({
      subject: 'Votre application d’authentification a été retirée',
      paragraphs: ['Les codes de connexion à votre compte arrivent désormais par e-mail.'],
      note: notYou,
    }),
    secondFactorReset: ({ app, passkeys }) => ({
      subject: 'Votre second facteur a été réinitialisé',
      paragraphs: [
        ...(app === '' ? [] : ['Votre application d’authentification ne confirme plus votre connexion.']),
        ...(passkeys === '' ? [] : [`Ces clés d’accès ne confirment plus votre connexion : ${passkeys}.`]),
        'Les codes de connexion à votre compte arrivent désormais par e-mail.',
      ],
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
        : `Pour votre commande ${shortCode}, la loi oblige ${merchant} à vérifier votre identité.`,
      'Ce lien ouvre une page qui indique ce qu’il faut fournir et où en est la vérification.',
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
  payLink: {
    subject: ({ merchant, amount, isReminder }) =>
      isReminder ? `Rappel : ${amount} à régler à ${merchant}` : `${merchant} vous demande de payer ${amount}`,
    paragraphs: ({ merchant, shortCode, amount, purpose, until, isReminder }) =>
      someOf([
        isReminder
          ? `Votre commande ${shortCode} chez ${merchant}, d’un montant de ${amount}, n’est pas encore payée.`
          : `${merchant} vous demande de payer ${amount} (commande ${shortCode}).`,
        purpose !== null && `Objet : ${purpose}`,
        `Vous pouvez payer jusqu’au ${until}. La page indique tous les moyens de paiement et le prix en USDC.`,
        'Vous ne connaissez pas cette boutique, ou n’attendez rien d’elle ? Ignorez cet e-mail : rien n’est prélevé.',
      ]),
    button: 'Payer maintenant',
  },
  saleMails: {
    each: {
      subject: ({ amount, shortCode }) => `Vente de ${amount} (commande ${shortCode})`,
      paragraphs: ({ companyName, firstName, shortCode, alias, amount, received, channel }) =>
        someOf([
          `Bonjour ${firstName},`,
          `la commande ${shortCode} de ${companyName}, d’un montant de ${amount}, est payée.`,
          `Reçu : ${received} USDC.`,
          channel !== null && `Payée via : ${channel}.`,
          alias !== null && `Votre référence : ${alias}`,
        ]),
      button: 'Ouvrir la commande',
    },
    rest: {
      subject: ({ sales, companyName }) => `${sales} autres ventes chez ${companyName}`,
      paragraphs: ({ companyName, firstName, sales, amounts, most }) => [
        `Bonjour ${firstName},`,
        `${companyName} a fait ${sales} autres ventes depuis le dernier e-mail : ${amounts}.`,
        `Au-delà de ${most} e-mails en une heure, nous résumons le reste de l’heure en un seul.`,
      ],
      button: 'Voir les commandes',
    },
    note: 'Vous avez choisi ces e-mails dans le back-office, sous « Votre compte ». Vous pouvez les arrêter au même endroit.',
    channels: { crypto: 'Portefeuille (USDC)', 'whitepay-non-custody': 'Whitepay (tout portefeuille)' },
  },
  refundAddress: {
    subject: ({ merchant }) => `Où ${merchant} doit-il envoyer votre remboursement ?`,
    paragraphs: ({ merchant, amount, network, shortCode }) => [
      `${merchant} vous rembourse ${amount} pour votre commande ${shortCode}.`,
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
    paragraphs: (facts) =>
      someOf([
        `Bonjour ${facts.firstName},`,
        facts.failed > 0 &&
          `le ${facts.day}, votre serveur n’a pas accepté ${facts.failed} de nos messages, malgré cinq essais pour chacun.`,
        facts.parked > 0 &&
          `Messages mis de côté le ${facts.day} : ${facts.parked}. Notre propre service s’est interrompu à chaque envoi ; votre serveur les a peut-être reçus.`,
        'Aucune commande n’est perdue : consultez les échecs et renvoyez-les en un clic, ou lisez GET /api/next/events depuis votre dernier curseur.',
      ]),
    button: 'Voir les échecs',
  },
  askedBack: {
    subject: ({ shortCode }) => `Un client redemande son argent (commande ${shortCode})`,
    paragraphs: ({ firstName, shortCode, amounts }) => [
      `Bonjour ${firstName},`,
      `le client de la commande ${shortCode} demande le remboursement d’une somme qui n’a pas été imputée : ${amounts}.`,
      'Cette somme attend votre décision : l’accepter, la rembourser ou la laisser en l’état. Rien ne bouge avant.',
    ],
    button: 'Voir la somme',
  },
  waiting: {
    subject: ({ companyName }) => `${companyName} : une décision vous attend`,
    paragraphs: (facts) => [
      `Bonjour ${facts.firstName},`,
      `depuis le ${facts.day}, ceci attend votre décision :`,
      countLines([
        [
          facts.mispayments,
          'paiement ne correspond pas à sa commande',
          'paiements ne correspondent pas à leur commande',
        ],
        [facts.unmatched, 'transfert ne correspond à aucune commande', 'transferts ne correspondent à aucune commande'],
        [facts.refunds, 'remboursement attend l’adresse du payeur', 'remboursements attendent l’adresse du payeur'],
        [facts.byHand, 'remboursement est à envoyer à la main', 'remboursements sont à envoyer à la main'],
      ]),
      'Rien n’est perdu. Jusqu’à votre décision, vos clients voient que leur argent est arrivé et que vous décidez.',
    ],
    button: 'Voir ce qui attend',
  },
  restored: {
    subject: ({ companyName }) => `Vérifiez les réglages de ${companyName} : ils viennent d’une sauvegarde`,
    paragraphs: (facts) => [
      `Bonjour ${facts.firstName},`,
      `notre base de données a dû être restaurée. Tout chez ${facts.companyName} est comme au ${facts.at} ; ce qui a été changé depuis est annulé.`,
      'Les clés API que vous avez révoquées depuis fonctionnent de nouveau, et les personnes que vous avez retirées peuvent de nouveau se connecter. Révoquez-les et retirez-les encore une fois dans le back-office. Tout le monde a été déconnecté.',
      'Si vous avez remplacé le secret des webhooks depuis, l’ancien est de nouveau en vigueur et votre boutique refuse nos webhooks : remplacez-le encore une fois sous Webhooks et donnez le nouveau à votre boutique. Les mots de passe changés depuis sont eux aussi les anciens : qui a changé le sien devrait le changer de nouveau.',
      'L’adresse de versement, vos portefeuilles et vos comptes auprès des plateformes sont aussi ceux d’alors. Rien n’est versé avant que vous confirmiez l’adresse : regardez-la sous Boutique, cochez qu’elle est la bonne ou indiquez-en une autre, et enregistrez avec un nouveau code.',
    ],
  },
  moneyChange: {
    kinds: {
      payout: ({ company, before, after }) => ({
        subject: `L’adresse de versement de ${company} a été modifiée`,
        text: `Les versements à ${company} partent désormais vers une autre adresse. Avant : ${before ?? 'aucune'}. Maintenant : ${after ?? 'aucune'}.`,
      }),
      payoutConfirmed: ({ company, address }) => ({
        subject: `L’adresse de versement de ${company} a été confirmée`,
        text: `Le service a été restauré depuis une sauvegarde, et l’adresse de versement d’alors a été confirmée. Les versements à ${company} y partent : ${address}.`,
      }),
      refundRules: ({ company }) => ({
        subject: `Les règles de remboursement de ${company} ont été modifiées`,
        text: 'Une règle a changé : ce que chaque rôle peut rembourser, qui doit approuver un remboursement, ou à partir de quel montant un second facteur est exigé. Le journal montre les anciennes règles et les nouvelles.',
      }),
      account: ({ company, channel, isRemoved, before, after }) => ({
        subject: `Le compte qui reçoit les paiements à ${company} a été modifié`,
        text:
          (isRemoved
            ? `Votre propre compte ou portefeuille pour « ${channel} » a été retiré : vos clients paient désormais sur le compte de l’exploitant.`
            : `Votre propre compte ou portefeuille pour « ${channel} » a été réenregistré : c’est là qu’arrive désormais l’argent de vos clients.`) +
          ` Avant : ${before ?? 'le compte de l’exploitant'}. Maintenant : ${after ?? 'le compte de l’exploitant'}.`,
      }),
      apiKey: ({ company, key, scopes }) => ({
        subject: `Une nouvelle clé API de ${company} peut déplacer de l’argent`,
        text: `La clé API « ${key} » a été créée. Elle permet : ${scopes}.`,
      }),
      webhookSecret: ({ company }) => ({
        subject: `Le secret des webhooks de ${company} a été remplacé`,
        text: 'Votre serveur doit vérifier nos webhooks avec le nouveau secret. Qui le connaît peut écrire des webhooks qui ressemblent aux nôtres.',
      }),
      access: ({ company, person, role, isDisabled }) => ({
        subject: `Un accès à ${company} a été modifié`,
        text: isDisabled
          ? `${person} ne peut plus se connecter.`
          : `${person} a accès avec le rôle « ${roleWord(roles, role)} ».`,
      }),
      attached: ({ company, person }) => ({
        subject: `${person} peut désormais agir pour ${company}`,
        text: `L’exploitant a donné à ${person} l’accès à ${company} avec le rôle « ${roles.SuperManager} ».`,
      }),
      secondFactor: ({ person }) => ({
        subject: `Le second facteur de ${person} a été retiré`,
        text: `${person} n’a plus besoin d’application d’authentification ni de clé d’accès : les codes arrivent par e-mail.`,
      }),
    },
    by: ({ by, at, from }) => `Fait par ${by}, le ${at}${from === null ? '' : `, depuis l’adresse ${from}`}.`,
    toDo:
      'Si personne chez vous ne l’a voulu : annulez-le dans le back-office, désactivez sous « Équipe » le compte qui l’a ' +
      'fait, et prévenez aussitôt l’exploitant de ce service, qui peut arrêter les versements.',
    more: ({ names, count }) => `${names} et ${count} autres`,
    last: 'Cela s’est produit de nombreuses fois en une heure. Les prochains changements de ce genre ne seront peut-être pas annoncés : suivez le journal.',
    button: 'Ouvrir le journal',
  },
}
