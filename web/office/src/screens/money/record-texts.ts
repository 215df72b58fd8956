import { defineTexts } from '../../texts/lang.ts'

export const recordTexts = defineTexts(
  {
    title: 'Record the refund',
    text: 'Look up in the provider’s console how much it sent back. What you record lowers what the company is owed and what is left to refund, and closes this difference. No money moves.',
    besides: 'Only what the console sent besides the refunds that the order already shows. It cannot be taken back.',
    order: 'Order',
    amount: 'Amount in USDC',
    rest: (left: string) => `At most ${left}, all that is left of the order.`,
    reason: 'Where you looked it up',
    reasonHint: 'The company sees it with the refund.',
    reference: 'The provider’s number of the refund',
    button: 'Record',
    buttonOf: (sum: string) => `Record ${sum}`,
    recorded: 'The refund is recorded. Refunds and payouts go on unless something else is open.',
    nothing:
      'Nothing can be recorded now: another refund of the order is under way, or nothing is left of it. Look at the order.',
  },
  {
    fr: {
      title: 'Enregistrer le remboursement',
      text: 'Vérifiez dans la console du prestataire combien elle a remboursé. Le montant enregistré réduit ce qui est dû à l’entreprise et ce qui reste à rembourser, et clôt cet écart. Aucun argent n’est transféré.',
      besides:
        'Seulement ce que la console a envoyé en plus des remboursements déjà affichés sur la commande. Cette opération est irréversible.',
      order: 'Commande',
      amount: 'Montant en USDC',
      rest: (left) => `Au plus ${left}, tout ce qui reste de la commande.`,
      reason: 'Où vous l’avez vérifié',
      reasonHint: 'L’entreprise le voit avec le remboursement.',
      reference: 'Numéro du remboursement chez le prestataire',
      button: 'Enregistrer',
      buttonOf: (sum) => `Enregistrer ${sum}`,
      recorded: 'Le remboursement est enregistré. Tout reprend si rien d’autre n’est ouvert.',
      nothing:
        'Rien ne peut être enregistré pour l’instant : un autre remboursement de la commande est en cours, ou il n’en reste rien. Consultez la commande.',
    },
    de: {
      title: 'Erstattung nachtragen',
      text: 'Sehen Sie in der Konsole des Anbieters nach, wie viel zurückging. Der eingetragene Betrag mindert, was dem Unternehmen zusteht und was noch erstattet werden kann, und schließt diese Abweichung. Es fließt kein Geld.',
      besides:
        'Nur was die Konsole zusätzlich zu den Erstattungen gesendet hat, die bei der Bestellung schon stehen. Das lässt sich nicht zurücknehmen.',
      order: 'Bestellung',
      amount: 'Betrag in USDC',
      rest: (left) => `Höchstens ${left}, der ganze Rest der Bestellung.`,
      reason: 'Wo Sie nachgesehen haben',
      reasonHint: 'Das Unternehmen sieht es bei der Erstattung.',
      reference: 'Nummer der Erstattung beim Anbieter',
      button: 'Nachtragen',
      buttonOf: (sum) => `${sum} nachtragen`,
      recorded: 'Die Erstattung ist nachgetragen. Alles geht weiter, wenn sonst nichts offen ist.',
      nothing:
        'Jetzt lässt sich nichts nachtragen: Eine andere Erstattung der Bestellung läuft noch, oder von ihr ist nichts übrig. Sehen Sie sich die Bestellung an.',
    },
    es: {
      title: 'Anotar el reembolso',
      text: 'Consulte en la consola del proveedor cuánto devolvió. Lo que anote reduce lo que se debe a la empresa y lo que queda por reembolsar, y cierra esta diferencia. No se mueve dinero.',
      besides: 'Solo lo que la consola envió aparte de los reembolsos que el pedido ya muestra. No se puede deshacer.',
      order: 'Pedido',
      amount: 'Importe en USDC',
      rest: (left) => `Como máximo ${left}, todo lo que queda del pedido.`,
      reason: 'Dónde lo ha consultado',
      reasonHint: 'La empresa lo ve junto al reembolso.',
      reference: 'Número del reembolso en el proveedor',
      button: 'Anotar',
      buttonOf: (sum) => `Anotar ${sum}`,
      recorded: 'El reembolso está anotado. Todo sigue si no hay nada más abierto.',
      nothing:
        'Ahora no se puede anotar nada: hay otro reembolso del pedido en curso, o no queda nada de él. Consulte el pedido.',
    },
    it: {
      title: 'Registrare il rimborso',
      text: 'Verifichi nella console del fornitore quanto è stato restituito. L’importo registrato riduce quanto è dovuto all’azienda e quanto resta da rimborsare, e chiude questa differenza. Nessun denaro viene trasferito.',
      besides:
        'Solo ciò che la console ha inviato oltre ai rimborsi che l’ordine mostra già. L’operazione non si può annullare.',
      order: 'Ordine',
      amount: 'Importo in USDC',
      rest: (left) => `Al massimo ${left}, tutto ciò che resta dell’ordine.`,
      reason: 'Dove lo ha verificato',
      reasonHint: 'L’azienda lo vede insieme al rimborso.',
      reference: 'Numero del rimborso presso il fornitore',
      button: 'Registrare',
      buttonOf: (sum) => `Registrare ${sum}`,
      recorded: 'Il rimborso è registrato. Tutto riprende se non c’è altro di aperto.',
      nothing:
        'Ora non si può registrare nulla: un altro rimborso dell’ordine è in corso, o dell’ordine non resta nulla. Guardi l’ordine.',
    },
  },
)
