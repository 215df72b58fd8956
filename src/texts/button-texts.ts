import type { Lang } from '../kernel/lang.ts'

/** What a buyer reads between a shop's button and the pay page. */
export type ButtonTexts = {
  /** While the order is being made. */
  opening: string
  /** Without a script: leads on. */
  goOn: string
  failedTitle: string
  /** The shop made a mistake that the buyer cannot mend. */
  wrongSetUp: string
  unknownButton: string
  paidTitle: string
  paid: string
  /** No fresh rate, or the service is busy. */
  later: string
  tryAgain: string
  /** Inside a frame: the identity check needs a page of its own. */
  newPage: string
  openPage: string
}

export const BUTTON_TEXTS: Readonly<Record<Lang, ButtonTexts>> = {
  en: {
    opening: 'Preparing your payment…',
    goOn: 'Continue to payment',
    failedTitle: 'The payment cannot start',
    wrongSetUp: 'The shop’s button is not set up correctly. Please tell the shop; nothing was charged.',
    unknownButton: 'This button does not exist any more. Please go back to the shop.',
    paidTitle: 'This purchase is already being paid',
    paid: 'A payment for this purchase has arrived or is being confirmed. Please do not pay again; the shop will be notified.',
    later: 'There is no current exchange rate. Nothing was charged; please try again in a minute.',
    tryAgain: 'Try again',
    newPage: 'The next step opens on its own page. Come back here afterwards; this page updates by itself.',
    openPage: 'Open the page',
  },
  fr: {
    opening: 'Nous préparons votre paiement…',
    goOn: 'Continuer vers le paiement',
    failedTitle: 'Le paiement ne peut pas démarrer',
    wrongSetUp:
      'Le bouton de la boutique est mal configuré. Merci de prévenir la boutique : rien ne vous a été débité.',
    unknownButton: 'Ce bouton n’existe plus. Merci de retourner à la boutique.',
    paidTitle: 'Cet achat est déjà en cours de paiement',
    paid: 'Un paiement pour cet achat est arrivé ou en cours de confirmation. Ne payez pas une seconde fois, la boutique sera prévenue.',
    later:
      'Aucun taux de change n’est disponible pour le moment. Rien ne vous a été débité : réessayez dans une minute.',
    tryAgain: 'Réessayer',
    newPage: 'L’étape suivante s’ouvre sur sa propre page. Revenez ensuite ici : cette page se met à jour toute seule.',
    openPage: 'Ouvrir la page',
  },
  de: {
    opening: 'Ihre Zahlung wird vorbereitet …',
    goOn: 'Weiter zur Zahlung',
    failedTitle: 'Die Zahlung kann nicht beginnen',
    wrongSetUp:
      'Der Bezahlknopf des Shops ist nicht richtig eingerichtet. Bitte sagen Sie dem Shop Bescheid; es wurde nichts abgebucht.',
    unknownButton: 'Diesen Bezahlknopf gibt es nicht mehr. Bitte gehen Sie zurück zum Shop.',
    paidTitle: 'Dieser Kauf wird bereits bezahlt',
    paid: 'Für diesen Kauf ist eine Zahlung eingegangen oder wird gerade bestätigt. Bitte zahlen Sie nicht noch einmal; der Shop wird benachrichtigt.',
    later:
      'Im Moment gibt es keinen aktuellen Wechselkurs. Es wurde nichts abgebucht; versuchen Sie es in einer Minute noch einmal.',
    tryAgain: 'Noch einmal versuchen',
    newPage:
      'Der nächste Schritt öffnet sich auf einer eigenen Seite. Kommen Sie danach hierher zurück; diese Seite aktualisiert sich von selbst.',
    openPage: 'Seite öffnen',
  },
  es: {
    opening: 'Estamos preparando su pago…',
    goOn: 'Continuar con el pago',
    failedTitle: 'No se puede iniciar el pago',
    wrongSetUp: 'El botón de la tienda no está bien configurado. Avise a la tienda; no se le ha cobrado nada.',
    unknownButton: 'Este botón ya no existe. Vuelva a la tienda, por favor.',
    paidTitle: 'Esta compra ya se está pagando',
    paid: 'Ha llegado un pago de esta compra o se está confirmando. No pague otra vez; la tienda recibirá el aviso.',
    later:
      'Ahora mismo no hay un tipo de cambio actualizado. No se le ha cobrado nada; inténtelo de nuevo en un minuto.',
    tryAgain: 'Intentarlo de nuevo',
    newPage: 'El siguiente paso se abre en su propia página. Después vuelva aquí; esta página se actualiza sola.',
    openPage: 'Abrir la página',
  },
  it: {
    opening: 'Stiamo preparando il pagamento…',
    goOn: 'Continua con il pagamento',
    failedTitle: 'Il pagamento non può iniziare',
    wrongSetUp:
      'Il pulsante del negozio non è configurato correttamente. Avvisi il negozio; non le è stato addebitato nulla.',
    unknownButton: 'Questo pulsante non esiste più. Torni al negozio, per favore.',
    paidTitle: 'Questo acquisto è già in pagamento',
    paid: 'Un pagamento per questo acquisto è arrivato o è in fase di conferma. Non paghi di nuovo: il negozio verrà avvisato.',
    later:
      'Al momento non è disponibile un tasso di cambio aggiornato. Non le è stato addebitato nulla; riprovi tra un minuto.',
    tryAgain: 'Riprova',
    newPage: 'Il passaggio successivo si apre in una pagina a parte. Poi torni qui: questa pagina si aggiorna da sola.',
    openPage: 'Apri la pagina',
  },
}
