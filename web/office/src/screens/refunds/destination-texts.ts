import { defineTexts } from '../../texts/lang.ts'

/** Where a refund goes, in every dialog that sends one. */
export const destinationTexts = defineTexts(
  {
    goes: 'Goes to',
    asked: 'The payer is asked for an address',
    proposed: 'Proposed',
    proposedText: 'Nothing goes there yet: the payer must confirm it and may name another.',
    typedBy: (name: string) =>
      `${name} typed the e-mail at which the payer is asked. Make sure that it is the payer’s own: whoever reads it names the destination.`,
    provider: (channel: string) => `Back through ${channel}`,
    network: 'Network',
  },
  {
    fr: {
      goes: 'Envoyé à',
      asked: 'Une adresse est demandée au payeur',
      proposed: 'Proposée',
      proposedText: 'Rien n’y part encore : le payeur doit la confirmer et peut en indiquer une autre.',
      typedBy: (name) =>
        `L’e-mail où l’on interroge le payeur a été saisi par ${name}. Vérifiez que c’est bien le sien : qui le lit indique la destination.`,
      provider: (channel) => `Par ${channel}, comme le paiement`,
      network: 'Réseau',
    },
    de: {
      goes: 'Geht an',
      asked: 'Die zahlende Person wird nach einer Adresse gefragt',
      proposed: 'Vorgeschlagen',
      proposedText: 'Noch geht nichts dorthin: Die zahlende Person muss sie bestätigen und kann eine andere nennen.',
      typedBy: (name) =>
        `Die E-Mail-Adresse für die Rückfrage hat ${name} eingegeben. Vergewissern Sie sich, dass sie der zahlenden Person gehört: Wer sie liest, bestimmt das Ziel.`,
      provider: (channel) => `Zurück über ${channel}`,
      network: 'Netzwerk',
    },
    es: {
      goes: 'Se envía a',
      asked: 'Se pide una dirección al pagador',
      proposed: 'Propuesta',
      proposedText: 'Todavía no se envía nada allí: el pagador debe confirmarla y puede indicar otra.',
      typedBy: (name) =>
        `El correo en el que se pregunta al pagador lo escribió ${name}. Compruebe que es el suyo: quien lo lee indica el destino.`,
      provider: (channel) => `De vuelta por ${channel}`,
      network: 'Red',
    },
    it: {
      goes: 'Va a',
      asked: 'A chi ha pagato si chiede un indirizzo',
      proposed: 'Proposto',
      proposedText: 'Per ora non vi parte nulla: chi ha pagato deve confermarlo e può indicarne un altro.',
      typedBy: (name) =>
        `L’e-mail a cui si chiede a chi ha pagato è stata scritta da ${name}. Verifichi che sia la sua: chi la legge indica la destinazione.`,
      provider: (channel) => `Indietro tramite ${channel}`,
      network: 'Rete',
    },
  },
)
