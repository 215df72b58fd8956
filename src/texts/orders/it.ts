import type { EndingTexts, OrderTexts, RestTexts } from '../order-texts.ts'

/** How the rest of a part payment is paid. */
const restOf: RestTexts = {
  address: ({ amount }) => `Invii i ${amount} mancanti allo stesso indirizzo prima che scada il tempo.`,
  provider: ({ channel }) =>
    `Paghi il resto su ${channel} prima che scada il tempo. La pagina indica quanto, nella moneta che ha scelto lì.`,
  whole: ({ channel }) =>
    `${channel} restituisce un importo insufficiente e la avvisa per e-mail. Non invii il resto: per pagare, invii lì l’intero prezzo in un solo pagamento.`,
}

/** What came for an order that is not paid. */
const cameTo: EndingTexts = {
  expired: ({ amount }) => `Abbiamo ricevuto ${amount}, ma non tutto in tempo.`,
  cancelled: ({ amount }) => `Abbiamo ricevuto ${amount} per questo ordine, che è stato annullato.`,
  other: ({ amount }) => `Abbiamo ricevuto ${amount}.`,
}

export const it: OrderTexts = {
  situations: {
    choose: {
      title: 'Scelga come pagare',
      text: () => 'Non viene addebitato nulla finché non conferma nella sua app o nel suo wallet.',
      next: ({ channel }) => `Paga con ${channel}`,
    },
    unavailable: {
      title: 'Questo negozio al momento non può accettare pagamenti',
      text: () => 'Non le è stato addebitato nulla.',
      next: () => 'Avvisi il negozio, oppure riapra questa pagina tra qualche minuto.',
    },
    preparing: {
      title: 'Prepariamo il pagamento',
      text: () => 'Bastano pochi secondi. La pagina prosegue da sola.',
      next: () => 'Paga in un altro modo',
    },
    providerDown: {
      title: 'Il fornitore di pagamento non risponde',
      text: () => 'Non le è stato addebitato nulla. Continuiamo a riprovare e la pagina proseguirà da sola.',
      next: () => 'Paga in un altro modo',
    },
    waiting: {
      title: 'In attesa del pagamento',
      text: () => 'Compare qui pochi secondi dopo l’invio.',
      next: () => 'Scansioni il codice, oppure copi importo e indirizzo.',
    },
    partly: {
      title: 'È arrivata una parte del pagamento',
      text: ({ amount, rest }) =>
        rest === 'address' ? `Mancano ancora ${amount}.` : `Manca ancora l’equivalente di ${amount}.`,
      next: (facts) => restOf[facts.rest](facts),
    },
    onItsWay: {
      title: 'Un pagamento è in arrivo',
      text: ({ channel, due }) => `${channel} vede arrivare un pagamento, ma non ancora tutti i ${due}.`,
      next: (facts) =>
        facts.rest === 'whole'
          ? restOf.whole(facts)
          : 'Se ha inviato tutto, non deve fare altro. Altrimenti invii lì il resto.',
    },
    accountGone: {
      title: 'Non paghi qui il resto',
      text: ({ channel, merchant }) =>
        `Del denaro è arrivato a ${channel} o è in arrivo, ma ${merchant} non accetta più pagamenti per quella via.`,
      next: ({ merchant, code }) => `Prima di pagare altro contatti ${merchant} indicando l’ordine ${code}.`,
    },
    wrongToken: {
      title: 'È arrivato un altro token',
      text: ({ token, merchant }) =>
        `Ha inviato ${token}, ma questo ordine si paga solo in USDC. ${merchant} lo vede e può restituirglielo.`,
      next: ({ due, network, channel }) =>
        network
          ? `Per pagare invii ${due} su ${network}. Non invii altri token.`
          : `Per pagare continui su ${channel}.`,
    },
    seen: {
      title: 'Pagamento ricevuto, conferma in corso',
      text: ({ confirms }) =>
        confirms === ''
          ? 'La rete lo conferma da sola.'
          : `${confirms} lo ha visto e lo sta ancora confermando. Questa pagina prosegue da sola.`,
      next: ({ confirms }) =>
        confirms === ''
          ? 'Non deve fare altro. Può chiudere questa pagina.'
          : 'Non paghi di nuovo. Può chiudere questa pagina.',
    },
    hold: {
      title: 'Pagamento ricevuto, ultimo controllo',
      text: () =>
        'Ogni pagamento passa un controllo di sicurezza. Di solito dura un minuto; se dura di più, non si perde nulla.',
      next: () => 'Non paghi di nuovo. Può chiudere questa pagina.',
    },
    paid: {
      title: 'Pagato',
      text: ({ merchant }) => `${merchant} ha ricevuto il suo pagamento.`,
      next: () => 'Torna al negozio',
    },
    overpaid: {
      title: 'Pagato, più del dovuto',
      text: ({ merchant, amount }) =>
        `${merchant} ha ricevuto il suo pagamento. Ha inviato ${amount} in più; il negozio lo vede e può restituirli.`,
      next: ({ merchant, code }) => `Per riaverli contatti ${merchant} indicando l’ordine ${code}.`,
    },
    expired: {
      title: 'Il tempo per pagare è scaduto',
      text: ({ shown, channel }) => {
        if (shown === 'address') return 'Non invii nulla al vecchio indirizzo.'
        return shown === 'provider' ? `Non paghi più su ${channel}.` : 'Non le è stato addebitato nulla.'
      },
      next: () => 'Chiedi un nuovo prezzo',
    },
    late: {
      title: 'È arrivato del denaro, ma l’ordine non è pagato',
      text: (facts) =>
        `${cameTo[facts.ending](facts)} Non è perso: ${facts.merchant} lo accetta oppure glielo restituisce.`,
      next: ({ merchant, code }) => `Non paghi di nuovo. Contatti ${merchant} indicando l’ordine ${code}.`,
    },
    onItsWayEnded: {
      title: 'Un pagamento è in arrivo',
      text: ({ amount, confirms, merchant }) =>
        `${confirms} ci ha segnalato un pagamento di ${amount}. Non è perso: appena confermato, viene aggiunto a questo ordine oppure ${merchant} glielo restituisce.`,
      next: ({ merchant, code }) => `Non paghi di nuovo. Per domande contatti ${merchant} indicando l’ordine ${code}.`,
    },
    wrongTokenEnded: {
      title: 'È arrivato un altro token e l’ordine non è pagato',
      text: ({ token, merchant }) =>
        `Ha inviato ${token}, ma questo ordine si paga solo in USDC. ${merchant} lo vede e può restituirglielo.`,
      next: ({ merchant, code }) => `Per riaverlo contatti ${merchant} indicando l’ordine ${code}.`,
    },
    sentBack: {
      title: 'Il denaro le è stato restituito',
      text: ({ merchant, amount }) => `${merchant} le ha restituito ${amount}. Questo ordine non è pagato.`,
      next: ({ shown }) =>
        shown === 'address'
          ? 'Non invii nulla al vecchio indirizzo. Se vuole comunque pagare, ricominci dal negozio.'
          : 'Se vuole comunque pagare, ricominci dal negozio.',
    },
    cancelled: {
      title: 'Questo ordine è stato annullato',
      text: ({ shown }) => {
        if (shown === 'address') return 'Non lo paghi più. Non invii nulla al vecchio indirizzo.'
        return shown === 'provider' ? 'Non lo paghi più.' : 'Non le è stato addebitato nulla.'
      },
      next: () => 'Non deve fare nulla.',
    },
    error: {
      title: 'Il pagamento non è andato a buon fine',
      text: ({ merchant, code }) =>
        `Il fornitore di pagamento l’ha rifiutato. Se le è stato addebitato qualcosa, contatti ${merchant} indicando l’ordine ${code}.`,
      next: () => 'Scegli un altro modo di pagare',
    },
    refundApproval: {
      title: 'Il rimborso attende un’approvazione',
      text: ({ merchant, amount }) =>
        `${merchant} vuole restituirle ${amount}. Prima deve approvarlo una seconda persona.`,
      next: () => 'Non deve fare nulla.',
    },
    refundAddress: {
      title: 'Dove inviamo il rimborso?',
      text: ({ merchant, amount }) =>
        `${merchant} vuole restituirle ${amount} e ha bisogno dell’indirizzo del suo wallet.`,
      next: () => 'Inserisci il mio indirizzo',
    },
    refundCheck: {
      title: 'Abbiamo il suo indirizzo',
      text: ({ merchant, amount }) => `${merchant} lo controlla e poi le restituisce ${amount}.`,
      next: () => 'Cambia il mio indirizzo',
    },
    refundMailed: {
      title: 'Per il rimborso manca il suo indirizzo',
      text: ({ merchant, amount }) =>
        `${merchant} vuole restituirle ${amount}. Per la sua sicurezza il link per inserire l’indirizzo è stato inviato solo alla sua e-mail.`,
      next: () => 'Apra il link in quella e-mail.',
    },
    refundByHand: {
      title: 'Il rimborso è in preparazione',
      text: ({ merchant, amount }) =>
        `Le tornano ${amount} per il suo pagamento a ${merchant}. Li invia una persona a mano: possono volerci alcuni giorni.`,
      next: () => 'Non deve fare nulla.',
    },
    refunding: {
      title: 'Il rimborso è in arrivo',
      text: ({ merchant, amount }) => `${merchant} le sta restituendo ${amount}. Può volerci un po’.`,
      next: ({ mailer }) =>
        mailer === ''
          ? 'Non deve fare nulla.'
          : `Ha pagato da un wallet e non nell’app ${mailer}? Allora ${mailer} le chiede l’indirizzo per e-mail, e il rimborso attende la sua risposta.`,
    },
    refundedPart: {
      title: 'Rimborsato in parte',
      text: ({ amount, due }) => `Le sono stati restituiti ${amount} su ${due}.`,
      next: () => 'Il resto dell’ordine rimane pagato.',
    },
    refunded: {
      title: 'Rimborsato',
      text: ({ amount }) => `Le è stato restituito l’intero importo: ${amount}.`,
      next: () => 'Non deve fare nulla.',
    },
    review: {
      title: 'Questo pagamento è in verifica',
      text: () => 'Il controllo di sicurezza del wallet che ha pagato richiede la decisione di una persona.',
      next: ({ merchant, code }) => `Non paghi di nuovo. Per domande contatti ${merchant} indicando l’ordine ${code}.`,
    },
  },
  receipt: {
    title: 'Ricevuta',
    from: (merchant) => `Ricevuta di ${merchant}`,
    vatNumber: 'Partita IVA del negozio',
    number: 'Ordine',
    reference: 'Riferimento',
    price: 'Prezzo',
    paid: 'Pagato',
    rate: 'Cambio',
    channel: 'Pagato con',
    sentBack: 'Restituito',
    sentBackBeside: 'Restituito, non parte di questo pagamento',
    sentTo: 'Inviato a',
    show: 'Ricevuta',
    onExplorer: 'Vedi la transazione',
    print: 'Stampa',
    signed: 'Copia firmata (JSON)',
    verify: 'La firma di questa ricevuta si verifica con le chiavi pubbliche di questo servizio:',
    terms: 'Condizioni',
    unknown: 'Questa ricevuta non esiste. Controlli di aver copiato tutto il link.',
  },
  ways: {
    groups: { exchange: 'Con l’app di un exchange', wallet: 'Con un wallet', onramp: 'Con un conto Coinbase' },
    notes: {
      exchange: 'dal suo saldo, in pochi secondi',
      wallet: 'USDC più la commissione di rete, un minuto',
      onramp: 'lì acquista USDC, più la commissione, pochi minuti',
    },
    lastUsed: 'usato l’ultima volta',
    otherWays: 'Altri modi di pagare',
    showCode: 'Mostra il codice',
    openApp: (app) => `Apri l’app ${app}`,
    openPage: (provider) => `Continua su ${provider}`,
    newPrice: 'Chiedi un nuovo prezzo',
    newPriceWith: (channel) => `Nuovo prezzo, paga con ${channel}`,
    newPriceHint: 'Stesso ordine, al cambio di oggi.',
  },
  help: {
    title: 'Aiuto',
    ask: (merchant, code) => `Domande su questo ordine? Contatti ${merchant} indicando ${code}.`,
    phone: 'Telefono',
    email: 'E-mail',
    subject: (code) => `Ordine ${code}`,
    reference: 'Hash della transazione, o numero del pagamento presso il fornitore',
    referenceHint: 'Il suo wallet, exchange o app lo mostra insieme al pagamento.',
    referenceSend: 'Cerca il mio pagamento',
    otherNetwork: (network, merchant, code) =>
      `Inviato su una rete diversa da ${network}? Non paghi di nuovo. L’indirizzo di solito appartiene anche lì al servizio del negozio, quindi il denaro si può recuperare: contatti ${merchant} indicando l’ordine ${code} e l’hash della transazione.`,
    otherToken: (merchant, code) =>
      `ETH e la maggior parte degli altri token non compaiono mai qui da soli, anche se sono arrivati a questo indirizzo. Non invii altro: contatti ${merchant} indicando l’ordine ${code} e l’hash della transazione.`,
  },
  askBack: {
    offer: (merchant) =>
      `Può chiedere qui la restituzione di questo denaro. ${merchant} lo viene a sapere subito e decide.`,
    button: 'Chiedi la restituzione',
    asked: (merchant) =>
      `Ha chiesto la restituzione di questo denaro e ${merchant} ne è informato. Conservi il link di questa pagina: dice che cosa è stato deciso e dove indicare l’indirizzo del wallet, se serve.`,
  },
  link: {
    preview: (merchant, amount) => `Paga ${amount} a ${merchant}`,
    previewText: 'Apra il link e scelga come pagare.',
    poster: 'Cartello da stampare',
    posterText: 'Inquadri il codice con il telefono per pagare.',
    print: 'Stampa',
    payTo: (merchant) => `Paga ${merchant}`,
    payNow: (amount) => `Paga ${amount}`,
    goOn: 'Continua',
    amountLabel: (currency) => `Importo in ${currency}`,
    between: (least, most) => `Da ${least} a ${most}`,
    nothingYet: 'Al passo successivo sceglie come pagare. Prima non viene addebitato nulla.',
    last: {
      unfinished: (amount) => `Il suo pagamento di ${amount} non è concluso`,
      resumeHint: 'Lo riprenda per non pagare due volte.',
      resume: 'Riprendi questo pagamento',
      another: 'Inizia un altro pagamento',
      see: (amount) => `Mostra il suo ultimo pagamento qui: ${amount}`,
    },
    closedTitle: 'Questo link è chiuso',
    closed: (merchant) => `${merchant} non incassa più da questo link. Chieda al negozio un nuovo link o codice.`,
    notSetUp: (merchant) => `Questo link non è configurato correttamente. Lo segnali a ${merchant}.`,
    faults: {
      wrong: (example) => `Inserisca un importo, per esempio ${example}.`,
      low: (least) => `L’importo minimo è ${least}.`,
      high: (most) => `L’importo massimo è ${most}.`,
    },
  },
  verify: {
    title: 'Verificare una ricevuta',
    lead: 'Questa pagina funziona da sola, anche salvata sul suo computer e senza connessione. Quello che inserisce resta qui.',
    receipt: 'Ricevuta firmata',
    receiptHint: 'Apra il file, oppure incolli quello che mostra «Copia firmata (JSON)» sulla ricevuta.',
    file: 'Apri un file',
    keys: 'Chiavi pubbliche del servizio',
    keysHint: 'Incolli quello che il servizio mostra in /.well-known/jwks.json, oppure le prenda da lì.',
    fetchKeys: 'Prendi le chiavi da %',
    check: 'Verifica',
    good: 'Questa ricevuta è autentica',
    goodText:
      'Firmata da %. Si assicuri di fidarsi di questo servizio: chiunque può gestirne un altro e firmare ricevute proprie.',
    bad: 'Questa ricevuta non è autentica',
    badText: 'La firma non corrisponde al contenuto: qualcosa è stato cambiato, oppure ha firmato un’altra chiave.',
    unreadable: 'Questa non è una ricevuta firmata. Incolli il testo intero, dalla prima all’ultima parentesi graffa.',
    noKeys: 'Incolli prima le chiavi pubbliche, oppure le prenda dal servizio.',
    keyMissing: 'Nessuna di queste chiavi ha firmato questa ricevuta. Prenda le chiavi dal servizio che l’ha emessa.',
    noFetch: '% non risponde. Apra l’indirizzo in un’altra finestra e incolli le chiavi.',
    altered: 'La copia leggibile accanto alla firma dice altro. È firmato solo quello che sta qui sotto.',
    unsupported:
      'Questo browser non sa verificare firme di questo tipo. Ne usi uno più recente, oppure il comando: comptoir verify-receipt FILE',
    save: 'Salva questa pagina',
    link: 'Verificare una ricevuta firmata sul proprio computer',
  },
}
