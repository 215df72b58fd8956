import { countLines, type MailTexts, type RoleWords, roleWord, someOf } from '../mail-texts.ts'

const notYou = 'Se non è stato lei, cambi subito la password e avvisi il gestore di questo servizio.'

const roles: RoleWords = {
  SuperAdmin: 'Gestore',
  SuperManager: 'Responsabile di più aziende',
  Manager: 'Responsabile',
  Association: 'Associazione',
  Cashier: 'Cassiere',
  Observer: 'Osservatore',
  SimpleUser: 'Cliente',
  Service: 'Macchina',
}

export const it: MailTexts = {
  greeting: (name) => `Buongiorno ${name},`,
  closing: 'Questo è un messaggio automatico. Le risposte non vengono lette.',
  help: ({ merchant, contact, shortCode }) =>
    `Ha domande? Contatti ${merchant}: ${contact}. Indichi il numero d’ordine ${shortCode}.`,
  screens: { home: 'Apri il back office', account: 'Controlla il mio account', keys: 'Vedi le chiavi API' },
  roles,
  kinds: {
    verifyEmail: ({ role, company, url }) => ({
      subject: 'Confermi il suo indirizzo e-mail',
      paragraphs: someOf([
        role !== '' &&
          (company === ''
            ? `Con questo indirizzo è stato registrato un account con il ruolo «${roleWord(roles, role)}».`
            : `Con questo indirizzo è stato registrato un account presso ${company} con il ruolo «${roleWord(roles, role)}».`),
        'Confermi solo se aspetta questo account. Fino ad allora l’account mostra solo il proprio profilo.',
      ]),
      button: { label: 'Conferma il mio indirizzo', url },
      note: 'Il link vale 48 ore. Se non lo aspetta, non confermi e ignori questo messaggio: senza la sua conferma l’account non può fare nulla.',
    }),
    loginCode: ({ code }) => ({
      subject: `${code} è il suo codice di accesso`,
      paragraphs: ['Scriva questo codice per completare l’accesso:'],
      code,
      note: `Vale 5 minuti e una sola volta. Non lo dia a nessuno. ${notYou}`,
    }),
    confirmCode: ({ code }) => ({
      subject: `${code} è il suo codice di conferma`,
      paragraphs: ['Scriva questo codice per confermare l’operazione in corso nel suo account:'],
      code,
      note: `Vale 5 minuti e una sola volta. Non lo dia a nessuno. ${notYou}`,
    }),
    resetLink: ({ url }) => ({
      subject: 'Scelga una nuova password',
      paragraphs: ['Qualcuno, probabilmente lei, ha chiesto una nuova password per questo account.'],
      button: { label: 'Scegli una password', url },
      note: 'Il link vale 30 minuti e una sola volta. Se non l’ha chiesto, la sua password resta com’è.',
    }),
    resetCode: ({ url, code }) => ({
      subject: `${code} è il suo codice per una nuova password`,
      paragraphs: [
        'Qualcuno, probabilmente lei, ha chiesto nell’app una nuova password. Scriva lì questo codice, oppure usi il pulsante:',
      ],
      code,
      button: { label: 'Sono stato io', url },
      note: 'Entrambi valgono 30 minuti. Se non l’ha chiesto, non prema il pulsante: la sua password resta com’è.',
    }),
    passwordChanged: () => ({
      subject: 'La sua password è cambiata',
      paragraphs: ['La password del suo account è appena cambiata e tutti i dispositivi sono stati disconnessi.'],
      note: notYou,
    }),
    invitation: ({ inviter, company, replaces, url }) => ({
      subject: `${company} la invita`,
      paragraphs: someOf([
        `${inviter} ha creato un account per lei presso ${company}. Scelga una password per usarlo.`,
        replaces !== '' &&
          'Questo indirizzo ha già un account qui. Quando sceglierà la password, quell’account verrà chiuso e il nuovo ne prenderà il posto.',
      ]),
      button: { label: 'Scegli una password', url },
      note:
        replaces === ''
          ? 'Il link vale 7 giorni e una sola volta.'
          : `Il link vale 7 giorni e una sola volta. Se vuole tenere il vecchio account o non conosce ${company}, ignori questo messaggio.`,
    }),
    approvalNeeded: ({ applicant, applicantEmail, role, company, url }) => ({
      subject: `${applicant} chiede di entrare in ${company}`,
      paragraphs: [
        `${applicant} (${applicantEmail}) si è registrato presso ${company} con il ruolo «${roleWord(roles, role)}». Senza la sua approvazione l’account non può fare nulla.`,
      ],
      button: { label: 'Vedi', url },
      note: 'Se non conosce questa persona, non deve fare nulla.',
    }),
    accountApproved: ({ company }) => ({
      subject: 'Il suo account è approvato',
      paragraphs: [`Un responsabile di ${company} ha approvato il suo account. Ora può lavorarci.`],
    }),
    companyApproved: ({ company }) => ({
      subject: `${company} è approvata`,
      paragraphs: [`Il gestore ha approvato ${company}. Ora può creare ordini.`],
    }),
    authenticatorAdded: () => ({
      subject: 'È stata aggiunta un’app di autenticazione',
      paragraphs: ['Da ora l’accesso al suo account richiede un codice della sua app di autenticazione.'],
      note: notYou,
    }),
    deviceLogin: ({ computer, address }) => ({
      subject: 'Un programma ha effettuato l’accesso',
      paragraphs: [
        `Ha confermato l’accesso di «${computer}», richiesto dall’indirizzo ${address}. Il programma ora possiede una chiave API della sua azienda.`,
        'Se non lo riconosce, revochi la chiave nel back office, alla voce Chiavi API, e cambi la password.',
      ],
    }),
    passkeyAdded: ({ passkey }) => ({
      subject: 'È stata aggiunta una passkey',
      paragraphs: [`La passkey «${passkey}» può ora confermare il suo accesso.`],
      note: notYou,
    }),
    passkeyRemoved: ({ passkey }) => ({
      subject: 'È stata rimossa una passkey',
      paragraphs: [`La passkey «${passkey}» non conferma più il suo accesso.`],
      note: notYou,
    }),
    authenticatorRemoved: () => ({
      subject: 'La sua app di autenticazione è stata rimossa',
      paragraphs: ['Da ora i codici per accedere al suo account arrivano per e-mail.'],
      note: notYou,
    }),
    secondFactorReset: ({ app, passkeys }) => ({
      subject: 'Il suo secondo fattore è stato reimpostato',
      paragraphs: [
        ...(app === '' ? [] : ['La sua app di autenticazione non conferma più il suo accesso.']),
        ...(passkeys === '' ? [] : [`Queste passkey non confermano più il suo accesso: ${passkeys}.`]),
        'Da ora i codici per accedere al suo account arrivano per e-mail.',
      ],
      note: notYou,
    }),
    recoveryCodeUsed: ({ left }) => ({
      subject: 'È stato usato un codice di recupero',
      paragraphs: [`Qualcuno ha avuto accesso al suo account con un codice di recupero. Codici rimasti: ${left}.`],
      note: notYou,
    }),
    sessionStolen: () => ({
      subject: 'Una sessione del suo account è stata chiusa',
      paragraphs: [
        'Un vecchio gettone di sessione del suo account è stato usato una seconda volta; abbiamo chiuso quella sessione. Acceda di nuovo.',
      ],
      note: notYou,
    }),
  },

  kycCheck: {
    subject: ({ merchant }) => `${merchant} deve verificare la sua identità`,
    paragraphs: ({ merchant, shortCode, closer }) => [
      closer
        ? `Per acquisti più grandi ${merchant} deve verificare più a fondo chi paga (ordine ${shortCode}).`
        : `Per il suo ordine ${shortCode}, ${merchant} è tenuto per legge a verificare la sua identità.`,
      'La pagina di questo link dice che cosa serve e a che punto è la verifica.',
    ],
    button: 'Apri la verifica',
  },
  receipt: {
    subject: ({ merchant }) => `La sua ricevuta di ${merchant}`,
    paragraphs: ({ merchant, amount, shortCode }) => [
      `${merchant} ha ricevuto il suo pagamento di ${amount} per l’ordine ${shortCode}.`,
      'La ricevuta si può stampare e chiunque può verificare che è autentica.',
    ],
    button: 'Apri la ricevuta',
  },
  payLink: {
    subject: ({ merchant, amount, isReminder }) =>
      isReminder ? `Promemoria: ${amount} da pagare a ${merchant}` : `${merchant} le chiede di pagare ${amount}`,
    paragraphs: ({ merchant, shortCode, amount, purpose, until, isReminder }) =>
      someOf([
        isReminder
          ? `Il suo ordine ${shortCode} presso ${merchant}, per ${amount}, non è ancora pagato.`
          : `${merchant} le chiede di pagare ${amount} (ordine ${shortCode}).`,
        purpose !== null && `Causale: ${purpose}`,
        `Può pagare fino al ${until}. La pagina mostra tutti i modi di pagare e il prezzo in USDC.`,
        'Non conosce questo negozio o non attende nulla da esso? Ignori questa e-mail: non le viene addebitato nulla.',
      ]),
    button: 'Paga ora',
  },
  saleMails: {
    each: {
      subject: ({ amount, shortCode }) => `Vendita di ${amount} (ordine ${shortCode})`,
      paragraphs: ({ companyName, firstName, shortCode, alias, amount, received, channel }) =>
        someOf([
          `Buongiorno ${firstName},`,
          `l’ordine ${shortCode} di ${companyName}, per ${amount}, è stato pagato.`,
          `Ricevuto: ${received} USDC.`,
          channel !== null && `Pagato con: ${channel}.`,
          alias !== null && `Il suo riferimento: ${alias}`,
        ]),
      button: 'Apri l’ordine',
    },
    rest: {
      subject: ({ sales, companyName }) => `Altre ${sales} vendite presso ${companyName}`,
      paragraphs: ({ companyName, firstName, sales, amounts, most }) => [
        `Buongiorno ${firstName},`,
        `dall’ultima e-mail ci sono state altre ${sales} vendite presso ${companyName}: ${amounts}.`,
        `Dopo ${most} e-mail in un’ora riassumiamo in una sola il resto di quell’ora.`,
      ],
      button: 'Vedi gli ordini',
    },
    note: 'Ha scelto queste e-mail nel back office, in «Il suo account». Può disattivarle lì.',
    channels: { crypto: 'Wallet (USDC)', 'whitepay-non-custody': 'Whitepay (qualsiasi wallet)' },
  },
  refundAddress: {
    subject: ({ merchant }) => `Dove deve inviare il rimborso ${merchant}?`,
    paragraphs: ({ merchant, amount, network, shortCode }) => [
      `${merchant} le rimborsa ${amount} per il suo ordine ${shortCode}.`,
      `Indichi l’indirizzo del wallet su ${network} che deve ricevere il denaro. L’indirizzo da cui ha pagato non viene usato automaticamente: può appartenere a una piattaforma di scambio.`,
    ],
    button: 'Indica il mio indirizzo',
  },
  emailChanged: {
    subject: ({ shortCode }) => `Il suo indirizzo e-mail per l’ordine ${shortCode} è stato cambiato`,
    paragraphs: ({ merchant, shortCode }) => [
      `${merchant} ha sostituito il suo indirizzo e-mail per l’ordine ${shortCode} con un altro.`,
      'Le domande su un rimborso arrivano ancora qui. Se non l’ha chiesto lei, avvisi il negozio.',
    ],
  },
  webhookFailures: {
    subject: ({ companyName }) => `Alcuni webhook di ${companyName} non sono stati consegnati`,
    paragraphs: (facts) =>
      someOf([
        `Buongiorno ${facts.firstName},`,
        facts.failed > 0 &&
          `il ${facts.day} il suo server non ha accettato ${facts.failed} dei nostri messaggi, benché ognuno sia stato tentato cinque volte.`,
        facts.parked > 0 &&
          `Messaggi messi da parte il ${facts.day}: ${facts.parked}. Il nostro stesso servizio si è interrotto a ogni invio; il suo server potrebbe averli ricevuti.`,
        'Nessun ordine è perso: guardi che cosa non è riuscito e lo rinvii con un clic, oppure legga GET /api/next/events dal suo ultimo cursore.',
      ]),
    button: 'Vedere gli errori',
  },
  askedBack: {
    subject: ({ shortCode }) => `Un cliente chiede indietro del denaro (ordine ${shortCode})`,
    paragraphs: ({ firstName, shortCode, amounts }) => [
      `Buongiorno ${firstName},`,
      `il cliente dell’ordine ${shortCode} chiede la restituzione di un importo non attribuito all’ordine: ${amounts}.`,
      'Il denaro attende la sua decisione: accettarlo, rimborsarlo o lasciarlo com’è. Prima non si muove nulla.',
    ],
    button: 'Vedere il denaro',
  },
  waiting: {
    subject: ({ companyName }) => `${companyName}: una decisione la attende`,
    paragraphs: (facts) => [
      `Buongiorno ${facts.firstName},`,
      `dal ${facts.day} questo attende la sua decisione:`,
      countLines([
        [facts.mispayments, 'pagamento non corrisponde al suo ordine', 'pagamenti non corrispondono al loro ordine'],
        [
          facts.unmatched,
          'trasferimento non corrisponde a nessun ordine',
          'trasferimenti non corrispondono a nessun ordine',
        ],
        [
          facts.refunds,
          'rimborso attende l’indirizzo di chi ha pagato',
          'rimborsi attendono l’indirizzo di chi ha pagato',
        ],
        [facts.byHand, 'rimborso va inviato a mano', 'rimborsi vanno inviati a mano'],
      ]),
      'Nulla è perso. Finché non decide, i suoi clienti vedono che il denaro è arrivato e che decide lei.',
    ],
    button: 'Vedere che cosa attende',
  },
  restored: {
    subject: ({ companyName }) => `Controlli le impostazioni di ${companyName}: sono quelle di un backup`,
    paragraphs: (facts) => [
      `Buongiorno ${facts.firstName},`,
      `il nostro database è stato ripristinato. Tutto presso ${facts.companyName} è come il ${facts.at}; ciò che è stato cambiato dopo non vale più.`,
      'Le chiavi API che ha revocato da allora funzionano di nuovo, e le persone che ha rimosso possono di nuovo accedere. Le revochi e le rimuova ancora una volta nel back office. Tutti sono stati disconnessi.',
      'Se da allora ha sostituito il segreto dei webhook, vale di nuovo quello vecchio e il suo negozio rifiuta i nostri webhook: lo sostituisca ancora una volta sotto Webhook e dia quello nuovo al suo negozio. Anche le password cambiate da allora sono di nuovo quelle vecchie: chi ha cambiato la sua dovrebbe cambiarla ancora.',
      'Anche l’indirizzo per i pagamenti, i suoi wallet e i suoi conti presso le piattaforme sono quelli di allora. Non si paga nulla prima che lei confermi l’indirizzo: lo guardi sotto Negozio, spunti che è giusto o ne indichi un altro, e salvi con un nuovo codice.',
    ],
  },
  moneyChange: {
    kinds: {
      payout: ({ company, before, after }) => ({
        subject: `L’indirizzo di accredito di ${company} è stato cambiato`,
        text: `Da ora gli accrediti a ${company} vanno a un altro indirizzo. Prima: ${before ?? 'nessuno'}. Ora: ${after ?? 'nessuno'}.`,
      }),
      payoutConfirmed: ({ company, address }) => ({
        subject: `L’indirizzo di accredito di ${company} è stato confermato`,
        text: `Il servizio è stato ripristinato da un backup, e l’indirizzo di accredito di allora è stato confermato. Gli accrediti a ${company} vanno lì: ${address}.`,
      }),
      refundRules: ({ company }) => ({
        subject: `Le regole per i rimborsi di ${company} sono state cambiate`,
        text: 'È cambiato quanto ogni ruolo può rimborsare, chi deve approvare un rimborso o da quale importo serve un secondo fattore. Il registro mostra le regole precedenti e quelle nuove.',
      }),
      account: ({ company, channel, isRemoved, before, after }) => ({
        subject: `Il conto che riceve i pagamenti a ${company} è stato cambiato`,
        text:
          (isRemoved
            ? `Il Suo conto o portafoglio per «${channel}» è stato rimosso: i clienti pagano ora sul conto del gestore.`
            : `Il Suo conto o portafoglio per «${channel}» è stato salvato di nuovo: da ora il denaro dei clienti arriva lì.`) +
          ` Prima: ${before ?? 'il conto del gestore'}. Ora: ${after ?? 'il conto del gestore'}.`,
      }),
      apiKey: ({ company, key, scopes }) => ({
        subject: `Una nuova chiave API di ${company} può muovere denaro`,
        text: `È stata creata la chiave API «${key}». Permette: ${scopes}.`,
      }),
      webhookSecret: ({ company }) => ({
        subject: `Il segreto dei webhook di ${company} è stato sostituito`,
        text: 'Il Suo server deve verificare i nostri webhook con il nuovo segreto. Chi lo conosce può scrivere webhook che sembrano nostri.',
      }),
      access: ({ company, person, role, isDisabled }) => ({
        subject: `Un accesso a ${company} è stato cambiato`,
        text: isDisabled
          ? `${person} non può più accedere.`
          : `${person} ha accesso con il ruolo «${roleWord(roles, role)}».`,
      }),
      attached: ({ company, person }) => ({
        subject: `${person} può ora agire per ${company}`,
        text: `Il gestore ha dato a ${person} accesso a ${company} con il ruolo «${roles.SuperManager}».`,
      }),
      secondFactor: ({ person }) => ({
        subject: `Il secondo fattore di ${person} è stato rimosso`,
        text: `${person} non ha più bisogno di un’app di autenticazione né di una passkey: i codici arrivano per e-mail.`,
      }),
    },
    by: ({ by, at, from }) => `Fatto da ${by}, il ${at}${from === null ? '' : `, dall’indirizzo ${from}`}.`,
    toDo:
      'Se nessuno di voi lo voleva: lo annulli nel back office, disattivi sotto «Persone» l’account che l’ha fatto e ' +
      'avvisi subito il gestore di questo servizio, che può fermare gli accrediti.',
    more: ({ names, count }) => `${names} e altri ${count}`,
    last: 'È successo molte volte in un’ora. Le prossime modifiche di questo tipo potrebbero non arrivare per e-mail: segua il registro.',
    button: 'Apri il registro',
  },
}
