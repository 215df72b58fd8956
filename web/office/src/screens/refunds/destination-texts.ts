import { defineTexts } from '../../texts/lang.ts'

/** Where a refund goes, in every dialog that sends one. */
export const destinationTexts = defineTexts(
  {
    goes: 'Goes to',
    asked: 'The payer is asked for an address',
    proposed: 'Proposed',
    proposedText: 'Nothing goes there yet: the payer must confirm it and may name another.',
    provider: (channel: string) => `Back through ${channel}`,
    network: 'Network',
  },
  {
    fr: {
      goes: 'Envoyé à',
      asked: 'Une adresse est demandée au payeur',
      proposed: 'Proposée',
      proposedText: 'Rien n’y part encore : le payeur doit la confirmer et peut en indiquer une autre.',
      provider: (channel) => `Par ${channel}, comme le paiement`,
      network: 'Réseau',
    },
    de: {
      goes: 'Geht an',
      asked: 'Die zahlende Person wird nach einer Adresse gefragt',
      proposed: 'Vorgeschlagen',
      proposedText: 'Noch geht nichts dorthin: Die zahlende Person muss sie bestätigen und kann eine andere nennen.',
      provider: (channel) => `Zurück über ${channel}`,
      network: 'Netzwerk',
    },
    es: {
      goes: 'Se envía a',
      asked: 'Se pide una dirección al pagador',
      proposed: 'Propuesta',
      proposedText: 'Todavía no se envía nada allí: el pagador debe confirmarla y puede indicar otra.',
      provider: (channel) => `De vuelta por ${channel}`,
      network: 'Red',
    },
    it: {
      goes: 'Va a',
      asked: 'A chi ha pagato si chiede un indirizzo',
      proposed: 'Proposto',
      proposedText: 'Per ora non vi parte nulla: chi ha pagato deve confermarlo e può indicarne un altro.',
      provider: (channel) => `Indietro tramite ${channel}`,
      network: 'Rete',
    },
  },
)
