import type { ButtonTexts } from '../button-texts.ts'

export const fr: ButtonTexts = {
  opening: 'Nous préparons votre paiement…',
  goOn: 'Continuer vers le paiement',
  failedTitle: 'Le paiement ne peut pas démarrer',
  wrongSetUp: 'Le bouton de la boutique est mal configuré. Merci de prévenir la boutique.',
  unknownButton: 'Ce bouton n’existe plus. Merci de retourner à la boutique.',
  paidTitle: 'Il existe déjà un paiement pour cet achat',
  paid: 'Il est arrivé, en cours de confirmation ou en cours de vérification. Ne payez pas une seconde fois, la boutique sera prévenue.',
  later: 'Aucun taux de change n’est disponible pour le moment. Réessayez dans une minute.',
  tryAgain: 'Réessayer',
  newPage: 'L’étape suivante s’ouvre sur sa propre page. Revenez ensuite ici : cette page se met à jour toute seule.',
  openPage: 'Ouvrir la page',
  elsewhereTitle: 'Le paiement s’ouvre sur sa propre page',
  elsewhere: 'Il ne peut pas s’afficher à l’intérieur de celle-ci.',
  elsewhereHint: (website, here) => `prévu pour ${website}, ouvert sur ${here}`,
}
