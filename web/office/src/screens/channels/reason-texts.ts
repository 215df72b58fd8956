import type { Data } from '../../api/call.ts'
import { defineTexts } from '../../texts/lang.ts'

type ReasonCode = NonNullable<Data<'listChannels'>[number]['reasonCode']>
/** The rule of the shop itself is in sight. */
export const OWN_RULES = ['off', 'shopLeast', 'shopMost'] as const satisfies ReasonCode[]
type Code = Exclude<ReasonCode, (typeof OWN_RULES)[number]>

/** Why a channel is not offered for an amount. A reason that the API gains does not compile without its words. */
export const reasonTexts = defineTexts(
  {
    noRate: 'Your limits are in EUR, and there is no rate for EUR at the moment.',
    least: (limit: string) => `The provider takes no less than ${limit}.`,
    most: (limit: string) => `The provider takes no more than ${limit}.`,
    currency: 'The provider does not take this currency.',
    network:
      'The network cannot be used at the moment: the service is not up to date with it, or its addresses are not confirmed.',
    trouble: 'The provider does not answer at the moment.',
    busy: 'The provider asked for a pause.',
    credentials: 'The provider refuses the credentials.',
    clock: 'The provider refuses the time of this server. Its clock may be wrong.',
  } satisfies Record<Code, string | ((limit: string) => string)>,
  {
    fr: {
      noRate: 'Vos limites sont en EUR, et aucun taux EUR n’est disponible pour le moment.',
      least: (limit) => `Le prestataire n’accepte rien en dessous de ${limit}.`,
      most: (limit) => `Le prestataire n’accepte rien au-dessus de ${limit}.`,
      currency: 'Le prestataire n’accepte pas cette devise.',
      network:
        'Le réseau n’est pas utilisable pour le moment : le service n’y est pas à jour, ou ses adresses ne sont pas confirmées.',
      trouble: 'Le prestataire ne répond pas pour le moment.',
      busy: 'Le prestataire a demandé une pause.',
      credentials: 'Le prestataire refuse les identifiants.',
      clock: 'Le prestataire refuse l’heure de ce serveur. Son horloge est peut-être déréglée.',
    },
    de: {
      noRate: 'Ihre Grenzen gelten in EUR, und gerade gibt es keinen Kurs für EUR.',
      least: (limit) => `Der Anbieter nimmt nichts unter ${limit} an.`,
      most: (limit) => `Der Anbieter nimmt nichts über ${limit} an.`,
      currency: 'Der Anbieter nimmt diese Währung nicht an.',
      network:
        'Das Netzwerk ist gerade nicht nutzbar: Der Dienst ist dort nicht auf dem neuesten Stand, oder seine Adressen sind nicht bestätigt.',
      trouble: 'Der Anbieter antwortet gerade nicht.',
      busy: 'Der Anbieter hat um eine Pause gebeten.',
      credentials: 'Der Anbieter lehnt die Zugangsdaten ab.',
      clock: 'Der Anbieter lehnt die Uhrzeit dieses Servers ab. Vielleicht geht dessen Uhr falsch.',
    },
    es: {
      noRate: 'Sus límites están en EUR y ahora mismo no hay tipo de cambio para EUR.',
      least: (limit) => `El proveedor no acepta menos de ${limit}.`,
      most: (limit) => `El proveedor no acepta más de ${limit}.`,
      currency: 'El proveedor no acepta esta moneda.',
      network:
        'La red no se puede usar ahora mismo: el servicio no está al día en ella o sus direcciones no están confirmadas.',
      trouble: 'El proveedor no responde en este momento.',
      busy: 'El proveedor pidió una pausa.',
      credentials: 'El proveedor rechaza las credenciales.',
      clock: 'El proveedor rechaza la hora de este servidor. Puede que su reloj vaya mal.',
    },
    it: {
      noRate: 'I suoi limiti sono in EUR e al momento non c’è un cambio per EUR.',
      least: (limit) => `Il fornitore non accetta meno di ${limit}.`,
      most: (limit) => `Il fornitore non accetta più di ${limit}.`,
      currency: 'Il fornitore non accetta questa valuta.',
      network:
        'La rete non si può usare al momento: il servizio non è aggiornato o i suoi indirizzi non sono confermati.',
      trouble: 'Il fornitore al momento non risponde.',
      busy: 'Il fornitore ha chiesto una pausa.',
      credentials: 'Il fornitore rifiuta le credenziali.',
      clock: 'Il fornitore rifiuta l’ora di questo server. Il suo orologio potrebbe essere sbagliato.',
    },
  },
)
