import { defineTexts } from '../../texts/lang.ts'

export const texts = defineTexts(
  {
    hello: (name: string) => `Hello, ${name}`,
    today: 'Received today',
    month: 'Received in 30 days',
    refunded: 'Refunded in 30 days',
    ofToday: (amount: string) => `${amount} today`,
    paid: (count: string) => `${count} paid`,
    needs: 'Needs you',
    open: 'Waits for a decision',
    calm: 'Nothing waits for you.',
    mispayments: (count: number) => (count === 1 ? '1 payment to decide on' : `${count} payments to decide on`),
    unmatched: (count: number) => (count === 1 ? '1 transfer fits no order' : `${count} transfers fit no order`),
    refunds: (count: number) => (count === 1 ? '1 refund waits' : `${count} refunds wait`),
    deliveries: (count: number) => (count === 1 ? '1 webhook failed' : `${count} webhooks failed`),
    identity: (count: number) => (count === 1 ? '1 identity check is open' : `${count} identity checks are open`),
    screenings: (count: number) =>
      count === 1 ? '1 address waits for a decision' : `${count} addresses wait for a decision`,
    settlements: (count: number) => (count === 1 ? '1 payout is under way' : `${count} payouts are under way`),
    companies: (count: number) =>
      count === 1 ? '1 company waits for approval' : `${count} companies wait for approval`,
    byDay: 'Received by day',
    byChannel: 'By channel, 30 days',
    day: 'Day',
    received: 'Received',
    table: 'Show as a table',
    latest: 'Latest orders',
    showAll: 'Show all orders',
    none: 'Nothing was paid in the last 30 days.',
  },
  {
    fr: {
      hello: (name) => `Bonjour, ${name}`,
      today: 'Reçu aujourd’hui',
      month: 'Reçu en 30 jours',
      refunded: 'Remboursé en 30 jours',
      ofToday: (amount) => `dont ${amount} aujourd’hui`,
      paid: (count) => `${count} payées`,
      needs: 'À faire',
      open: 'En attente d’une décision',
      calm: 'Rien ne vous attend.',
      mispayments: (count) => (count === 1 ? '1 paiement à trancher' : `${count} paiements à trancher`),
      unmatched: (count) =>
        count === 1
          ? '1 transfert ne correspond à aucune commande'
          : `${count} transferts ne correspondent à aucune commande`,
      refunds: (count) => (count === 1 ? '1 remboursement en attente' : `${count} remboursements en attente`),
      deliveries: (count) => (count === 1 ? '1 webhook en échec' : `${count} webhooks en échec`),
      identity: (count) =>
        count === 1 ? '1 vérification d’identité ouverte' : `${count} vérifications d’identité ouvertes`,
      screenings: (count) =>
        count === 1 ? '1 adresse attend une décision' : `${count} adresses attendent une décision`,
      settlements: (count) => (count === 1 ? '1 versement en cours' : `${count} versements en cours`),
      companies: (count) =>
        count === 1 ? '1 société attend votre approbation' : `${count} sociétés attendent votre approbation`,
      byDay: 'Reçu par jour',
      byChannel: 'Par canal, 30 jours',
      day: 'Jour',
      received: 'Reçu',
      table: 'Afficher en tableau',
      latest: 'Dernières commandes',
      showAll: 'Voir toutes les commandes',
      none: 'Rien n’a été payé ces 30 derniers jours.',
    },
    de: {
      hello: (name) => `Guten Tag, ${name}`,
      today: 'Heute eingegangen',
      month: 'In 30 Tagen eingegangen',
      refunded: 'In 30 Tagen erstattet',
      ofToday: (amount) => `davon heute ${amount}`,
      paid: (count) => `${count} bezahlt`,
      needs: 'Zu erledigen',
      open: 'Wartet auf eine Entscheidung',
      calm: 'Nichts wartet auf Sie.',
      mispayments: (count) =>
        count === 1 ? '1 Zahlung wartet auf Ihre Entscheidung' : `${count} Zahlungen warten auf Ihre Entscheidung`,
      unmatched: (count) =>
        count === 1 ? '1 Überweisung passt zu keiner Bestellung' : `${count} Überweisungen passen zu keiner Bestellung`,
      refunds: (count) => (count === 1 ? '1 Erstattung wartet' : `${count} Erstattungen warten`),
      deliveries: (count) => (count === 1 ? '1 Webhook fehlgeschlagen' : `${count} Webhooks fehlgeschlagen`),
      identity: (count) => (count === 1 ? '1 Identitätsprüfung offen' : `${count} Identitätsprüfungen offen`),
      screenings: (count) =>
        count === 1 ? 'Über 1 Adresse ist zu entscheiden' : `Über ${count} Adressen ist zu entscheiden`,
      settlements: (count) => (count === 1 ? '1 Auszahlung läuft' : `${count} Auszahlungen laufen`),
      companies: (count) =>
        count === 1 ? '1 Firma wartet auf Ihre Freigabe' : `${count} Firmen warten auf Ihre Freigabe`,
      byDay: 'Eingang nach Tag',
      byChannel: 'Nach Zahlungsweg, 30 Tage',
      day: 'Tag',
      received: 'Eingegangen',
      table: 'Als Tabelle zeigen',
      latest: 'Neueste Bestellungen',
      showAll: 'Alle Bestellungen',
      none: 'In den letzten 30 Tagen wurde nichts bezahlt.',
    },
    es: {
      hello: (name) => `Hola, ${name}`,
      today: 'Recibido hoy',
      month: 'Recibido en 30 días',
      refunded: 'Reembolsado en 30 días',
      ofToday: (amount) => `${amount} hoy`,
      paid: (count) => `${count} pagados`,
      needs: 'Pendiente de usted',
      open: 'Espera una decisión',
      calm: 'No hay nada pendiente.',
      mispayments: (count) => (count === 1 ? '1 pago por decidir' : `${count} pagos por decidir`),
      unmatched: (count) =>
        count === 1
          ? '1 transferencia no corresponde a ningún pedido'
          : `${count} transferencias no corresponden a ningún pedido`,
      refunds: (count) => (count === 1 ? '1 reembolso en espera' : `${count} reembolsos en espera`),
      deliveries: (count) => (count === 1 ? '1 webhook ha fallado' : `${count} webhooks han fallado`),
      identity: (count) =>
        count === 1 ? '1 verificación de identidad abierta' : `${count} verificaciones de identidad abiertas`,
      screenings: (count) =>
        count === 1 ? '1 dirección espera una decisión' : `${count} direcciones esperan una decisión`,
      settlements: (count) => (count === 1 ? '1 liquidación en curso' : `${count} liquidaciones en curso`),
      companies: (count) =>
        count === 1 ? '1 empresa espera su aprobación' : `${count} empresas esperan su aprobación`,
      byDay: 'Recibido por día',
      byChannel: 'Por canal, 30 días',
      day: 'Día',
      received: 'Recibido',
      table: 'Ver como tabla',
      latest: 'Últimos pedidos',
      showAll: 'Ver todos los pedidos',
      none: 'No se ha pagado nada en los últimos 30 días.',
    },
    it: {
      hello: (name) => `Salve, ${name}`,
      today: 'Ricevuto oggi',
      month: 'Ricevuto in 30 giorni',
      refunded: 'Rimborsato in 30 giorni',
      ofToday: (amount) => `di cui ${amount} oggi`,
      paid: (count) => `${count} pagati`,
      needs: 'Da fare',
      open: 'In attesa di una decisione',
      calm: 'Nulla in attesa.',
      mispayments: (count) => (count === 1 ? '1 pagamento da decidere' : `${count} pagamenti da decidere`),
      unmatched: (count) =>
        count === 1
          ? '1 trasferimento non corrisponde a nessun ordine'
          : `${count} trasferimenti non corrispondono a nessun ordine`,
      refunds: (count) => (count === 1 ? '1 rimborso in attesa' : `${count} rimborsi in attesa`),
      deliveries: (count) => (count === 1 ? '1 webhook non riuscito' : `${count} webhook non riusciti`),
      identity: (count) => (count === 1 ? '1 verifica d’identità aperta' : `${count} verifiche d’identità aperte`),
      screenings: (count) =>
        count === 1 ? '1 indirizzo attende una decisione' : `${count} indirizzi attendono una decisione`,
      settlements: (count) => (count === 1 ? '1 accredito in corso' : `${count} accrediti in corso`),
      companies: (count) =>
        count === 1 ? '1 azienda attende la sua approvazione' : `${count} aziende attendono la sua approvazione`,
      byDay: 'Ricevuto per giorno',
      byChannel: 'Per canale, 30 giorni',
      day: 'Giorno',
      received: 'Ricevuto',
      table: 'Mostra come tabella',
      latest: 'Ultimi ordini',
      showAll: 'Tutti gli ordini',
      none: 'Negli ultimi 30 giorni non è stato pagato nulla.',
    },
  },
)
