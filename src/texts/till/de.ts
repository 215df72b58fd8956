import type { TillTexts } from '../till-texts.ts'

export const de: TillTexts = {
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
  sending: 'Der Code wird erstellt …',
  waitingSale: 'Warten auf die Verbindung …',
  discard: 'Verkauf verwerfen',
  saleWaits: 'ein Verkauf wartet auf Sie',
  waitsOf: (name) =>
    `Ein Verkauf von ${name} wartet hier. ${name} meldet sich an, oder Sie übernehmen ihn, und er ist Ihrer.`,
  takeOver: 'Übernehmen',
  doubtful: (time) =>
    `Dieser Verkauf (${time}) ist vielleicht angekommen und wird nicht noch einmal gesendet. Sehen Sie ` +
    'unter „Letzte Verkäufe“ nach und verwerfen Sie ihn dann hier. Fehlt er dort und wartet der ' +
    'Kunde noch, kassieren Sie neu.',
  failed: 'Das hat nicht geklappt.',
  storageFull:
    'Der Speicher dieses Geräts ist voll. Löschen Sie, was der Browser für andere Seiten speichert, und versuchen Sie es noch einmal.',
  wrongPin: (left) => `Die PIN ist falsch. Verbleibende Versuche: ${left}.`,
  partly: (missing) => `Ein Teil ist bezahlt. Es fehlen ${missing}.`,
  stopPartly:
    'Geld des Kunden ist da oder unterwegs. Trotzdem abbrechen? Dann muss die Filialleitung es zurückschicken.',
  least: (amount) => `Der kleinste Betrag ist ${amount}.`,
  most: (amount) => `Der größte Betrag hier ist ${amount}.`,
  errors: {
    PIN_LOCKED:
      'Fünfmal die falsche PIN: Sie sind an dieser Kasse gesperrt. Legen Sie im Backoffice unter „Konto“ eine neue fest.',
    INVALID_CREDENTIALS:
      'Sie können sich an dieser Kasse nicht anmelden: Sie haben noch keine PIN oder arbeiten nicht mehr hier. Wenden Sie sich an die Filialleitung.',
    UNKNOWN_MERCHANT_IDENTIFIER:
      'Diese Kasse ist geschlossen oder Ihnen nicht mehr zugeteilt. Wenden Sie sich an die Filialleitung.',
    UNAUTHORIZED:
      'Sie sind abgemeldet, oder dieses Gerät wurde entfernt. Melden Sie sich neu an, oder wenden Sie sich an die Filialleitung.',
    INVALID_OTP:
      'Der Code ist falsch, verbraucht oder älter als zehn Minuten. Bitten Sie die Filialleitung um einen neuen.',
    ORDER_STATE_CONFLICT: 'Der Verkauf hat sich inzwischen geändert. Sehen Sie ihn noch einmal an.',
    ALIAS_IN_USE:
      'Ein offener Verkauf hat diese Referenz schon, hier oder an einer anderen Kasse des Unternehmens. Wählen Sie eine andere.',
    INVALID_EXCHANGE_RATE: 'Es gibt keinen aktuellen Wechselkurs. Versuchen Sie es gleich noch einmal.',
    TOO_MANY_REQUESTS: 'Zu viele Anfragen. Warten Sie kurz und versuchen Sie es erneut.',
    BUSY: 'Der Dienst ist ausgelastet. Versuchen Sie es gleich noch einmal.',
    DATABASE_UNAVAILABLE: 'Der Dienst ist gerade nicht verfügbar. Versuchen Sie es gleich noch einmal.',
    INTERNAL_ERROR: 'Bei uns ist etwas schiefgegangen. Versuchen Sie es erneut.',
  },
  sessionOver: 'Sie wurden abgemeldet.',
  revoked: 'Dieses Gerät wurde entfernt. Bitten Sie um einen neuen Code.',
  code: 'Code zum Vorlesen',
  welcome: 'Willkommen',
  thanks: 'Vielen Dank!',
  states: {
    waiting: 'Warten auf den Kunden',
    chosen: 'Der Kunde bezahlt gerade',
    coming: 'Eine Zahlung ist unterwegs',
    seen: 'Zahlung gesehen, wird bestätigt',
    paid: 'Bezahlt',
    expired: 'Zeit abgelaufen, nicht bezahlt',
    cancelled: 'Abgebrochen',
    error: 'Die Zahlung ist gescheitert',
    review: 'In Prüfung, Ware nicht herausgeben',
    refunding: 'Rückzahlung läuft',
    refundedPart: 'Teilweise zurückgezahlt',
    refunded: 'Zurückgezahlt',
  },
}
