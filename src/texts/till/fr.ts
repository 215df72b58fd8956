import type { TillTexts } from '../till-texts.ts'

export const fr: TillTexts = {
  title: 'Caisse',
  enrolTitle: 'Configurer cette caisse',
  enrolText:
    'Un responsable crée un code dans le back-office, sous Boutique → Caisses. Il sert une fois, pendant dix minutes.',
  enrolCode: 'Code',
  enrolButton: 'Configurer',
  who: 'Qui est en caisse ?',
  noPeople:
    'Personne n’est encore affecté à cette caisse. Un responsable le fait dans le back-office, sous Boutique → Caisses.',
  noPin: 'pas encore de code PIN : à définir dans le back-office, sous votre compte',
  locked: 'bloqué : définissez un nouveau code PIN dans le back-office',
  pinOf: (name) => `Code PIN de ${name}`,
  back: 'Retour',
  amount: 'Montant',
  currency: 'Devise',
  reference: 'Référence',
  referenceHint: 'Table, ticket, nom (facultatif)',
  charge: 'Encaisser',
  clear: 'Effacer le dernier chiffre',
  scan: 'Scannez pour payer',
  cancelSale: 'Annuler la vente',
  newSale: 'Nouvelle vente',
  receipt: 'Reçu',
  orders: 'Dernières ventes',
  noOrders: 'Aucune vente pour l’instant.',
  shift: 'Mon service',
  shiftSince: 'Depuis',
  shiftPaid: 'Payé',
  shiftOpen: 'En attente de paiement',
  shiftEnded: 'Non payé',
  signOut: 'Se déconnecter',
  display: 'Écran client',
  close: 'Fermer',
  offline: 'Pas de connexion. Les ventes attendent ici et partiront une seule fois, dès son retour.',
  online: 'La connexion est revenue.',
  sending: 'Préparation du code…',
  waitingSale: 'En attente de la connexion…',
  discard: 'Abandonner la vente',
  saleWaits: 'une vente vous attend',
  waitsOf: (name) =>
    `Une vente de ${name} attend ici. ${name} se connecte, ou vous la reprenez et elle devient la vôtre.`,
  takeOver: 'Reprendre',
  doubtful: (time) =>
    `Cette vente (${time}) est peut-être arrivée et ne sera pas renvoyée. Cherchez-la dans les ` +
    'dernières ventes, puis abandonnez-la ici. Si elle n’y est pas et que le client attend encore, ' +
    'encaissez de nouveau.',
  failed: 'Cela n’a pas fonctionné.',
  storageFull:
    'La mémoire de cet appareil est pleine. Supprimez ce que le navigateur garde pour d’autres pages, puis réessayez.',
  wrongPin: (left) => `Le code PIN est faux. Essais restants : ${left}.`,
  partly: (missing) => `Une partie est payée. Il manque ${missing}.`,
  stopPartly:
    'De l’argent du client est arrivé ou en route. Annuler quand même ? Un responsable devra alors le renvoyer.',
  least: (amount) => `Le montant minimum est de ${amount}.`,
  most: (amount) => `Le montant maximum ici est de ${amount}.`,
  errors: {
    PIN_LOCKED:
      'Cinq codes PIN faux : vous êtes bloqué sur cette caisse. Choisissez un nouveau code dans le back-office, sous « Compte ».',
    INVALID_CREDENTIALS:
      'Vous ne pouvez pas vous connecter à cette caisse : vous n’avez pas encore de code PIN ou n’y travaillez plus. Adressez-vous à un responsable.',
    UNKNOWN_MERCHANT_IDENTIFIER:
      'Cette caisse est fermée ou ne vous est plus attribuée. Adressez-vous à un responsable.',
    UNAUTHORIZED:
      'Vous êtes déconnecté, ou cet appareil a été retiré. Reconnectez-vous ou adressez-vous à un responsable.',
    INVALID_OTP:
      'Ce code est faux, déjà utilisé ou vieux de plus de dix minutes. Demandez-en un nouveau à un responsable.',
    ORDER_STATE_CONFLICT: 'La vente a changé entre-temps. Regardez-la de nouveau.',
    ALIAS_IN_USE:
      'Une vente en cours porte déjà cette référence, ici ou à une autre caisse de l’entreprise. Choisissez-en une autre.',
    INVALID_EXCHANGE_RATE: 'Aucun taux de change à jour. Réessayez dans un instant.',
    TOO_MANY_REQUESTS: 'Trop de demandes. Patientez un instant et réessayez.',
    BUSY: 'Le service est très sollicité. Réessayez dans un instant.',
    DATABASE_UNAVAILABLE: 'Le service n’est pas disponible. Réessayez dans un instant.',
    INTERNAL_ERROR: 'Une erreur s’est produite de notre côté. Réessayez.',
  },
  sessionOver: 'Vous avez été déconnecté.',
  revoked: 'Cet appareil a été retiré. Demandez un nouveau code à un responsable.',
  code: 'Code à lire à voix haute',
  welcome: 'Bienvenue',
  thanks: 'Merci !',
  states: {
    waiting: 'En attente du client',
    chosen: 'Le client est en train de payer',
    coming: 'Un paiement est en route',
    seen: 'Paiement vu, en cours de confirmation',
    paid: 'Payé',
    expired: 'Temps écoulé, non payé',
    cancelled: 'Annulé',
    error: 'Le paiement a échoué',
    review: 'En cours de vérification, ne remettez rien',
    refunding: 'Remboursement en cours',
    refundedPart: 'Remboursé en partie',
    refunded: 'Remboursé',
  },
}
