import type { Lang } from '../kernel/lang.ts'

/** What a cashier and a customer read at a till. */
export type TillTexts = {
  title: string
  enrolTitle: string
  enrolText: string
  enrolCode: string
  enrolButton: string
  who: string
  noPeople: string
  noPin: string
  locked: string
  pinOf: (name: string) => string
  back: string
  amount: string
  currency: string
  reference: string
  referenceHint: string
  charge: string
  clear: string
  scan: string
  cancelSale: string
  newSale: string
  receipt: string
  orders: string
  noOrders: string
  shift: string
  shiftSince: string
  shiftPaid: string
  shiftOpen: string
  shiftEnded: string
  signOut: string
  display: string
  close: string
  offline: string
  online: string
  waitingSale: string
  discard: string
  failed: string
  sessionOver: string
  revoked: string
  code: string
  welcome: string
  thanks: string
  states: {
    waiting: string
    chosen: string
    seen: string
    paid: string
    expired: string
    cancelled: string
    error: string
    review: string
    refunding: string
    refunded: string
  }
}

export const TILL_TEXTS: Readonly<Record<Lang, TillTexts>> = {
  en: {
    title: 'Till',
    enrolTitle: 'Set up this till',
    enrolText: 'A manager makes a code in the back office, under Shop → Tills. It works once, for ten minutes.',
    enrolCode: 'Code',
    enrolButton: 'Set up',
    who: 'Who is working?',
    noPeople: 'Nobody is assigned to this till yet. A manager does that in the back office, under Shop → Tills.',
    noPin: 'no PIN yet: set one in the back office, under your account',
    locked: 'locked: set a new PIN in the back office',
    pinOf: (name) => `PIN of ${name}`,
    back: 'Back',
    amount: 'Amount',
    currency: 'Currency',
    reference: 'Reference',
    referenceHint: 'Table, receipt, name (optional)',
    charge: 'Charge',
    clear: 'Delete the last digit',
    scan: 'Scan to pay',
    cancelSale: 'Cancel the sale',
    newSale: 'New sale',
    receipt: 'Receipt',
    orders: 'Recent sales',
    noOrders: 'No sales yet.',
    shift: 'My shift',
    shiftSince: 'Since',
    shiftPaid: 'Paid',
    shiftOpen: 'Waiting for payment',
    shiftEnded: 'Not paid',
    signOut: 'Sign out',
    display: 'Customer screen',
    close: 'Close',
    offline: 'No connection. Sales wait here and are sent once, as soon as it returns.',
    online: 'The connection is back.',
    waitingSale: 'Waiting for the connection…',
    discard: 'Discard the sale',
    failed: 'That did not work.',
    sessionOver: 'You were signed out.',
    revoked: 'This device was removed. Ask a manager for a new code.',
    code: 'Code to read aloud',
    welcome: 'Welcome',
    thanks: 'Thank you!',
    states: {
      waiting: 'Waiting for the customer',
      chosen: 'The customer is paying',
      seen: 'Payment seen, being confirmed',
      paid: 'Paid',
      expired: 'Time is up, not paid',
      cancelled: 'Cancelled',
      error: 'The payment failed',
      review: 'Held for review, do not hand over',
      refunding: 'Refund under way',
      refunded: 'Refunded',
    },
  },
  fr: {
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
    waitingSale: 'En attente de la connexion…',
    discard: 'Abandonner la vente',
    failed: 'Cela n’a pas fonctionné.',
    sessionOver: 'Vous avez été déconnecté.',
    revoked: 'Cet appareil a été retiré. Demandez un nouveau code à un responsable.',
    code: 'Code à lire à voix haute',
    welcome: 'Bienvenue',
    thanks: 'Merci !',
    states: {
      waiting: 'En attente du client',
      chosen: 'Le client est en train de payer',
      seen: 'Paiement vu, en cours de confirmation',
      paid: 'Payé',
      expired: 'Temps écoulé, non payé',
      cancelled: 'Annulé',
      error: 'Le paiement a échoué',
      review: 'En cours de vérification, ne remettez rien',
      refunding: 'Remboursement en cours',
      refunded: 'Remboursé',
    },
  },
  de: {
    title: 'Kasse',
    enrolTitle: 'Diese Kasse einrichten',
    enrolText:
      'Eine Filialleitung erstellt im Backoffice unter Laden → Kassen einen Code. Er gilt einmal, zehn Minuten lang.',
    enrolCode: 'Code',
    enrolButton: 'Einrichten',
    who: 'Wer kassiert?',
    noPeople: 'Dieser Kasse ist noch niemand zugeordnet. Das geht im Backoffice unter Laden → Kassen.',
    noPin: 'noch keine PIN: im Backoffice unter „Konto“ festlegen',
    locked: 'gesperrt: im Backoffice eine neue PIN festlegen',
    pinOf: (name) => `PIN von ${name}`,
    back: 'Zurück',
    amount: 'Betrag',
    currency: 'Währung',
    reference: 'Referenz',
    referenceHint: 'Tisch, Bon, Name (freiwillig)',
    charge: 'Kassieren',
    clear: 'Letzte Ziffer löschen',
    scan: 'Zum Bezahlen scannen',
    cancelSale: 'Verkauf abbrechen',
    newSale: 'Neuer Verkauf',
    receipt: 'Beleg',
    orders: 'Letzte Verkäufe',
    noOrders: 'Noch keine Verkäufe.',
    shift: 'Meine Schicht',
    shiftSince: 'Seit',
    shiftPaid: 'Bezahlt',
    shiftOpen: 'Zahlung steht aus',
    shiftEnded: 'Nicht bezahlt',
    signOut: 'Abmelden',
    display: 'Kundenanzeige',
    close: 'Schließen',
    offline: 'Keine Verbindung. Verkäufe warten hier und werden genau einmal gesendet, sobald sie wieder da ist.',
    online: 'Die Verbindung ist wieder da.',
    waitingSale: 'Warten auf die Verbindung …',
    discard: 'Verkauf verwerfen',
    failed: 'Das hat nicht geklappt.',
    sessionOver: 'Sie wurden abgemeldet.',
    revoked: 'Dieses Gerät wurde entfernt. Bitten Sie um einen neuen Code.',
    code: 'Code zum Vorlesen',
    welcome: 'Willkommen',
    thanks: 'Vielen Dank!',
    states: {
      waiting: 'Warten auf den Kunden',
      chosen: 'Der Kunde bezahlt gerade',
      seen: 'Zahlung gesehen, wird bestätigt',
      paid: 'Bezahlt',
      expired: 'Zeit abgelaufen, nicht bezahlt',
      cancelled: 'Abgebrochen',
      error: 'Die Zahlung ist gescheitert',
      review: 'In Prüfung, Ware nicht herausgeben',
      refunding: 'Rückzahlung läuft',
      refunded: 'Zurückgezahlt',
    },
  },
  es: {
    title: 'Caja',
    enrolTitle: 'Configurar esta caja',
    enrolText:
      'Un responsable crea un código en la administración, en Tienda → Cajas. Sirve una vez, durante diez minutos.',
    enrolCode: 'Código',
    enrolButton: 'Configurar',
    who: '¿Quién está en la caja?',
    noPeople:
      'Todavía no hay nadie asignado a esta caja. Un responsable lo hace en la administración, en Tienda → Cajas.',
    noPin: 'aún sin PIN: créelo en la administración, en su cuenta',
    locked: 'bloqueado: cree un PIN nuevo en la administración',
    pinOf: (name) => `PIN de ${name}`,
    back: 'Atrás',
    amount: 'Importe',
    currency: 'Moneda',
    reference: 'Referencia',
    referenceHint: 'Mesa, tique, nombre (opcional)',
    charge: 'Cobrar',
    clear: 'Borrar la última cifra',
    scan: 'Escanee para pagar',
    cancelSale: 'Cancelar la venta',
    newSale: 'Nueva venta',
    receipt: 'Recibo',
    orders: 'Últimas ventas',
    noOrders: 'Todavía no hay ventas.',
    shift: 'Mi turno',
    shiftSince: 'Desde',
    shiftPaid: 'Pagado',
    shiftOpen: 'Pendiente de pago',
    shiftEnded: 'Sin pagar',
    signOut: 'Cerrar sesión',
    display: 'Pantalla del cliente',
    close: 'Cerrar',
    offline: 'Sin conexión. Las ventas esperan aquí y se envían una sola vez, en cuanto vuelva.',
    online: 'La conexión ha vuelto.',
    waitingSale: 'Esperando la conexión…',
    discard: 'Descartar la venta',
    failed: 'No ha funcionado.',
    sessionOver: 'Se ha cerrado su sesión.',
    revoked: 'Este dispositivo se ha retirado. Pida un código nuevo a un responsable.',
    code: 'Código para leer en voz alta',
    welcome: 'Le damos la bienvenida',
    thanks: '¡Gracias!',
    states: {
      waiting: 'Esperando al cliente',
      chosen: 'El cliente está pagando',
      seen: 'Pago detectado, confirmándose',
      paid: 'Pagado',
      expired: 'Se acabó el tiempo, sin pagar',
      cancelled: 'Cancelado',
      error: 'El pago ha fallado',
      review: 'En revisión, no entregue nada',
      refunding: 'Reembolso en curso',
      refunded: 'Reembolsado',
    },
  },
  it: {
    title: 'Cassa',
    enrolTitle: 'Configura questa cassa',
    enrolText: 'Un responsabile crea un codice nel gestionale, in Negozio → Casse. Vale una volta, per dieci minuti.',
    enrolCode: 'Codice',
    enrolButton: 'Configura',
    who: 'Chi è alla cassa?',
    noPeople: 'Nessuno è ancora assegnato a questa cassa. Lo fa un responsabile nel gestionale, in Negozio → Casse.',
    noPin: 'ancora senza PIN: lo imposti nel gestionale, nel suo account',
    locked: 'bloccato: imposti un nuovo PIN nel gestionale',
    pinOf: (name) => `PIN di ${name}`,
    back: 'Indietro',
    amount: 'Importo',
    currency: 'Valuta',
    reference: 'Riferimento',
    referenceHint: 'Tavolo, scontrino, nome (facoltativo)',
    charge: 'Incassa',
    clear: 'Cancella l’ultima cifra',
    scan: 'Inquadri per pagare',
    cancelSale: 'Annulla la vendita',
    newSale: 'Nuova vendita',
    receipt: 'Ricevuta',
    orders: 'Ultime vendite',
    noOrders: 'Ancora nessuna vendita.',
    shift: 'Il mio turno',
    shiftSince: 'Dalle',
    shiftPaid: 'Pagato',
    shiftOpen: 'In attesa di pagamento',
    shiftEnded: 'Non pagato',
    signOut: 'Esci',
    display: 'Schermo cliente',
    close: 'Chiudi',
    offline: 'Nessuna connessione. Le vendite aspettano qui e partono una sola volta, appena torna.',
    online: 'La connessione è tornata.',
    waitingSale: 'In attesa della connessione…',
    discard: 'Scarta la vendita',
    failed: 'Non ha funzionato.',
    sessionOver: 'La sessione è terminata.',
    revoked: 'Questo dispositivo è stato rimosso. Chieda un nuovo codice a un responsabile.',
    code: 'Codice da leggere a voce',
    welcome: 'Benvenuti',
    thanks: 'Grazie!',
    states: {
      waiting: 'In attesa del cliente',
      chosen: 'Il cliente sta pagando',
      seen: 'Pagamento visto, in conferma',
      paid: 'Pagato',
      expired: 'Tempo scaduto, non pagato',
      cancelled: 'Annullato',
      error: 'Il pagamento non è riuscito',
      review: 'In verifica, non consegni nulla',
      refunding: 'Rimborso in corso',
      refunded: 'Rimborsato',
    },
  },
}
