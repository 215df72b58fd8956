import { it as button } from './buttons/it.ts'
import { it as mails } from './mails/it.ts'
import { it as order } from './orders/it.ts'
import type { Texts } from './texts.ts'
import { it as till } from './till/it.ts'
import { it as wallet } from './wallets/it.ts'

export const it: Texts = {
  locale: 'it-IT',
  name: 'Italiano',
  pay: {
    channels: {
      crypto: 'USDC dal suo wallet',
      'whitepay-non-custody': 'Qualsiasi wallet, con Whitepay',
      coinbase: 'USDC dal suo conto Coinbase',
    },
    sandbox: 'Ambiente di prova: nessun denaro reale.',
    language: 'Lingua',
    payTo: 'Pagamento a',
    approximately: 'circa',
    rate: (one, other) => `${one} = ${other}`,
    rateHeld: 'Questo cambio è garantito fino alla scadenza del tempo.',
    rateChosen: 'il cambio viene fissato quando sceglie come pagare',
    heldUntil: (date) => `l’importo indicato resta valido per questo modo di pagare fino al ${date}`,
    timeLeft: 'Tempo rimasto',
    validUntil: (date) => `valido fino al ${date}`,
    onNetwork: (network) => `su ${network}`,
    qrWallet: 'Codice QR per i wallet: indirizzo, rete e importo',
    qrAddress: 'Codice QR con il solo indirizzo',
    qrApp: 'Codice QR per l’app di pagamento',
    qrChoice: 'Contenuto del codice QR',
    walletLink: 'Per i wallet',
    addressOnly: 'Solo indirizzo',
    addressOnlyHint: 'Per le piattaforme di scambio e le altre app: inserisca lei l’importo.',
    scan: 'Scansioni con il suo wallet',
    scanWith: (app) => `Scansioni con l’app di ${app}, oppure continui qui sotto.`,
    amount: 'Importo',
    address: 'Indirizzo',
    network: 'Rete',
    copy: 'Copia',
    copied: 'Copiato',
    byHand: 'Qui non è possibile copiare. Il testo è selezionato: lo copi a mano e lo controlli dopo averlo incollato.',
    copyAmount: 'importo',
    copyAddress: 'indirizzo',
    onlyOn: (network) => `Invii solo USDC e solo su ${network}. Qualsiasi altro invio può andare perso.`,
    openWallet: 'Apri nel wallet',
    arrived: 'Ricevuto',
    missing: 'Ancora da pagare',
    coming: 'In arrivo',
    confirmations: (done, needed) => `${done} conferme su ${needed}`,
    confirmationsOpen: (done) => (done === 1 ? '1 conferma' : `${done} conferme`),
    received: 'Ricevuto',
    paidAt: 'Data',
    order: 'Ordine',
    goods: 'Per',
    transaction: 'Transazione',
    backToShop: 'Torna al negozio',
    returnIn: (seconds) => `Ritorno al negozio tra ${seconds} s.`,
    returnSay: (seconds) => `Tra ${seconds} secondi torna al negozio, a meno che non scelga «Resta su questa pagina».`,
    stay: 'Resta su questa pagina',
    notPaid: 'Non ho ancora pagato',
    notPaidOnline: 'Ricominci dal negozio: riceverà un nuovo prezzo.',
    notPaidHere: 'Chieda un nuovo codice alla cassa.',
    havePaid: 'Ho già pagato',
    stillLooking:
      'Stiamo ancora cercando un pagamento inviato in tempo. Non paghi di nuovo: questa pagina prosegue da sola.',
    havePaidHelp: (merchant, code) =>
      'Non paghi di nuovo. Il pagamento non è perso: appena confermato, viene aggiunto a questo ordine oppure ' +
      `${merchant} glielo rimanda. Conservi il numero della transazione e questo numero d’ordine: ${code}.`,
    another: 'Paga in un altro modo',
    cancel: 'Annulla questo ordine',
    cancelWarning: 'Annulli solo se non ha inviato nulla.',
    cancelNow: 'Sì, annulla',
    takeBack: (merchant, code) =>
      `Preferisce riavere il denaro? Contatti ${merchant} indicando l’ordine ${code}; quanto è arrivato può essere restituito.`,
    beside: (amount, merchant) =>
      `${amount} sono arrivati da un tentativo precedente o troppo tardi e qui non contano. ${merchant} li vede e può restituirglieli.`,
    besideComing: (amount, merchant) =>
      `${amount} sono in arrivo da un tentativo precedente. Non li paghi di nuovo: qui non contano, ma appena arrivano ${merchant} li vede e può restituirli.`,
    sentBefore: (place, merchant, code) =>
      `Non invii più nulla a ${place}. Se l’ha già fatto, non paghi di nuovo: contatti ${merchant} indicando l’ordine ${code}.`,
    uncredited: (amount, channel, merchant) =>
      `${amount} sono arrivati a ${channel} in modo diverso da quello richiesto, per esempio su un’altra rete, e qui non contano. ${merchant} li vede e decide che cosa farne.`,
    help: 'Ho pagato, ma non succede nulla',
    helpText: (merchant, code) =>
      'Un invio compare qui di solito entro un minuto. Controlli nel wallet di aver inviato USDC, sulla rete ' +
      'indicata e a questo indirizzo. Se è così e non cambia nulla, ' +
      `contatti ${merchant} indicando l’ordine ${code}.`,
    lost: 'Nessuna connessione. La pagina continua a provare; il pagamento non ne risente.',
    testWallet: 'Paga dal wallet di prova',
    testProvider: 'Agisci da pagante presso il fornitore di prova',
    testDecline: 'Rifiuta',
    testFull: 'Importo esatto',
    testHalf: 'Metà',
    testMore: 'Troppo',
    problems: {
      CHANNEL_UNAVAILABLE:
        'Il fornitore di pagamento non ha risposto. Nulla è stato addebitato; riprovi tra un attimo.',
      CHANNEL_NOT_AVAILABLE: 'Questo modo di pagare non è più disponibile. Ne scelga un altro.',
      LINK_UNAVAILABLE: 'Non è stato possibile aprire la pagina del fornitore. Riprovi tra un attimo.',
      ORDER_STATE_CONFLICT: 'Non è più possibile. Questa pagina mostra a che punto è l’ordine.',
      PURCHASE_SOLD: `${button.paidTitle}. ${button.paid}`,
      PAYER_IDENTITY_REQUIRED: 'Per questo importo il negozio deve sapere chi paga.',
      SPENDING_LIMIT_EXCEEDED:
        'Con questo ordine supererebbe quanto il negozio può accettare in 30 giorni. Contatti il negozio.',
      TRANSACTION_INVALID: 'Un hash di transazione è formato da 0x e 64 caratteri. Lo copi per intero.',
      TRANSACTION_UNKNOWN:
        'Nessuna rete di questo negozio conosce ancora questa transazione. Controlli l’hash o riprovi tra un minuto.',
      TRANSACTION_WAITING: 'La transazione è in arrivo. Comparirà qui appena la rete la conferma.',
      TRANSACTION_ELSEWHERE: 'Questa transazione non paga questo ordine. Controlli l’indirizzo, il token e la rete.',
      TRANSACTION_TOKEN:
        'Questa transazione ha inviato un altro token, non USDC. Il negozio lo vede e può restituirlo; lo contatti.',
      PAYMENT_NOT_RECEIVED:
        'Il fornitore non ha ancora segnalato un pagamento per questo ordine. Controlli nella sua app che sia andato a buon fine, o riprovi tra un minuto.',
      CROSS_SITE_REQUEST: 'Per la sua sicurezza questo passo deve partire da questa pagina. Riprovi.',
    },
    problem: 'Non ha funzionato. Riprovi tra un attimo.',
    unknownTitle: 'Ordine non trovato',
    unknown:
      'Controlli di aver copiato tutto il link, oppure scansioni di nuovo il codice del negozio. ' +
      'Se arrivava da un negozio, torni lì e ricominci il pagamento.',
    failedTitle: 'Qualcosa è andato storto da parte nostra',
    failed: 'Il pagamento non ne risente. Ricarichi questa pagina tra un attimo.',
  },
  order,
  identity: {
    title: 'Chi paga?',
    why: (merchant) => `Per questo importo ${merchant} deve sapere chi paga. I suoi dati sono conservati cifrati.`,
    email: 'E-mail',
    emailHint: 'Per notizie su questo pagamento, nient’altro.',
    firstName: 'Nome',
    lastName: 'Cognome',
    orCompany: 'Oppure, se paga un’azienda:',
    companyName: 'Nome dell’azienda',
    next: 'Continuare',
    faults: {
      emailMissing: 'Indichi un indirizzo e-mail.',
      emailWrong: 'Questo indirizzo e-mail non è completo; per esempio nome@esempio.it.',
      firstName: 'Indichi il suo nome, o quello di un’azienda qui sotto.',
      lastName: 'Indichi il suo cognome, o il nome di un’azienda qui sotto.',
    },
  },
  refund: {
    title: 'Il suo rimborso',
    from: (merchant) => `Rimborso da ${merchant}`,
    ask: (network) => `A quale indirizzo del portafoglio su ${network} deve andare?`,
    notTheSender: 'Non lo rimandiamo semplicemente al mittente: l’indirizzo può essere di una piattaforma di scambio.',
    proposed: (merchant) =>
      `${merchant} propone l’indirizzo qui sotto. Lo confermi solo se è il suo, altrimenti indichi il suo.`,
    passedOn: (merchant) =>
      `Grazie. ${merchant} controlla questo indirizzo, poi il denaro viene inviato. Può ancora cambiarlo.`,
    label: 'Indirizzo del portafoglio',
    hint: '0x e 40 caratteri. Lo copi dal suo portafoglio, non lo digiti.',
    next: 'Controllare l’indirizzo',
    checkTitle: 'È questo il suo indirizzo?',
    check: (network) =>
      `Confronti ogni carattere con il suo portafoglio. Il denaro inviato a un indirizzo errato su ${network} è perso.`,
    confirm: 'Sì, inviare lì',
    change: 'Cambiarlo',
    invalid: 'Questo indirizzo non è valido. Lo copi di nuovo dal suo portafoglio: 0x e 40 caratteri.',
    notYours: 'Questo indirizzo è del token o del negozio, non suo. Copi quello del suo portafoglio.',
    done: 'Grazie. Il denaro è in viaggio verso questo indirizzo.',
    sentTo: 'Inviato a',
    transaction: 'Transazione',
    dropped: (merchant) => `Questo rimborso non è stato eseguito. Si rivolga a ${merchant}.`,
    unknownTitle: 'Questo link non funziona',
    unknown: 'Apra di nuovo il link dell’e-mail, o ne chieda uno nuovo al negozio.',
  },
  kyc: {
    title: 'Verifica dell’identità',
    from: (merchant) => `Verifica dell’identità per ${merchant}`,
    order: 'Ordine',
    states: {
      pending: 'La sua identità deve essere verificata',
      closer: 'Serve una verifica più approfondita',
      approved: 'La sua identità è confermata',
      refused: 'Non è stato possibile confermare la sua identità',
    },
    why: (merchant) => `La legge obbliga ${merchant} a sapere chi paga questo importo.`,
    closerWhy: (merchant) => `Per acquisti più grandi ${merchant} deve verificare più a fondo chi paga.`,
    notCharged: 'Non è stato addebitato nulla.',
    byHand: (merchant) =>
      `${merchant} se ne occupa e le chiederà per e-mail ciò che serve, di solito la copia di un documento d’identità.`,
    prepare: 'Tenga pronti un documento d’identità e una fotocamera. Bastano pochi minuti.',
    again: 'Riprovi, per favore',
    comeBack: 'Questa pagina mostra il risultato da sola. Può chiuderla e tornare dal link dell’e-mail.',
    loading: 'La verifica si sta caricando…',
    failed: 'Non è stato possibile caricare la verifica. Non si perde nulla; riprovi tra un momento.',
    retry: 'Riprovare',
    noScript: 'La verifica richiede JavaScript e una fotocamera. Attivi JavaScript o apra il link in un altro browser.',
    approved: 'Grazie. Ora può proseguire.',
    toPayment: 'Continuare con il pagamento',
    startAgain: (merchant) =>
      `Il tempo per pagare questo ordine è scaduto. Ricominci da ${merchant}; con la stessa e-mail non sarà verificato di nuovo.`,
    paid: 'Un pagamento per questo ordine è arrivato o è in arrivo. La sua pagina mostra a che punto è.',
    toPaid: 'Vedere il pagamento',
    cannotPay: 'Questo ordine non può essere pagato.',
    mistaken: (merchant, shortCode) =>
      `Se pensa a un errore, si rivolga a ${merchant} e indichi l’ordine ${shortCode}.`,
    mailedTitle: 'Le abbiamo inviato un’e-mail',
    mailed: 'Apra il link che contiene per continuare la verifica, sul dispositivo che preferisce.',
    notMailed: (merchant, shortCode) =>
      `Se l’e-mail non arriva, ${merchant} può darle il link: indichi l’ordine ${shortCode}.`,
    unknownTitle: 'Questo link non funziona',
    unknown: 'Riapra il link dell’e-mail, o ne chieda uno nuovo al negozio.',
  },
  account: {
    verifyTitle: 'Confermi il suo indirizzo e-mail',
    verifyText: ({ email, role, company }) =>
      company === null
        ? `Con l’indirizzo ${email} è stato registrato un account con il ruolo «${role}».`
        : `Con l’indirizzo ${email} è stato registrato un account presso ${company} con il ruolo «${role}».`,
    verifyOnlyYou: 'Prema il pulsante solo se aspetta questo account.',
    verifyNotYou: 'Non lo aspetta? Chiuda questa pagina. Senza la sua conferma l’account non può fare nulla.',
    verifyButton: 'Conferma',
    verified: 'Il suo indirizzo è confermato.',
    verifiedStays: 'In questo browser è ancora connesso.',
    verifiedEnded: 'Acceda per continuare. Per sicurezza, gli accessi precedenti di questo account sono terminati.',
    verifiedChoose:
      'Scelga ora una password. Per sicurezza quella precedente non è più valida e gli accessi precedenti di questo account sono terminati.',
    goOn: 'Continua',
    taken:
      'Questo indirizzo ha ormai un account che l’invito non può sostituire. Acceda a quell’account o ne reimposti la password.',
    deadLink: 'Questo link non vale più. Chieda un nuovo messaggio.',
    resetTitle: 'Scelga una nuova password',
    resetLabel: 'Nuova password',
    resetHint: 'Da 12 a 128 caratteri con maiuscola, minuscola, cifra e carattere speciale.',
    resetButton: 'Salva',
    resetDone: 'La sua password è cambiata. Ora può accedere.',
    passwordFaults: {
      short: 'Usi almeno 12 caratteri.',
      long: 'Usi al massimo 128 caratteri.',
      upper: 'Aggiunga una maiuscola.',
      lower: 'Aggiunga una minuscola.',
      digit: 'Aggiunga una cifra.',
      special: 'Aggiunga un carattere speciale, ad esempio «!» o «?».',
      common:
        'Questa password è facile da indovinare. Scelga più parole senza legame tra loro, oppure ne faccia creare una da un gestore di password.',
    },
    logIn: 'Accedi',
    confirmTitle: 'Nell’app è stata chiesta una nuova password',
    confirmText: 'Prema solo se è stato lei. L’app potrà allora impostare la nuova password.',
    confirmButton: 'Sono stato io',
    confirmed: 'Grazie. Torni nell’app e scelga la password.',
  },
  busy: {
    title: 'Un momento, per favore',
    text: 'Dalla sua rete sono state aperte troppe pagine. Aspetti un minuto, poi riapra questa pagina.',
  },
  missing: {
    title: 'Questa pagina non esiste',
    text: 'Controlli di aver copiato tutto l’indirizzo, oppure torni indietro e segua di nuovo il link.',
  },
  unreadable: {
    title: 'Non riusciamo a leggere quanto ha scritto',
    text: 'È troppo lungo o contiene un carattere che non può essere salvato. Torni indietro, lo riscriva a mano e lo invii di nuovo.',
  },
  mailbox: {
    title: 'Casella di posta della sandbox',
    lead: 'Queste email sarebbero state inviate. Imposti SMTP_URL per inviarle.',
    to: 'A',
    show: 'Mostra',
    none: 'Ancora nessuna email.',
    withLayout: 'con la sua grafica',
  },
  mails,
  button,
  wallet,
  till,
}
