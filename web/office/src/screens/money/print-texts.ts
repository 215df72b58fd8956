import { defineTexts } from '../../texts/lang.ts'

export const printTexts = defineTexts(
  {
    fetched: (lines: string) => `${lines} lines so far…`,
    cut: (lines: string) => `These are the first ${lines} lines, and there are more. The CSV has all of them.`,
  },
  {
    fr: {
      fetched: (lines) => `${lines} lignes jusqu’ici…`,
      cut: (lines) => `Ce sont les ${lines} premières lignes, et il y en a d’autres. Le CSV les contient toutes.`,
    },
    de: {
      fetched: (lines) => `Bisher ${lines} Zeilen…`,
      cut: (lines) => `Das sind die ersten ${lines} Zeilen, und es gibt weitere. Die CSV-Datei enthält alle.`,
    },
    es: {
      fetched: (lines) => `${lines} líneas hasta ahora…`,
      cut: (lines) => `Estas son las primeras ${lines} líneas, y hay más. El CSV las contiene todas.`,
    },
    it: {
      fetched: (lines) => `${lines} righe finora…`,
      cut: (lines) => `Queste sono le prime ${lines} righe, e ce ne sono altre. Il CSV le contiene tutte.`,
    },
  },
)
