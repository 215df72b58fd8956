import { defineTexts } from '../../texts/lang.ts'

/** About the address of a payout that no payout has gone to yet. */
export const addressTexts = defineTexts(
  {
    addressSet: ({ at, by, last }: { at: string; by: string; last: string | null }) =>
      last === null
        ? `This is the first payout. The address was set on ${at} by ${by}.`
        : `The address was changed on ${at} by ${by}, after the last payout, which went to ${last}.`,
    addressOther: (last: string | null) =>
      last === null ? 'This is the first payout.' : `The last payout went elsewhere: to ${last}.`,
    addressAsk: 'Before it is paid, ask the company by a way that you know already whether this address is theirs.',
    fromBackup:
      'This payout is open in the backup that was restored. Since the backup it may have been approved and ' +
      'sent. If it was, report its payment first: cancelled without that, it may be paid twice.',
    onlyIfSent:
      'Send nothing now. If it was sent already, give the hash of that transaction: it counts once the chain ' +
      'shows exactly this amount to this address.',
  },
  {
    fr: {
      addressSet: ({ at, by, last }) =>
        last === null
          ? `C’est le premier versement. L’adresse a été saisie le ${at} par ${by}.`
          : `L’adresse a été modifiée le ${at} par ${by}, après le dernier versement, qui est parti vers ${last}.`,
      addressOther: (last) =>
        last === null ? 'C’est le premier versement.' : `Le dernier versement est parti ailleurs : vers ${last}.`,
      addressAsk:
        'Avant de payer, demandez à l’entreprise, par un moyen que vous connaissez déjà, si cette adresse est la sienne.',
      fromBackup:
        'Ce versement est en attente dans la sauvegarde restaurée. Depuis, il a pu être approuvé et envoyé. ' +
        'Dans ce cas, signalez d’abord le paiement : annulé sans cela, il peut être versé deux fois.',
      onlyIfSent:
        'N’envoyez rien maintenant. S’il a déjà été envoyé, donnez l’empreinte de cette transaction : elle ' +
        'compte dès que la chaîne montre exactement ce montant vers cette adresse.',
    },
    de: {
      addressSet: ({ at, by, last }) =>
        last === null
          ? `Das ist die erste Auszahlung. Die Adresse wurde am ${at} von ${by} eingetragen.`
          : `Die Adresse wurde am ${at} von ${by} geändert, nach der letzten Auszahlung; diese ging an ${last}.`,
      addressOther: (last) =>
        last === null ? 'Das ist die erste Auszahlung.' : `Die letzte Auszahlung ging anderswohin: an ${last}.`,
      addressAsk:
        'Fragen Sie vor der Zahlung beim Unternehmen nach, auf einem Weg, den Sie schon kennen, ob diese Adresse ihm gehört.',
      fromBackup:
        'Diese Auszahlung ist in der wiederhergestellten Sicherung offen. Seither kann sie freigegeben und ' +
        'gesendet worden sein. Dann melden Sie zuerst die Zahlung: Ohne das storniert, kann sie doppelt gezahlt werden.',
      onlyIfSent:
        'Senden Sie jetzt nichts. Wurde sie schon gesendet, geben Sie den Hash jener Transaktion an: Er zählt, ' +
        'sobald die Chain genau diesen Betrag an diese Adresse zeigt.',
    },
    es: {
      addressSet: ({ at, by, last }) =>
        last === null
          ? `Es la primera liquidación. ${by} indicó la dirección el ${at}.`
          : `${by} cambió la dirección el ${at}, después de la última liquidación, que fue a ${last}.`,
      addressOther: (last) =>
        last === null ? 'Es la primera liquidación.' : `La última liquidación fue a otra dirección: ${last}.`,
      addressAsk: 'Antes de pagar, pregunte a la empresa, por un medio que ya conozca, si esta dirección es suya.',
      fromBackup:
        'Esta liquidación está abierta en la copia restaurada. Desde entonces pudo aprobarse y enviarse. En ' +
        'ese caso, informe primero del pago: si se cancela sin eso, puede pagarse dos veces.',
      onlyIfSent:
        'No envíe nada ahora. Si ya se envió, dé el hash de esa transacción: cuenta en cuanto la cadena ' +
        'muestra exactamente este importe a esta dirección.',
    },
    it: {
      addressSet: ({ at, by, last }) =>
        last === null
          ? `È il primo accredito. L’indirizzo è stato inserito il ${at} da ${by}.`
          : `L’indirizzo è stato cambiato il ${at} da ${by}, dopo l’ultimo accredito, che è andato a ${last}.`,
      addressOther: (last) =>
        last === null ? 'È il primo accredito.' : `L’ultimo accredito è andato altrove: a ${last}.`,
      addressAsk: 'Prima di pagare, chieda all’azienda, per una via che conosce già, se questo indirizzo è suo.',
      fromBackup:
        'Questo accredito è aperto nel backup ripristinato. Da allora può essere stato approvato e inviato. In ' +
        'tal caso segnali prima il pagamento: annullato senza questo, può essere pagato due volte.',
      onlyIfSent:
        'Non invii nulla ora. Se è già stato inviato, indichi l’hash di quella transazione: vale non appena la ' +
        'chain mostra esattamente questo importo a questo indirizzo.',
    },
  },
)
