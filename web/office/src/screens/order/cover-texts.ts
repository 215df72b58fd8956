import { defineTexts } from '../../texts/lang.ts'

type Figures = Record<'needs' | 'left' | 'missing' | 'owedAfter', string>

/** The question whether a refund goes out although the company's balance does not cover it. */
export const coverTexts = defineTexts(
  {
    title: 'Refund without cover',
    figures: ({ needs, left, missing, owedAfter }: Figures) =>
      `This refund takes ${needs} from the company’s balance, where only ${left} is left. You lay out the missing ${missing}; the company then owes you ${owedAfter} in all. What is sent cannot be taken back.`,
    changed: 'The figures have changed since you read them. Nothing was sent; these are the new ones.',
    fees: (amount: string) =>
      `In that sum: ${amount} of fees that never left you. They count as cover, and the company owes them to you all the same.`,
    debt: (amount: string) => `In that sum: ${amount} that the company owes you already.`,
  },
  {
    fr: {
      title: 'Rembourser sans couverture',
      figures: ({ needs, left, missing, owedAfter }) =>
        `Ce remboursement prend ${needs} au solde de la société, où il ne reste que ${left}. Vous avancez les ${missing} qui manquent ; la société vous doit alors ${owedAfter} en tout. Un envoi ne se reprend pas.`,
      changed: 'Les montants ont changé depuis que vous les avez lus. Rien n’est parti ; voici les nouveaux.',
      fees: (amount) =>
        `Dans ce total : ${amount} de frais qui ne vous ont jamais quitté. Ils comptent comme couverture, et la société vous les doit quand même.`,
      debt: (amount) => `Dans ce total : ${amount} que la société vous doit déjà.`,
    },
    de: {
      title: 'Ohne Deckung erstatten',
      figures: ({ needs, left, missing, owedAfter }) =>
        `Diese Erstattung nimmt ${needs} vom Guthaben der Firma; dort sind nur ${left} übrig. Sie legen die fehlenden ${missing} aus; die Firma schuldet Ihnen dann insgesamt ${owedAfter}. Was gesendet ist, lässt sich nicht zurückholen.`,
      changed:
        'Die Beträge haben sich geändert, seit Sie sie gelesen haben. Nichts wurde gesendet; das sind die neuen.',
      fees: (amount) =>
        `Darin enthalten: ${amount} Gebühren, die Sie nie abgegeben haben. Sie zählen als Deckung, und die Firma schuldet sie Ihnen dennoch.`,
      debt: (amount) => `Darin enthalten: ${amount}, die Ihnen die Firma schon schuldet.`,
    },
    es: {
      title: 'Reembolsar sin cobertura',
      figures: ({ needs, left, missing, owedAfter }) =>
        `Este reembolso toma ${needs} del saldo de la empresa, donde solo quedan ${left}. Usted adelanta los ${missing} que faltan; la empresa le debe entonces ${owedAfter} en total. Lo enviado no se puede recuperar.`,
      changed: 'Los importes han cambiado desde que los leyó. No se ha enviado nada; estos son los nuevos.',
      fees: (amount) =>
        `Incluye ${amount} de comisiones que nunca salieron de usted. Cuentan como cobertura, y la empresa se las debe igualmente.`,
      debt: (amount) => `Incluye ${amount} que la empresa ya le debe.`,
    },
    it: {
      title: 'Rimborsa senza copertura',
      figures: ({ needs, left, missing, owedAfter }) =>
        `Questo rimborso prende ${needs} dal saldo della società, dove restano solo ${left}. Lei anticipa i ${missing} che mancano; la società le deve allora ${owedAfter} in tutto. Ciò che è inviato non si recupera.`,
      changed: 'Gli importi sono cambiati da quando li ha letti. Nulla è stato inviato; questi sono i nuovi.',
      fees: (amount) =>
        `Comprende ${amount} di commissioni che non le sono mai uscite. Contano come copertura, e la società gliele deve comunque.`,
      debt: (amount) => `Comprende ${amount} che la società le deve già.`,
    },
  },
)
