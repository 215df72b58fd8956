import type { ButtonTexts } from '../button-texts.ts'

export const it: ButtonTexts = {
  opening: 'Stiamo preparando il pagamento…',
  goOn: 'Continua con il pagamento',
  failedTitle: 'Il pagamento non può iniziare',
  wrongSetUp:
    'Il pulsante del negozio non è configurato correttamente. Avvisi il negozio; non le è stato addebitato nulla.',
  unknownButton: 'Questo pulsante non esiste più. Torni al negozio, per favore.',
  paidTitle: 'Questo acquisto è già in pagamento',
  paid: 'Un pagamento per questo acquisto è arrivato o è in fase di conferma. Non paghi di nuovo: il negozio verrà avvisato.',
  later:
    'Al momento non è disponibile un tasso di cambio aggiornato. Non le è stato addebitato nulla; riprovi tra un minuto.',
  tryAgain: 'Riprova',
  newPage: 'Il passaggio successivo si apre in una pagina a parte. Poi torni qui: questa pagina si aggiorna da sola.',
  openPage: 'Apri la pagina',
  elsewhereTitle: 'Il pagamento si apre in una pagina a parte',
  elsewhere: 'Qui, all’interno di questa pagina, non può essere mostrato.',
  elsewhereHint: (website, here) => `impostato per ${website}, aperto su ${here}`,
}
