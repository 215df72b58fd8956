import { defineTexts } from '../../texts/lang.ts'

export const payerTexts = defineTexts(
  {
    searchLabel: 'Search by code, reference, the payer’s whole email, amount, transaction or provider id',
    ordersOf: (email: string) => `Orders of ${email}`,
    none: (email: string) => `No order of ${email}`,
    noneText:
      'Only the whole address is found, as the payer or your shop entered it. Payers whose data were erased are not found.',
    asText: 'Search references and codes instead',
    incomplete:
      'Some payers are still being indexed after an upgrade. Orders may be missing here: look again in some minutes.',
  },
  {
    fr: {
      searchLabel:
        'Chercher par code, référence, e-mail complet du payeur, montant, transaction ou numéro du prestataire',
      ordersOf: (email) => `Commandes de ${email}`,
      none: (email) => `Aucune commande de ${email}`,
      noneText:
        'Seule l’adresse complète est trouvée, telle que le payeur ou votre boutique l’a saisie. Les payeurs dont les données ont été effacées ne sont pas trouvés.',
      asText: 'Chercher plutôt dans les références et les codes',
      incomplete:
        'Après une mise à jour, certains payeurs sont encore en cours d’indexation. Des commandes peuvent manquer ici : réessayez dans quelques minutes.',
    },
    de: {
      searchLabel:
        'Nach Code, Referenz, vollständiger E-Mail der zahlenden Person, Betrag, Transaktion oder Anbieter-Nr. suchen',
      ordersOf: (email) => `Bestellungen von ${email}`,
      none: (email) => `Keine Bestellung von ${email}`,
      noneText:
        'Gefunden wird nur die vollständige Adresse, wie sie die zahlende Person oder Ihr Shop eingegeben hat. Wessen Daten gelöscht wurden, wird nicht gefunden.',
      asText: 'Stattdessen in Referenzen und Codes suchen',
      incomplete:
        'Nach einem Update werden manche Zahlenden noch indexiert. Hier können Bestellungen fehlen: Sehen Sie in einigen Minuten noch einmal nach.',
    },
    es: {
      searchLabel:
        'Buscar por código, referencia, correo completo del pagador, importe, transacción o n.º del proveedor',
      ordersOf: (email) => `Pedidos de ${email}`,
      none: (email) => `Ningún pedido de ${email}`,
      noneText:
        'Solo se encuentra la dirección completa, tal como la introdujo el pagador o su tienda. Los pagadores cuyos datos se borraron no aparecen.',
      asText: 'Buscar en referencias y códigos',
      incomplete:
        'Tras una actualización, algunos pagadores aún se están indexando. Aquí pueden faltar pedidos: vuelva a mirar en unos minutos.',
    },
    it: {
      searchLabel:
        'Cerca per codice, riferimento, e-mail completa di chi paga, importo, transazione o n. del fornitore',
      ordersOf: (email) => `Ordini di ${email}`,
      none: (email) => `Nessun ordine di ${email}`,
      noneText:
        'Si trova solo l’indirizzo completo, così come l’ha inserito chi paga o il suo negozio. Chi ha fatto cancellare i propri dati non si trova.',
      asText: 'Cerca invece nei riferimenti e nei codici',
      incomplete:
        'Dopo un aggiornamento alcuni dati di chi paga sono ancora in fase di indicizzazione. Qui possono mancare ordini: riprovi tra qualche minuto.',
    },
  },
)
