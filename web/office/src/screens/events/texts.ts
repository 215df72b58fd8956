import { defineTexts } from '../../texts/lang.ts'

export const texts = defineTexts(
  {
    title: 'Events',
    lead: 'Everything that happened to your orders, newest first, whether you receive a webhook for it or not.',
    kind: 'Kind of event',
    empty: 'No events yet',
    emptyText: 'Create an order, and its first event shows up here.',
    older: 'Show older events',
    open: 'Show the order',
  },
  {
    fr: {
      title: 'Événements',
      lead: 'Tout ce qui est arrivé à vos commandes, du plus récent au plus ancien, avec ou sans webhook.',
      kind: 'Type d’événement',
      empty: 'Aucun événement pour l’instant',
      emptyText: 'Créez une commande : son premier événement apparaîtra ici.',
      older: 'Afficher les événements plus anciens',
      open: 'Voir la commande',
    },
    de: {
      title: 'Ereignisse',
      lead: 'Alles, was mit Ihren Bestellungen geschah, das Neueste zuerst, ob Sie dafür einen Webhook erhalten oder nicht.',
      kind: 'Art des Ereignisses',
      empty: 'Noch keine Ereignisse',
      emptyText: 'Legen Sie eine Bestellung an, dann erscheint hier ihr erstes Ereignis.',
      older: 'Ältere Ereignisse zeigen',
      open: 'Bestellung ansehen',
    },
    es: {
      title: 'Eventos',
      lead: 'Todo lo que ha pasado con sus pedidos, lo más reciente primero, reciba o no un webhook por ello.',
      kind: 'Tipo de evento',
      empty: 'Aún no hay eventos',
      emptyText: 'Cree un pedido y su primer evento aparecerá aquí.',
      older: 'Ver eventos anteriores',
      open: 'Ver el pedido',
    },
    it: {
      title: 'Eventi',
      lead: 'Tutto ciò che è accaduto ai suoi ordini, dal più recente, che riceva un webhook o no.',
      kind: 'Tipo di evento',
      empty: 'Ancora nessun evento',
      emptyText: 'Crei un ordine: il suo primo evento apparirà qui.',
      older: 'Mostra eventi precedenti',
      open: 'Vedi l’ordine',
    },
  },
)
