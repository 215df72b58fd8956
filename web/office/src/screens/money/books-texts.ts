import { defineTexts } from '../../texts/lang.ts'

/** Of the books alone: what other screens load with the money's words stays small. */
export const booksTexts = defineTexts(
  {
    notFinal: (time: string) =>
      `Complete until ${time}. Later entries may still be missing: download the file again later.`,
  },
  {
    fr: {
      notFinal: (time) =>
        `Complet jusqu’au ${time}. Des écritures plus récentes peuvent encore manquer : téléchargez le fichier de nouveau plus tard.`,
    },
    de: {
      notFinal: (time) =>
        `Vollständig bis ${time}. Spätere Buchungen können noch fehlen: Laden Sie die Datei später noch einmal herunter.`,
    },
    es: {
      notFinal: (time) =>
        `Completo hasta el ${time}. Pueden faltar asientos posteriores: descargue el archivo de nuevo más tarde.`,
    },
    it: {
      notFinal: (time) =>
        `Completo fino al ${time}. Possono ancora mancare scritture successive: scarichi di nuovo il file più tardi.`,
    },
  },
)
