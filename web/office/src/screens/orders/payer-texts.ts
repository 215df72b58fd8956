import { defineTexts } from '../../texts/lang.ts'

export const payerTexts = defineTexts(
  {
    searchLabel: 'Search by code, reference, amount, transaction, provider id, or the payer’s whole email',
    ordersOf: (email: string) => `Orders of ${email}`,
    none: (email: string) => `No order of ${email}`,
    noneText:
      'Only the whole address is found, as the payer or your shop entered it. Payers whose data were erased are not found.',
    asText: 'Search references and codes instead',
  },
  {
    fr: {
      searchLabel:
        'Chercher par code, référence, montant, transaction, numéro du prestataire ou e-mail complet du payeur',
      ordersOf: (email) => `Commandes de ${email}`,
      none: (email) => `Aucune commande de ${email}`,
      noneText:
        'Seule l’adresse complète est trouvée, telle que le payeur ou votre boutique l’a saisie. Les payeurs dont les données ont été effacées ne sont pas trouvés.',
      asText: 'Chercher plutôt dans les références et les codes',
    },
    de: {
      searchLabel:
        'Nach Code, Referenz, Betrag, Transaktion, Anbieter-Nr. oder vollständiger E-Mail der zahlenden Person suchen',
      ordersOf: (email) => `Bestellungen von ${email}`,
      none: (email) => `Keine Bestellung von ${email}`,
      noneText:
        'Gefunden wird nur die vollständige Adresse, wie sie die zahlende Person oder Ihr Shop eingegeben hat. Wessen Daten gelöscht wurden, wird nicht gefunden.',
      asText: 'Stattdessen in Referenzen und Codes suchen',
    },
    es: {
      searchLabel:
        'Buscar por código, referencia, importe, transacción, n.º del proveedor o correo completo del pagador',
      ordersOf: (email) => `Pedidos de ${email}`,
      none: (email) => `Ningún pedido de ${email}`,
      noneText:
        'Solo se encuentra la dirección completa, tal como la introdujo el pagador o su tienda. Los pagadores cuyos datos se borraron no aparecen.',
      asText: 'Buscar en referencias y códigos',
    },
    it: {
      searchLabel:
        'Cerca per codice, riferimento, importo, transazione, n. del fornitore o e-mail completa di chi paga',
      ordersOf: (email) => `Ordini di ${email}`,
      none: (email) => `Nessun ordine di ${email}`,
      noneText:
        'Si trova solo l’indirizzo completo, così come l’ha inserito chi paga o il suo negozio. Chi ha fatto cancellare i propri dati non si trova.',
      asText: 'Cerca invece nei riferimenti e nei codici',
    },
  },
)
