import type { ButtonTexts } from '../button-texts.ts'

export const de: ButtonTexts = {
  opening: 'Ihre Zahlung wird vorbereitet …',
  goOn: 'Weiter zur Zahlung',
  failedTitle: 'Die Zahlung kann nicht beginnen',
  wrongSetUp: 'Der Bezahlknopf des Shops ist nicht richtig eingerichtet. Bitte sagen Sie dem Shop Bescheid.',
  unknownButton: 'Diesen Bezahlknopf gibt es nicht mehr. Bitte gehen Sie zurück zum Shop.',
  paidTitle: 'Für diesen Kauf gibt es schon eine Zahlung',
  paid: 'Sie ist eingegangen, wird bestätigt oder wird geprüft. Bitte zahlen Sie nicht noch einmal; der Shop wird benachrichtigt.',
  later: 'Im Moment gibt es keinen aktuellen Wechselkurs. Versuchen Sie es in einer Minute noch einmal.',
  tryAgain: 'Noch einmal versuchen',
  newPage:
    'Der nächste Schritt öffnet sich auf einer eigenen Seite. Kommen Sie danach hierher zurück; diese Seite aktualisiert sich von selbst.',
  openPage: 'Seite öffnen',
  elsewhereTitle: 'Die Zahlung öffnet sich auf einer eigenen Seite',
  elsewhere: 'Hier in der Seite lässt sie sich nicht anzeigen.',
  elsewhereHint: (website, here) => `eingerichtet für ${website}, geöffnet auf ${here}`,
}
