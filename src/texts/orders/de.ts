import type { EndingTexts, OrderTexts, RestTexts } from '../order-texts.ts'

/** How the rest of a part payment is paid. */
const restOf: RestTexts = {
  address: ({ amount }) => `Bitte senden Sie die restlichen ${amount} an dieselbe Adresse, bevor die Zeit abläuft.`,
  provider: ({ channel }) =>
    `Bitte zahlen Sie den Rest bei ${channel}, bevor die Zeit abläuft. Die Seite dort nennt den Betrag in der Währung, die Sie gewählt haben.`,
  whole: ({ channel }) =>
    `${channel} schickt eine zu kleine Zahlung zurück und schreibt Ihnen dazu eine E-Mail. Senden Sie nicht den Rest, sondern dort den ganzen Preis in einer Zahlung.`,
}

/** What came for an order that is not paid. */
const cameTo: EndingTexts = {
  expired: ({ amount }) => `Es sind ${amount} eingegangen, aber nicht alles rechtzeitig.`,
  cancelled: ({ amount }) => `Für diese Bestellung, die storniert wurde, sind ${amount} eingegangen.`,
  other: ({ amount }) => `Es sind ${amount} eingegangen.`,
}

export const de: OrderTexts = {
  situations: {
    choose: {
      title: 'Wie möchten Sie bezahlen?',
      text: () => 'Abgebucht wird erst, wenn Sie in Ihrer App oder Wallet zustimmen.',
      next: ({ channel }) => `Mit ${channel} bezahlen`,
    },
    unavailable: {
      title: 'Dieses Geschäft kann gerade keine Zahlungen annehmen',
      text: () => 'Es wurde nichts abgebucht.',
      next: () => 'Bitte sagen Sie im Geschäft Bescheid, oder öffnen Sie diese Seite in ein paar Minuten noch einmal.',
    },
    preparing: {
      title: 'Ihre Zahlung wird vorbereitet',
      text: () => 'Das dauert ein paar Sekunden. Die Seite macht von selbst weiter.',
      next: () => 'Anders bezahlen',
    },
    providerDown: {
      title: 'Der Zahlungsanbieter antwortet nicht',
      text: () => 'Es wurde nichts abgebucht. Wir versuchen es immer wieder, und diese Seite macht von selbst weiter.',
      next: () => 'Anders bezahlen',
    },
    waiting: {
      title: 'Wir warten auf Ihre Zahlung',
      text: () => 'Sie erscheint hier wenige Sekunden nach dem Absenden.',
      next: () => 'Scannen Sie den Code, oder kopieren Sie Betrag und Adresse.',
    },
    partly: {
      title: 'Ein Teil Ihrer Zahlung ist eingegangen',
      text: ({ amount, rest }) =>
        rest === 'address' ? `Es fehlen noch ${amount}.` : `Es fehlen noch umgerechnet ${amount}.`,
      next: (facts) => restOf[facts.rest](facts),
    },
    onItsWay: {
      title: 'Geld ist unterwegs',
      text: ({ channel, due }) => `${channel} sieht eine Zahlung kommen, aber noch nicht die ganzen ${due}.`,
      next: (facts) =>
        facts.rest === 'whole'
          ? restOf.whole(facts)
          : 'Haben Sie alles gesendet, müssen Sie nichts weiter tun. Wenn nicht, senden Sie dort bitte den Rest.',
    },
    accountGone: {
      title: 'Bitte zahlen Sie den Rest nicht hier',
      text: ({ channel, merchant }) =>
        `Geld ist bei ${channel} eingegangen oder dorthin unterwegs, aber ${merchant} nimmt darüber keine Zahlungen mehr an.`,
      next: ({ merchant, code }) =>
        `Bevor Sie weiter zahlen, wenden Sie sich mit der Bestellnummer ${code} an ${merchant}.`,
    },
    wrongToken: {
      title: 'Ein anderer Token ist eingegangen',
      text: ({ token, merchant }) =>
        `Sie haben ${token} gesendet; diese Bestellung lässt sich aber nur mit USDC bezahlen. ${merchant} sieht das und kann es zurückschicken.`,
      next: ({ due, network, channel }) =>
        network
          ? `Zum Bezahlen senden Sie ${due} auf ${network}. Senden Sie keinen anderen Token.`
          : `Zum Bezahlen machen Sie bei ${channel} weiter.`,
    },
    seen: {
      title: 'Zahlung eingegangen, wird bestätigt',
      text: ({ confirms }) =>
        confirms === ''
          ? 'Das Netzwerk bestätigt sie von selbst.'
          : `${confirms} hat sie gesehen und bestätigt sie noch. Diese Seite macht von selbst weiter.`,
      next: ({ confirms }) =>
        confirms === ''
          ? 'Sie müssen nichts weiter tun und können diese Seite schließen.'
          : 'Bitte bezahlen Sie nicht noch einmal. Sie können diese Seite schließen.',
    },
    hold: {
      title: 'Zahlung eingegangen, letzte Prüfung läuft',
      text: () =>
        'Jede Zahlung wird auf Sicherheit geprüft. Das dauert meist eine Minute; dauert es länger, geht nichts verloren.',
      next: () => 'Bitte bezahlen Sie nicht noch einmal. Sie können diese Seite schließen.',
    },
    paid: {
      title: 'Bezahlt',
      text: ({ merchant }) => `${merchant} hat Ihre Zahlung erhalten.`,
      next: () => 'Zurück zum Shop',
    },
    overpaid: {
      title: 'Bezahlt, und etwas zu viel',
      text: ({ merchant, amount }) =>
        `${merchant} hat Ihre Zahlung erhalten. Sie haben ${amount} zu viel gesendet; das Geschäft sieht das und kann sie zurückschicken.`,
      next: ({ merchant, code }) =>
        `Wenn Sie das Geld zurückhaben möchten, wenden Sie sich mit der Bestellnummer ${code} an ${merchant}.`,
    },
    expired: {
      title: 'Die Zeit zum Bezahlen ist abgelaufen',
      text: ({ shown, channel }) => {
        if (shown === 'address') return 'Senden Sie nichts mehr an die alte Adresse.'
        return shown === 'provider' ? `Bezahlen Sie nicht mehr bei ${channel}.` : 'Es wurde nichts abgebucht.'
      },
      next: () => 'Neuen Preis holen',
    },
    late: {
      title: 'Geld ist da, aber die Bestellung ist nicht bezahlt',
      text: (facts) =>
        `${cameTo[facts.ending](facts)} Verloren ist nichts: ${facts.merchant} nimmt es an oder schickt es zurück.`,
      next: ({ merchant, code }) =>
        `Bitte bezahlen Sie nicht noch einmal. Wenden Sie sich mit der Bestellnummer ${code} an ${merchant}.`,
    },
    onItsWayEnded: {
      title: 'Geld ist unterwegs',
      text: ({ amount, confirms, merchant }) =>
        `${confirms} hat uns eine Zahlung von ${amount} gemeldet. Sie ist nicht verloren: Sobald sie bestätigt ist, wird sie dieser Bestellung zugeordnet, oder ${merchant} schickt sie zurück.`,
      next: ({ merchant, code }) =>
        `Bitte bezahlen Sie nicht noch einmal. Bei Fragen wenden Sie sich mit der Bestellnummer ${code} an ${merchant}.`,
    },
    wrongTokenEnded: {
      title: 'Ein anderer Token ist eingegangen, die Bestellung ist nicht bezahlt',
      text: ({ token, merchant }) =>
        `Sie haben ${token} gesendet; diese Bestellung lässt sich aber nur mit USDC bezahlen. ${merchant} sieht das und kann es zurückschicken.`,
      next: ({ merchant, code }) =>
        `Möchten Sie den Token zurück, wenden Sie sich mit der Bestellnummer ${code} an ${merchant}.`,
    },
    sentBack: {
      title: 'Ihr Geld wurde zurückgeschickt',
      text: ({ merchant, amount }) =>
        `${merchant} hat Ihnen ${amount} zurückgeschickt. Diese Bestellung ist nicht bezahlt.`,
      next: ({ shown }) =>
        shown === 'address'
          ? 'Senden Sie nichts mehr an die alte Adresse. Möchten Sie doch noch bezahlen, beginnen Sie im Geschäft neu.'
          : 'Möchten Sie doch noch bezahlen, beginnen Sie im Geschäft neu.',
    },
    cancelled: {
      title: 'Diese Bestellung wurde storniert',
      text: ({ shown }) => {
        if (shown === 'address') return 'Bitte bezahlen Sie sie nicht mehr. Senden Sie nichts mehr an die alte Adresse.'
        return shown === 'provider' ? 'Bitte bezahlen Sie sie nicht mehr.' : 'Es wurde nichts abgebucht.'
      },
      next: () => 'Sie müssen nichts weiter tun.',
    },
    error: {
      title: 'Die Zahlung hat nicht geklappt',
      text: ({ merchant, code }) =>
        `Der Zahlungsanbieter hat sie abgelehnt. Falls Geld abgebucht wurde, wenden Sie sich mit der Bestellnummer ${code} an ${merchant}.`,
      next: () => 'Andere Zahlungsart wählen',
    },
    refundApproval: {
      title: 'Ihre Erstattung wird freigegeben',
      text: ({ merchant, amount }) =>
        `${merchant} möchte Ihnen ${amount} erstatten. Vorher muss eine zweite Person zustimmen.`,
      next: () => 'Sie müssen nichts weiter tun.',
    },
    refundAddress: {
      title: 'Wohin soll Ihre Erstattung gehen?',
      text: ({ merchant, amount }) =>
        `${merchant} möchte Ihnen ${amount} erstatten und braucht dafür die Adresse Ihrer Wallet.`,
      next: () => 'Adresse eingeben',
    },
    refundCheck: {
      title: 'Wir haben Ihre Adresse',
      text: ({ merchant, amount }) => `${merchant} prüft sie und schickt Ihnen dann ${amount}.`,
      next: () => 'Adresse ändern',
    },
    refundMailed: {
      title: 'Für Ihre Erstattung fehlt Ihre Adresse',
      text: ({ merchant, amount }) =>
        `${merchant} möchte Ihnen ${amount} erstatten. Zu Ihrer Sicherheit haben wir den Link für Ihre Wallet-Adresse nur per E-Mail geschickt.`,
      next: () => 'Öffnen Sie den Link in dieser E-Mail.',
    },
    refundByHand: {
      title: 'Ihre Erstattung wird vorbereitet',
      text: ({ merchant, amount }) =>
        `Sie bekommen ${amount} für Ihre Zahlung an ${merchant} zurück. Jemand sendet das von Hand, das kann einige Tage dauern.`,
      next: () => 'Sie müssen nichts weiter tun.',
    },
    refunding: {
      title: 'Ihre Erstattung ist unterwegs',
      text: ({ merchant, amount }) => `${merchant} schickt Ihnen ${amount}. Das kann etwas dauern.`,
      next: ({ mailer }) =>
        mailer === ''
          ? 'Sie müssen nichts weiter tun.'
          : `Haben Sie aus einer Wallet bezahlt und nicht in der App von ${mailer}? Dann fragt ${mailer} Sie per E-Mail nach Ihrer Adresse, und die Erstattung wartet auf Ihre Antwort.`,
    },
    refundedPart: {
      title: 'Teilweise erstattet',
      text: ({ amount, due }) => `${amount} von ${due} wurden an Sie zurückgeschickt.`,
      next: () => 'Der Rest der Bestellung bleibt bezahlt.',
    },
    refunded: {
      title: 'Erstattet',
      text: ({ amount }) => `Der ganze Betrag, ${amount}, wurde an Sie zurückgeschickt.`,
      next: () => 'Sie müssen nichts weiter tun.',
    },
    review: {
      title: 'Diese Zahlung wird geprüft',
      text: () => 'Nach der Sicherheitsprüfung der Wallet, aus der bezahlt wurde, muss ein Mensch entscheiden.',
      next: ({ merchant, code }) =>
        `Bitte bezahlen Sie nicht noch einmal. Bei Fragen wenden Sie sich mit der Bestellnummer ${code} an ${merchant}.`,
    },
  },
  receipt: {
    title: 'Beleg',
    from: (merchant) => `Beleg von ${merchant}`,
    vatNumber: 'USt-IdNr./MWST-Nr. des Shops',
    number: 'Bestellung',
    reference: 'Referenz',
    price: 'Preis',
    paid: 'Bezahlt',
    rate: 'Kurs',
    channel: 'Zahlungsart',
    sentBack: 'Erstattet',
    sentBackBeside: 'Erstattet, nicht Teil dieser Zahlung',
    sentTo: 'Gesendet an',
    show: 'Beleg',
    onExplorer: 'Transaktion ansehen',
    print: 'Drucken',
    signed: 'Signierte Kopie (JSON)',
    verify: 'Die Signatur dieses Belegs lässt sich mit den öffentlichen Schlüsseln dieses Dienstes prüfen:',
    terms: 'Bedingungen',
    unknown: 'Diesen Beleg gibt es nicht. Prüfen Sie, ob der Link vollständig ist.',
  },
  ways: {
    groups: { exchange: 'Mit einer Börsen-App', wallet: 'Mit einer Wallet', onramp: 'Mit einem Coinbase-Konto' },
    notes: {
      exchange: 'aus Ihrem Guthaben dort, in Sekunden',
      wallet: 'USDC plus Netzwerkgebühr, etwa eine Minute',
      onramp: 'Sie kaufen dort USDC, plus Gebühr, ein paar Minuten',
    },
    lastUsed: 'zuletzt benutzt',
    otherWays: 'Andere Zahlungsarten',
    showCode: 'Code anzeigen',
    openApp: (app) => `${app}-App öffnen`,
    openPage: (provider) => `Weiter bei ${provider}`,
    newPrice: 'Neuen Preis holen',
    newPriceWith: (channel) => `Neuer Preis, mit ${channel} bezahlen`,
    newPriceHint: 'Dieselbe Bestellung zum heutigen Kurs.',
  },
  help: {
    title: 'Hilfe',
    ask: (merchant, code) => `Fragen zu dieser Bestellung? Wenden Sie sich mit der Nummer ${code} an ${merchant}.`,
    phone: 'Telefon',
    email: 'E-Mail',
    subject: (code) => `Bestellung ${code}`,
    reference: 'Transaktions-Hash oder Nummer der Zahlung beim Anbieter',
    referenceHint: 'Ihre Wallet, Börse oder Bezahl-App zeigt sie bei der Zahlung.',
    referenceSend: 'Meine Zahlung suchen',
    otherNetwork: (network, merchant, code) =>
      `Über ein anderes Netzwerk als ${network} gesendet? Bitte bezahlen Sie nicht noch einmal. Die Adresse gehört dort meist ebenfalls dem Zahlungsdienst des Geschäfts, das Geld lässt sich also zurückholen: Wenden Sie sich an ${merchant} und nennen Sie die Bestellnummer ${code} und den Transaktions-Hash.`,
    otherToken: (merchant, code) =>
      `ETH und die meisten anderen Token erscheinen hier nie von selbst, auch wenn sie an dieser Adresse angekommen sind. Senden Sie nichts weiter: Wenden Sie sich mit der Bestellnummer ${code} und dem Transaktions-Hash an ${merchant}.`,
  },
  askBack: {
    offer: (merchant) => `Sie können es hier zurückfordern. ${merchant} erfährt es sofort und entscheidet.`,
    button: 'Geld zurückfordern',
    asked: (merchant) =>
      `Sie haben dieses Geld zurückgefordert, und ${merchant} weiß davon. Bewahren Sie den Link zu dieser Seite auf: Sie sagt, was entschieden wurde und wo Sie Ihre Wallet-Adresse nennen, falls sie gebraucht wird.`,
  },
  link: {
    preview: (merchant, amount) => `${amount} an ${merchant} bezahlen`,
    previewText: 'Öffnen Sie den Link und wählen Sie, wie Sie bezahlen.',
    poster: 'Aushang zum Drucken',
    posterText: 'Zum Bezahlen den Code mit dem Handy scannen.',
    print: 'Drucken',
    payTo: (merchant) => `An ${merchant} bezahlen`,
    payNow: (amount) => `${amount} bezahlen`,
    goOn: 'Weiter',
    amountLabel: (currency) => `Betrag in ${currency}`,
    between: (least, most) => `Von ${least} bis ${most}`,
    nothingYet: 'Als Nächstes wählen Sie, wie Sie bezahlen. Vorher wird nichts abgebucht.',
    last: {
      unfinished: (amount) => `Ihre Zahlung über ${amount} ist noch nicht abgeschlossen`,
      resumeHint: 'Setzen Sie sie fort, damit Sie nicht doppelt bezahlen.',
      resume: 'Diese Zahlung fortsetzen',
      another: 'Eine neue Zahlung beginnen',
      see: (amount) => `Ihre letzte Zahlung hier ansehen: ${amount}`,
    },
    closedTitle: 'Dieser Link ist geschlossen',
    closed: (merchant) =>
      `${merchant} nimmt hier keine Zahlungen mehr an. Fragen Sie im Geschäft nach einem neuen Link oder Code.`,
    notSetUp: (merchant) => `Dieser Link ist nicht richtig eingerichtet. Bitte sagen Sie ${merchant} Bescheid.`,
    faults: {
      wrong: (example) => `Geben Sie einen Betrag ein, zum Beispiel ${example}.`,
      low: (least) => `Der kleinste Betrag ist ${least}.`,
      high: (most) => `Der größte Betrag ist ${most}.`,
    },
  },
  verify: {
    title: 'Einen Beleg prüfen',
    lead: 'Diese Seite arbeitet für sich allein, auch gespeichert auf Ihrem Rechner und ohne Verbindung. Was Sie eingeben, bleibt hier.',
    receipt: 'Signierter Beleg',
    receiptHint: 'Öffnen Sie die Datei, oder fügen Sie ein, was „Signierte Kopie (JSON)“ auf dem Beleg zeigt.',
    file: 'Datei öffnen',
    keys: 'Öffentliche Schlüssel des Dienstes',
    keysHint: 'Fügen Sie ein, was der Dienst unter /.well-known/jwks.json zeigt, oder holen Sie die Schlüssel dort.',
    fetchKeys: 'Schlüssel von % holen',
    check: 'Prüfen',
    good: 'Dieser Beleg ist echt',
    goodText:
      'Signiert von %. Vergewissern Sie sich, dass Sie diesem Dienst vertrauen: Jeder kann einen anderen betreiben und eigene Belege signieren.',
    bad: 'Dieser Beleg ist nicht echt',
    badText:
      'Signatur und Inhalt passen nicht zusammen: Etwas wurde geändert, oder ein anderer Schlüssel hat signiert.',
    unreadable: 'Das ist kein signierter Beleg. Fügen Sie den ganzen Text ein, von der ersten bis zur letzten Klammer.',
    noKeys: 'Fügen Sie zuerst die öffentlichen Schlüssel ein, oder holen Sie sie beim Dienst.',
    keyMissing:
      'Keiner dieser Schlüssel hat diesen Beleg signiert. Holen Sie die Schlüssel des Dienstes, der ihn ausgestellt hat.',
    noFetch: '% antwortet nicht. Öffnen Sie die Adresse in einem anderen Fenster, und fügen Sie die Schlüssel ein.',
    altered: 'Die lesbare Kopie neben der Signatur sagt etwas anderes. Signiert ist nur, was hier unten steht.',
    unsupported:
      'Dieser Browser kann solche Signaturen nicht prüfen. Nehmen Sie einen neueren oder den Befehl: comptoir verify-receipt FILE',
    save: 'Diese Seite speichern',
    link: 'Einen signierten Beleg auf dem eigenen Rechner prüfen',
  },
}
