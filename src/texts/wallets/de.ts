import type { WalletTexts } from '../wallet-texts.ts'

export const de: WalletTexts = {
  pay: 'Mit {wallet} bezahlen',
  unnamed: 'der Wallet in diesem Browser',
  connecting: 'Öffnen Sie {wallet} und erlauben Sie dieser Seite, Ihre Adresse zu sehen.',
  switching: 'Erlauben Sie in {wallet} den Wechsel zu {network}.',
  confirming: 'Bestätigen Sie {amount} USDC in {wallet}.',
  signing: 'Unterschreiben Sie für {amount} USDC in {wallet}. Sie zahlen keine Netzwerkgebühr.',
  sending: 'Gesendet. {network} nimmt die Zahlung gleich in einen Block auf.',
  sent: 'Ihre Zahlung ist auf {network} angekommen. Diese Seite bestätigt sie gleich; zahlen Sie nicht noch einmal.',
  slow: '{network} hat Ihre Zahlung noch nicht aufgenommen. Zahlen Sie nur dann noch einmal, wenn Ihre Wallet einen Fehlschlag meldet.',
  uncounted:
    'Ihre Transaktion ist auf {network}, aber Ihre Zahlung ist bei dieser Bestellung nicht angekommen. Zahlen Sie nur dann noch einmal, wenn Ihre Wallet einen Fehlschlag meldet.',
  unread:
    'Sie haben {sum} USDC auf {network} an {to} gesendet, aber der Betreiber dieses Shops liest {network} nicht mehr; diese Seite kann Ihre Zahlung deshalb nicht bestätigen. Zahlen Sie nicht noch einmal. Wenden Sie sich mit der Bestellnummer {order} und Ihrer Transaktion an {shop}.',
  retry: 'In meiner Wallet fehlgeschlagen: noch einmal zahlen',
  underway:
    'Was Sie unterschrieben haben, ist noch unterwegs zu {network} und kann bis {time} abgebucht werden. Zahlen Sie vorher nicht noch einmal.',
  lapsed:
    '{network} hat nicht rechtzeitig ausgeführt, was Sie unterschrieben haben, und kann es auch nicht mehr. Sie können noch einmal zahlen.',
  again: 'Noch einmal zahlen',
  stop: 'Nicht länger warten',
  transaction: 'Transaktion',
  rejected: 'Sie haben in {wallet} abgelehnt. Es wurde nichts gesendet.',
  locked:
    '{wallet} ist gesperrt, oder dort ist schon eine Anfrage offen. Entsperren Sie die Wallet, beantworten Sie die Anfrage und versuchen Sie es noch einmal.',
  wrongNetwork:
    '{wallet} ist in einem anderen Netzwerk. Wechseln Sie zu {network} und versuchen Sie es noch einmal. Es wurde nichts gesendet.',
  unknownNetwork:
    '{wallet} kennt {network} nicht. Fügen Sie das Netzwerk dort hinzu und versuchen Sie es noch einmal. Es wurde nichts gesendet.',
  tooLittle:
    'Auf diesem Konto sind {have} USDC auf {network}, nötig sind {amount}. Wählen Sie in {wallet} ein anderes Konto, oder zahlen Sie anders.',
  noFee:
    'Auf diesem Konto ist kein {coin} auf {network} für die Netzwerkgebühr. Laden Sie etwas {coin} auf, oder zahlen Sie anders. Es wurde nichts gesendet.',
  reverted:
    'Das Netzwerk hat die Zahlung abgewiesen: Von Ihrem Konto sind keine USDC abgegangen. Versuchen Sie es noch einmal, oder zahlen Sie anders.',
  refused:
    'Die Zahlung wurde nicht angenommen: Von Ihrem Konto sind keine USDC abgegangen. Versuchen Sie es noch einmal, oder zahlen Sie anders.',
  changed:
    'Die Bestellung hat sich inzwischen geändert, deshalb wurde nichts gesendet. Prüfen Sie den Betrag und versuchen Sie es noch einmal.',
  failed:
    '{wallet} antwortet nicht wie erwartet. Es wurde nichts gesendet. Versuchen Sie es noch einmal, oder senden Sie den Betrag an die Adresse unten.',
  unsure: 'Prüfen Sie in {wallet}, ob die Zahlung gesendet wurde, bevor Sie es noch einmal versuchen.',
  apps: 'Diese Seite in der Wallet-App öffnen',
}
