import { defineTexts } from '../../texts/lang.ts'

export const texts = defineTexts(
  {
    title: 'Payment links',
    lead: 'Links to send or print, newest first.',
    create: 'New payment link',
    empty: 'No payment links yet',
    emptyText: 'A link carries an amount and your reference. Send it by mail or chat, or print its code.',
    openOnly: 'Open only',
    expires: 'Expires',
    link: 'Link',
    reference: 'Reference',
  },
  {
    fr: {
      title: 'Liens de paiement',
      lead: 'Liens à envoyer ou à imprimer, du plus récent au plus ancien.',
      create: 'Nouveau lien de paiement',
      empty: 'Aucun lien de paiement',
      emptyText:
        'Un lien porte un montant et votre référence. Envoyez-le par e-mail ou messagerie, ou imprimez son code.',
      openOnly: 'Ouverts seulement',
      expires: 'Expire',
      link: 'Lien',
      reference: 'Référence',
    },
    de: {
      title: 'Zahlungslinks',
      lead: 'Links zum Versenden oder Drucken, neueste zuerst.',
      create: 'Neuer Zahlungslink',
      empty: 'Noch keine Zahlungslinks',
      emptyText:
        'Ein Link trägt Betrag und Referenz. Senden Sie ihn per E-Mail oder Chat oder drucken Sie seinen Code.',
      openOnly: 'Nur offene',
      expires: 'Läuft ab',
      link: 'Link',
      reference: 'Referenz',
    },
    es: {
      title: 'Enlaces de pago',
      lead: 'Enlaces para enviar o imprimir, del más reciente al más antiguo.',
      create: 'Nuevo enlace de pago',
      empty: 'Todavía no hay enlaces de pago',
      emptyText: 'Un enlace lleva un importe y su referencia. Envíelo por correo o chat, o imprima su código.',
      openOnly: 'Solo abiertos',
      expires: 'Caduca',
      link: 'Enlace',
      reference: 'Referencia',
    },
    it: {
      title: 'Link di pagamento',
      lead: 'Link da inviare o stampare, dal più recente.',
      create: 'Nuovo link di pagamento',
      empty: 'Ancora nessun link di pagamento',
      emptyText: 'Un link porta un importo e il suo riferimento. Lo invii per e-mail o in chat, o ne stampi il codice.',
      openOnly: 'Solo aperti',
      expires: 'Scade',
      link: 'Link',
      reference: 'Riferimento',
    },
  },
)
