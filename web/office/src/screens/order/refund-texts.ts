import { defineTexts } from '../../texts/lang.ts'

export const refundTexts = defineTexts(
  {
    text: (left: string) => `Up to ${left} can go back to the payer.`,
    rest: (left: string) => `Everything that is left: ${left}`,
    amount: 'Amount in USDC',
    fiat: (asset: string) => `Or what it is worth in ${asset}`,
    address: 'Wallet address of the payer',
    addressHint:
      'Leave it empty: the payer’s own address is used, or he is asked by mail. An address that you type needs his confirmation.',
    button: 'Refund',
    buttonOf: (sum: string) => `Refund ${sum}`,
    started: 'The refund has started.',
  },
  {
    fr: {
      text: (left) => `Jusqu’à ${left} peuvent revenir au payeur.`,
      rest: (left) => `Tout ce qui reste : ${left}`,
      amount: 'Montant en USDC',
      fiat: (asset) => `Ou sa valeur en ${asset}`,
      address: 'Adresse du portefeuille du payeur',
      addressHint:
        'Laissez vide : nous utilisons l’adresse donnée par le payeur ou la lui demandons par e-mail. Une adresse saisie ici doit être confirmée par lui.',
      button: 'Rembourser',
      buttonOf: (sum) => `Rembourser ${sum}`,
      started: 'Le remboursement est lancé.',
    },
    de: {
      text: (left) => `Bis zu ${left} können zurückgehen.`,
      rest: (left) => `Der ganze Rest: ${left}`,
      amount: 'Betrag in USDC',
      fiat: (asset) => `Oder der Gegenwert in ${asset}`,
      address: 'Wallet-Adresse der zahlenden Person',
      addressHint:
        'Leer lassen: Wir nehmen die Adresse, die bei der Zahlung angegeben wurde, oder fragen per E-Mail. Eine hier eingegebene Adresse muss bestätigt werden.',
      button: 'Erstatten',
      buttonOf: (sum) => `${sum} erstatten`,
      started: 'Die Erstattung ist gestartet.',
    },
    es: {
      text: (left) => `Se pueden devolver hasta ${left} al pagador.`,
      rest: (left) => `Todo lo que queda: ${left}`,
      amount: 'Importe en USDC',
      fiat: (asset) => `O su valor en ${asset}`,
      address: 'Dirección del monedero del pagador',
      addressHint:
        'Déjela vacía: usamos la dirección que dio el pagador o se la pedimos por correo. Una dirección escrita aquí necesita su confirmación.',
      button: 'Reembolsar',
      buttonOf: (sum) => `Reembolsar ${sum}`,
      started: 'El reembolso se ha iniciado.',
    },
    it: {
      text: (left) => `Si possono restituire fino a ${left}.`,
      rest: (left) => `Tutto ciò che resta: ${left}`,
      amount: 'Importo in USDC',
      fiat: (asset) => `Oppure il valore in ${asset}`,
      address: 'Indirizzo del wallet di chi ha pagato',
      addressHint:
        'Lo lasci vuoto: usiamo l’indirizzo dato da chi ha pagato o lo chiediamo per e-mail. Un indirizzo scritto qui richiede la sua conferma.',
      button: 'Rimborsa',
      buttonOf: (sum) => `Rimborsa ${sum}`,
      started: 'Il rimborso è partito.',
    },
  },
)
