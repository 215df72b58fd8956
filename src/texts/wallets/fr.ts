import type { WalletTexts } from '../wallet-texts.ts'

export const fr: WalletTexts = {
  pay: 'Payer avec {wallet}',
  unnamed: 'le portefeuille de ce navigateur',
  connecting: 'Ouvrez {wallet} et autorisez cette page à voir votre adresse.',
  switching: 'Autorisez {wallet} à passer sur {network}.',
  confirming: 'Confirmez {amount} USDC dans {wallet}.',
  signing: 'Signez pour {amount} USDC dans {wallet}. Vous ne payez pas de frais de réseau.',
  sending: 'Envoyé. En attente d’inclusion dans un bloc de {network}.',
  sent: 'Votre paiement est sur {network}. Cette page le confirme dans un instant ; ne payez pas une deuxième fois.',
  slow: '{network} n’a pas encore pris en compte votre paiement. Ne payez pas de nouveau, sauf si votre portefeuille signale un échec.',
  uncounted:
    'Votre transaction est sur {network}, mais votre paiement n’est pas arrivé à cette commande. Ne payez pas de nouveau, sauf si votre portefeuille signale un échec.',
  unread:
    'Vous avez envoyé {sum} USDC sur {network} à {to}, mais cette boutique ne lit plus {network} : cette page ne peut donc pas confirmer votre paiement. Ne payez pas de nouveau. Contactez {shop} en citant la commande {order} et votre transaction.',
  retry: 'Échec dans mon portefeuille : payer de nouveau',
  underway:
    'Le paiement que vous avez signé est encore en route vers {network} et peut être débité jusqu’à {time}. Ne payez pas de nouveau avant.',
  lapsed:
    '{network} n’a pas exécuté à temps le paiement que vous avez signé, et ne le peut plus. Vous pouvez payer de nouveau.',
  again: 'Payer de nouveau',
  stop: 'Ne plus attendre',
  transaction: 'Transaction',
  rejected: 'Vous avez refusé dans {wallet}. Rien n’a été envoyé.',
  locked:
    '{wallet} est verrouillé, ou une demande y est déjà ouverte. Déverrouillez-le et répondez à la demande, puis réessayez.',
  wrongNetwork: '{wallet} est sur un autre réseau. Passez sur {network}, puis réessayez. Rien n’a été envoyé.',
  unknownNetwork: '{wallet} ne connaît pas {network}. Ajoutez-y ce réseau, puis réessayez. Rien n’a été envoyé.',
  tooLittle:
    'Ce compte contient {have} USDC sur {network}, or il en faut {amount}. Choisissez un autre compte dans {wallet}, ou payez autrement.',
  noFee:
    'Ce compte n’a pas de {coin} sur {network} pour les frais de réseau. Ajoutez un peu de {coin}, ou payez autrement. Rien n’a été envoyé.',
  reverted: 'Le réseau a rejeté le paiement : aucun USDC n’a quitté votre compte. Réessayez, ou payez autrement.',
  refused: 'Le paiement n’a pas été accepté : aucun USDC n’a quitté votre compte. Réessayez, ou payez autrement.',
  changed: 'La commande a changé entre-temps, rien n’a donc été envoyé. Vérifiez le montant, puis réessayez.',
  failed:
    '{wallet} ne répond pas comme prévu. Rien n’a été envoyé. Réessayez, ou envoyez le montant à l’adresse ci-dessous.',
  unsure: 'Vérifiez dans {wallet} si le paiement est parti avant de réessayer.',
  apps: 'Ouvrir cette page dans votre portefeuille',
}
