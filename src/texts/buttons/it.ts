import type { ButtonTexts } from '../button-texts.ts'

export const it: ButtonTexts = {
  opening: 'Stiamo preparando il pagamento…',
  goOn: 'Continua con il pagamento',
  failedTitle: 'Il pagamento non può iniziare',
  wrongSetUp: 'Il pulsante del negozio non è configurato correttamente. Avvisi il negozio.',
  unknownButton: 'Questo pulsante non esiste più. Torni al negozio, per favore.',
  paidTitle: 'Esiste già un pagamento per questo acquisto',
  paid: 'È arrivato, è in fase di conferma o è in verifica. Non paghi di nuovo: il negozio verrà avvisato.',
  later: 'Al momento non è disponibile un tasso di cambio aggiornato. Riprovi tra un minuto.',
  tryAgain: 'Riprova',
  newPage: 'Il passaggio successivo si apre in una pagina a parte. Poi torni qui: questa pagina si aggiorna da sola.',
  openPage: 'Apri la pagina',
  elsewhereTitle: 'Il pagamento si apre in una pagina a parte',
  elsewhere: 'Qui, all’interno di questa pagina, non può essere mostrato.',
  elsewhereHint: (website, here) => `impostato per ${website}, aperto su ${here}`,
}
