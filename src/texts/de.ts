import { de as button } from './buttons/de.ts'
import { de as mails } from './mails/de.ts'
import { de as order } from './orders/de.ts'
import type { Texts } from './texts.ts'
import { de as till } from './till/de.ts'
import { de as wallet } from './wallets/de.ts'

export const de: Texts = {
  locale: 'de-DE',
  name: 'Deutsch',
  pay: {
    channels: {
      crypto: 'USDC aus Ihrer Wallet',
      'whitepay-non-custody': 'Jede Wallet, über Whitepay',
      coinbase: 'USDC aus Ihrem Coinbase-Konto',
    },
    sandbox: 'Testumgebung: Es fließt kein echtes Geld.',
    language: 'Sprache',
    payTo: 'Zahlung an',
    approximately: 'etwa',
    rate: (one, other) => `${one} = ${other}`,
    rateHeld: 'Dieser Kurs ist bis zum Ablauf der Zeit garantiert.',
    rateChosen: 'der Kurs gilt fest, sobald Sie eine Zahlungsart wählen',
    heldUntil: (date) => `der angezeigte Betrag gilt für diese Zahlungsart bis ${date}`,
    timeLeft: 'Verbleibende Zeit',
    validUntil: (date) => `gültig bis ${date}`,
    onNetwork: (network) => `auf ${network}`,
    qrWallet: 'QR-Code für Wallets: Adresse, Netzwerk und Betrag',
    qrAddress: 'QR-Code nur mit der Adresse',
    qrApp: 'QR-Code für die Bezahl-App',
    qrChoice: 'Inhalt des QR-Codes',
    walletLink: 'Für Wallets',
    addressOnly: 'Nur Adresse',
    addressOnlyHint: 'Für Börsen und andere Apps: Geben Sie den Betrag selbst ein.',
    scan: 'Mit Ihrer Wallet scannen',
    scanWith: (app) => `Scannen Sie den Code mit der App von ${app} oder fahren Sie unten fort.`,
    amount: 'Betrag',
    address: 'Adresse',
    network: 'Netzwerk',
    copy: 'Kopieren',
    copied: 'Kopiert',
    byHand:
      'Kopieren geht hier nicht. Der Text ist markiert: Kopieren Sie ihn von Hand und vergleichen Sie ihn nach dem Einfügen.',
    copyAmount: 'Betrag',
    copyAddress: 'Adresse',
    onlyOn: (network) => `Senden Sie nur USDC und nur auf ${network}. Alles andere kann verloren gehen.`,
    openWallet: 'In der Wallet öffnen',
    arrived: 'Eingegangen',
    missing: 'Noch offen',
    coming: 'Unterwegs',
    confirmations: (done, needed) => `${done} von ${needed} Bestätigungen`,
    confirmationsOpen: (done) => (done === 1 ? '1 Bestätigung' : `${done} Bestätigungen`),
    received: 'Erhalten',
    paidAt: 'Datum',
    order: 'Bestellung',
    goods: 'Für',
    transaction: 'Transaktion',
    backToShop: 'Zurück zum Shop',
    returnIn: (seconds) => `Zurück zum Shop in ${seconds} s.`,
    returnSay: (seconds) =>
      `In ${seconds} Sekunden geht es zurück zum Shop, außer Sie wählen „Auf dieser Seite bleiben“.`,
    stay: 'Auf dieser Seite bleiben',
    notPaid: 'Ich habe noch nicht bezahlt',
    notPaidOnline: 'Beginnen Sie im Shop neu: Dort erhalten Sie einen neuen Preis.',
    notPaidHere: 'Bitten Sie an der Kasse um einen neuen Code.',
    havePaid: 'Ich habe schon bezahlt',
    stillLooking:
      'Wir suchen noch nach einer Zahlung, die rechtzeitig gesendet wurde. Bitte bezahlen Sie nicht noch einmal: Diese Seite macht von selbst weiter.',
    havePaidHelp: (merchant, code) =>
      'Bezahlen Sie nicht noch einmal. Ihre Zahlung ist nicht verloren: Sobald sie bestätigt ist, wird sie dieser ' +
      `Bestellung zugeordnet, oder ${merchant} schickt sie zurück. Heben Sie die Transaktionsnummer und diese Bestellnummer auf: ${code}.`,
    another: 'Anders bezahlen',
    cancel: 'Bestellung stornieren',
    cancelWarning: 'Stornieren Sie nur, wenn Sie noch nichts gesendet haben.',
    cancelNow: 'Ja, stornieren',
    takeBack: (merchant, code) =>
      `Möchten Sie Ihr Geld lieber zurück? Wenden Sie sich mit der Bestellnummer ${code} an ${merchant}; was eingegangen ist, kann zurückgeschickt werden.`,
    beside: (amount, merchant) =>
      `${amount} kamen über einen früheren Versuch oder zu spät und zählen hier nicht. ${merchant} sieht sie und kann sie zurückschicken.`,
    besideComing: (amount, merchant) =>
      `${amount} sind über einen früheren Versuch unterwegs. Bezahlen Sie sie nicht noch einmal: Sie zählen hier nicht, aber sobald sie ankommen, sieht ${merchant} sie und kann sie zurückschicken.`,
    sentBefore: (place, merchant, code) =>
      `Senden Sie nichts mehr an ${place}. Haben Sie das schon getan, zahlen Sie nicht noch einmal: Wenden Sie sich mit der Bestellnummer ${code} an ${merchant}.`,
    uncredited: (amount, channel, merchant) =>
      `${amount} kamen bei ${channel} anders an als verlangt, etwa über ein anderes Netzwerk, und zählen hier nicht. ${merchant} sieht sie und entscheidet darüber.`,
    help: 'Ich habe bezahlt, aber es passiert nichts',
    helpText: (merchant, code) =>
      'Eine Überweisung erscheint hier meist innerhalb einer Minute. Prüfen Sie in Ihrer Wallet, ob Sie USDC auf dem ' +
      'angegebenen Netzwerk und an diese Adresse gesendet haben. Wenn ja und sich nichts ändert, ' +
      `wenden Sie sich mit der Bestellnummer ${code} an ${merchant}.`,
    lost: 'Keine Verbindung. Die Seite versucht es weiter; Ihre Zahlung ist davon nicht betroffen.',
    testWallet: 'Aus der Test-Wallet bezahlen',
    testProvider: 'Beim Testanbieter als Zahler handeln',
    testDecline: 'Ablehnen',
    testFull: 'Voller Betrag',
    testHalf: 'Hälfte',
    testMore: 'Zu viel',
    problems: {
      CHANNEL_UNAVAILABLE:
        'Der Zahlungsanbieter hat nicht geantwortet. Es wurde nichts abgebucht; versuchen Sie es gleich noch einmal.',
      CHANNEL_NOT_AVAILABLE: 'Diese Zahlungsart ist nicht mehr verfügbar. Bitte wählen Sie eine andere.',
      LINK_UNAVAILABLE:
        'Die Seite des Anbieters ließ sich gerade nicht öffnen. Bitte versuchen Sie es gleich noch einmal.',
      ORDER_STATE_CONFLICT: 'Das ist nicht mehr möglich. Diese Seite zeigt den aktuellen Stand.',
      PURCHASE_SOLD: `${button.paidTitle}. ${button.paid}`,
      PAYER_IDENTITY_REQUIRED: 'Bei diesem Betrag muss das Geschäft wissen, wer bezahlt.',
      SPENDING_LIMIT_EXCEEDED:
        'Mit dieser Bestellung würden Sie in 30 Tagen mehr ausgeben, als das Geschäft annehmen darf. Bitte wenden Sie sich an das Geschäft.',
      TRANSACTION_INVALID: 'Ein Transaktions-Hash besteht aus 0x und 64 Zeichen. Bitte kopieren Sie ihn vollständig.',
      TRANSACTION_UNKNOWN:
        'Kein Netzwerk dieses Shops kennt diese Transaktion bisher. Prüfen Sie den Hash oder versuchen Sie es in einer Minute noch einmal.',
      TRANSACTION_WAITING: 'Die Transaktion ist unterwegs. Sie erscheint hier, sobald das Netzwerk sie bestätigt.',
      TRANSACTION_ELSEWHERE:
        'Diese Transaktion bezahlt diese Bestellung nicht. Prüfen Sie Adresse, Token und Netzwerk.',
      TRANSACTION_TOKEN:
        'Mit dieser Transaktion wurde ein anderer Token gesendet, nicht USDC. Das Geschäft sieht ihn und kann ihn zurückschicken; bitte wenden Sie sich dorthin.',
      PAYMENT_NOT_RECEIVED:
        'Der Anbieter hat für diese Bestellung noch keine Zahlung gemeldet. Prüfen Sie in seiner App, ob sie geklappt hat, oder versuchen Sie es in einer Minute noch einmal.',
      CROSS_SITE_REQUEST:
        'Zu Ihrer Sicherheit muss dieser Schritt auf dieser Seite beginnen. Bitte versuchen Sie es noch einmal.',
    },
    problem: 'Das hat nicht geklappt. Bitte versuchen Sie es gleich noch einmal.',
    unknownTitle: 'Diese Bestellung gibt es nicht',
    unknown:
      'Prüfen Sie, ob der Link vollständig ist, oder scannen Sie den Code des Geschäfts noch einmal. ' +
      'Wenn Sie aus einem Shop kamen, gehen Sie zurück und beginnen Sie die Zahlung neu.',
    failedTitle: 'Bei uns ist etwas schiefgegangen',
    failed: 'Ihre Zahlung ist davon nicht betroffen. Laden Sie diese Seite gleich noch einmal.',
  },
  order,
  identity: {
    title: 'Wer bezahlt?',
    why: (merchant) =>
      `Bei diesem Betrag muss ${merchant} wissen, wer bezahlt. Ihre Angaben werden verschlüsselt aufbewahrt.`,
    email: 'E-Mail',
    emailHint: 'Für Nachrichten zu dieser Zahlung, für nichts anderes.',
    firstName: 'Vorname',
    lastName: 'Nachname',
    orCompany: 'Oder, wenn eine Firma bezahlt:',
    companyName: 'Name der Firma',
    next: 'Weiter',
    faults: {
      emailMissing: 'Geben Sie eine E-Mail-Adresse an.',
      emailWrong: 'Diese E-Mail-Adresse ist nicht vollständig; zum Beispiel name@beispiel.de.',
      firstName: 'Geben Sie Ihren Vornamen an, oder unten den Namen einer Firma.',
      lastName: 'Geben Sie Ihren Nachnamen an, oder unten den Namen einer Firma.',
    },
  },
  refund: {
    title: 'Ihre Erstattung',
    from: (merchant) => `Erstattung von ${merchant}`,
    ask: (network) => `An welche Wallet-Adresse auf ${network} soll sie gehen?`,
    notTheSender: 'Wir schicken das Geld nicht einfach zurück: Die Absenderadresse kann einer Börse gehören.',
    proposed: (merchant) =>
      `${merchant} schlägt die Adresse unten vor. Bestätigen Sie sie nur, wenn es Ihre ist; sonst geben Sie Ihre ein.`,
    passedOn: (merchant) =>
      `Danke. ${merchant} prüft diese Adresse, dann wird das Geld gesendet. Sie können sie noch ändern.`,
    label: 'Wallet-Adresse',
    hint: '0x und 40 Zeichen. Aus der Wallet kopieren, nicht abtippen.',
    next: 'Adresse prüfen',
    checkTitle: 'Ist das Ihre Adresse?',
    check: (network) =>
      `Vergleichen Sie jedes Zeichen mit Ihrer Wallet. Geld an eine falsche Adresse auf ${network} ist verloren.`,
    confirm: 'Ja, dorthin senden',
    change: 'Ändern',
    invalid: 'Das ist keine gültige Adresse. Kopieren Sie sie noch einmal aus Ihrer Wallet: 0x und 40 Zeichen.',
    notYours: 'Diese Adresse gehört dem Token oder dem Geschäft, nicht Ihnen. Kopieren Sie die Ihrer eigenen Wallet.',
    done: 'Danke. Das Geld ist unterwegs zu dieser Adresse.',
    sentTo: 'Gesendet an',
    transaction: 'Transaktion',
    dropped: (merchant) => `Diese Erstattung fand nicht statt. Bitte fragen Sie ${merchant}.`,
    unknownTitle: 'Dieser Link funktioniert nicht',
    unknown: 'Öffnen Sie den Link aus der E-Mail noch einmal, oder bitten Sie das Geschäft um einen neuen.',
  },
  kyc: {
    title: 'Identitätsprüfung',
    from: (merchant) => `Identitätsprüfung für ${merchant}`,
    order: 'Bestellung',
    states: {
      pending: 'Ihre Identität muss geprüft werden',
      closer: 'Eine genauere Prüfung ist nötig',
      approved: 'Ihre Identität ist bestätigt',
      refused: 'Ihre Identität konnte nicht bestätigt werden',
    },
    why: (merchant) => `Das Gesetz verpflichtet ${merchant} zu wissen, wer diesen Betrag bezahlt.`,
    closerWhy: (merchant) => `Für größere Käufe muss ${merchant} genauer prüfen, wer bezahlt.`,
    notCharged: 'Es wurde nichts abgebucht.',
    byHand: (merchant) =>
      `${merchant} prüft sie und fragt Sie per E-Mail nach dem, was nötig ist, meist der Kopie eines Ausweises.`,
    prepare: 'Halten Sie einen Ausweis und eine Kamera bereit. Es dauert wenige Minuten.',
    again: 'Bitte noch einmal',
    comeBack:
      'Diese Seite zeigt das Ergebnis von selbst. Sie können sie schließen und über den Link in der E-Mail wiederkommen.',
    loading: 'Die Prüfung wird geladen …',
    failed: 'Die Prüfung konnte nicht geladen werden. Es geht nichts verloren; versuchen Sie es gleich noch einmal.',
    retry: 'Noch einmal versuchen',
    noScript:
      'Die Prüfung braucht JavaScript und eine Kamera. Schalten Sie JavaScript ein, oder öffnen Sie den Link in einem anderen Browser.',
    approved: 'Danke. Es kann weitergehen.',
    toPayment: 'Weiter zur Zahlung',
    startAgain: (merchant) =>
      `Die Zeit für diese Bestellung ist um. Beginnen Sie bei ${merchant} neu; mit derselben E-Mail werden Sie nicht noch einmal geprüft.`,
    paid: 'Für diese Bestellung ist eine Zahlung eingegangen oder unterwegs. Auf ihrer Seite sehen Sie den Stand.',
    toPaid: 'Zahlung ansehen',
    cannotPay: 'Diese Bestellung kann nicht bezahlt werden.',
    mistaken: (merchant, shortCode) =>
      `Falls das ein Irrtum ist, wenden Sie sich an ${merchant} und nennen Sie die Bestellung ${shortCode}.`,
    mailedTitle: 'Wir haben Ihnen eine E-Mail geschickt',
    mailed: 'Öffnen Sie den Link darin, um die Prüfung fortzusetzen, auf welchem Gerät Sie wollen.',
    notMailed: (merchant, shortCode) =>
      `Wenn keine E-Mail kommt, kann ${merchant} Ihnen den Link geben: Nennen Sie die Bestellung ${shortCode}.`,
    unknownTitle: 'Dieser Link funktioniert nicht',
    unknown: 'Öffnen Sie den Link aus der E-Mail noch einmal, oder bitten Sie das Geschäft um einen neuen.',
  },
  account: {
    verifyTitle: 'Bestätigen Sie Ihre E-Mail-Adresse',
    verifyText: ({ email, role, company }) =>
      company === null
        ? `Mit der Adresse ${email} wurde ein Konto mit der Rolle „${role}“ registriert.`
        : `Mit der Adresse ${email} wurde ein Konto bei ${company} mit der Rolle „${role}“ registriert.`,
    verifyOnlyYou: 'Drücken Sie den Knopf nur, wenn Sie dieses Konto erwarten.',
    verifyNotYou: 'Erwarten Sie keines? Schließen Sie diese Seite. Ohne Ihre Bestätigung kann das Konto nichts.',
    verifyButton: 'Bestätigen',
    verified: 'Ihre Adresse ist bestätigt.',
    verifiedStays: 'In diesem Browser sind Sie weiterhin angemeldet.',
    verifiedEnded:
      'Melden Sie sich an, um fortzufahren. Zu Ihrer Sicherheit wurden frühere Anmeldungen dieses Kontos beendet.',
    verifiedChoose:
      'Wählen Sie jetzt ein Passwort. Zu Ihrer Sicherheit gilt das bisherige nicht mehr, und frühere Anmeldungen dieses Kontos wurden beendet.',
    goOn: 'Weiter',
    taken:
      'Zu dieser Adresse gibt es inzwischen ein Konto, das die Einladung nicht ersetzen kann. Melden Sie sich dort an, oder setzen Sie sein Passwort zurück.',
    deadLink: 'Dieser Link gilt nicht mehr. Fordern Sie eine neue Nachricht an.',
    resetTitle: 'Wählen Sie ein neues Passwort',
    resetLabel: 'Neues Passwort',
    resetHint: '12 bis 128 Zeichen mit Großbuchstabe, Kleinbuchstabe, Ziffer und Sonderzeichen.',
    resetButton: 'Speichern',
    resetDone: 'Ihr Passwort ist geändert. Sie können sich anmelden.',
    passwordFaults: {
      short: 'Verwenden Sie mindestens 12 Zeichen.',
      long: 'Verwenden Sie höchstens 128 Zeichen.',
      upper: 'Ergänzen Sie einen Großbuchstaben.',
      lower: 'Ergänzen Sie einen Kleinbuchstaben.',
      digit: 'Ergänzen Sie eine Ziffer.',
      special: 'Ergänzen Sie ein Sonderzeichen, zum Beispiel „!“ oder „?“.',
      common:
        'Dieses Passwort ist leicht zu erraten. Wählen Sie mehrere Wörter, die nichts miteinander zu tun haben, oder lassen Sie einen Passwort-Manager eines erzeugen.',
    },
    logIn: 'Anmelden',
    confirmTitle: 'In der App wurde ein neues Passwort angefordert',
    confirmText: 'Drücken Sie nur, wenn Sie das waren. Die App kann dann das neue Passwort setzen.',
    confirmButton: 'Das war ich',
    confirmed: 'Danke. Gehen Sie zurück in die App und wählen Sie das Passwort.',
  },
  busy: {
    title: 'Einen Moment bitte',
    text: 'Aus Ihrem Netz wurden zu viele Seiten geöffnet. Warten Sie eine Minute und öffnen Sie die Seite dann erneut.',
  },
  missing: {
    title: 'Diese Seite gibt es nicht',
    text: 'Prüfen Sie, ob die Adresse vollständig ist, oder gehen Sie zurück und folgen Sie dem Link noch einmal.',
  },
  unreadable: {
    title: 'Ihre Eingabe ist nicht lesbar',
    text: 'Sie ist zu lang oder enthält ein Zeichen, das sich nicht speichern lässt. Gehen Sie zurück, geben Sie den Text von Hand neu ein und senden Sie ihn noch einmal.',
  },
  mailbox: {
    title: 'Postfach der Sandbox',
    lead: 'Diese E-Mails wären verschickt worden. Mit SMTP_URL werden sie es.',
    to: 'An',
    show: 'Anzeigen',
    none: 'Noch keine E-Mail.',
    withLayout: 'mit Layout',
  },
  mails,
  button,
  wallet,
  till,
}
