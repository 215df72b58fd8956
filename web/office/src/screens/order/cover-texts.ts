import { defineTexts } from '../../texts/lang.ts'

type Figures = Record<'needs' | 'left' | 'missing' | 'owedAfter', string>

/** The question whether a refund goes out although the company's balance does not cover it. */
export const coverTexts = defineTexts(
  {
    title: 'Refund without cover',
    figures: ({ needs, left, missing, owedAfter }: Figures) =>
      `This refund takes ${needs} from the company’s balance, where only ${left} is left. You lay out the missing ${missing}; the company then owes you ${owedAfter} in all. What is sent cannot be taken back.`,
    changed: 'The figures have changed since you read them. Nothing was sent; these are the new ones.',
  },
  {
    fr: {
      title: 'Rembourser sans couverture',
      figures: ({ needs, left, missing, owedAfter }) =>
        `Ce remboursement prend ${needs} au solde de la société, où il ne reste que ${left}. Vous avancez les ${missing} qui manquent ; la société vous doit alors ${owedAfter} en tout. Un envoi ne se reprend pas.`,
      changed: 'Les montants ont changé depuis que vous les avez lus. Rien n’est parti ; voici les nouveaux.',
    },
    de: {
      title: 'Ohne Deckung erstatten',
      figures: ({ needs, left, missing, owedAfter }) =>
        `Diese Erstattung nimmt ${needs} vom Guthaben der Firma; dort sind nur ${left} übrig. Sie legen die fehlenden ${missing} aus; die Firma schuldet Ihnen dann insgesamt ${owedAfter}. Was gesendet ist, lässt sich nicht zurückholen.`,
      changed:
        'Die Beträge haben sich geändert, seit Sie sie gelesen haben. Nichts wurde gesendet; das sind die neuen.',
    },
    es: {
      title: 'Reembolsar sin cobertura',
      figures: ({ needs, left, missing, owedAfter }) =>
        `Este reembolso toma ${needs} del saldo de la empresa, donde solo quedan ${left}. Usted adelanta los ${missing} que faltan; la empresa le debe entonces ${owedAfter} en total. Lo enviado no se puede recuperar.`,
      changed: 'Los importes han cambiado desde que los leyó. No se ha enviado nada; estos son los nuevos.',
    },
    it: {
      title: 'Rimborsa senza copertura',
      figures: ({ needs, left, missing, owedAfter }) =>
        `Questo rimborso prende ${needs} dal saldo della società, dove restano solo ${left}. Lei anticipa i ${missing} che mancano; la società le deve allora ${owedAfter} in tutto. Ciò che è inviato non si recupera.`,
      changed: 'Gli importi sono cambiati da quando li ha letti. Nulla è stato inviato; questi sono i nuovi.',
    },
  },
)
