import type { WalletTexts } from '../wallet-texts.ts'

export const it: WalletTexts = {
  pay: 'Paga con {wallet}',
  unnamed: 'il wallet di questo browser',
  connecting: 'Apra {wallet} e consenta a questa pagina di vedere il suo indirizzo.',
  switching: 'Consenta a {wallet} di passare a {network}.',
  confirming: 'Confermi {amount} USDC in {wallet}.',
  signing: 'Firmi per {amount} USDC in {wallet}. Non paga commissioni di rete.',
  sending: 'Inviato. In attesa che {network} lo inserisca in un blocco.',
  sent: 'Il pagamento è su {network}. Questa pagina lo conferma tra poco; non paghi di nuovo.',
  slow: '{network} non ha ancora inserito il pagamento. Non paghi di nuovo, a meno che il wallet non segnali un errore.',
  uncounted:
    'La transazione è su {network}, ma il pagamento non è arrivato a questo ordine. Non paghi di nuovo, a meno che il wallet non segnali un errore.',
  unread:
    'Ha inviato {sum} USDC su {network} a {to}, ma il gestore di questo negozio non legge più {network}, quindi questa pagina non può confermare il pagamento. Non paghi di nuovo. Contatti {shop} indicando l’ordine {order} e la transazione.',
  retry: 'Non è riuscito nel mio wallet: paga di nuovo',
  underway:
    'Il pagamento che ha firmato è ancora in viaggio verso {network} e può essere addebitato fino alle {time}. Prima di allora non paghi di nuovo.',
  lapsed: '{network} non ha eseguito in tempo il pagamento che ha firmato, e non può più farlo. Può pagare di nuovo.',
  again: 'Paga di nuovo',
  stop: 'Non aspettare oltre',
  transaction: 'Transazione',
  rejected: 'Ha rifiutato in {wallet}. Non è stato inviato nulla.',
  locked: '{wallet} è bloccato o ha già una richiesta aperta. Lo sblocchi, risponda alla richiesta e riprovi.',
  wrongNetwork: '{wallet} è su un’altra rete. Passi a {network} e riprovi. Non è stato inviato nulla.',
  unknownNetwork: '{wallet} non conosce {network}. Aggiunga questa rete e riprovi. Non è stato inviato nulla.',
  tooLittle:
    'Questo conto ha {have} USDC su {network}, ma ne servono {amount}. Scelga un altro conto in {wallet} o paghi in un altro modo.',
  noFee:
    'Questo conto non ha {coin} su {network} per la commissione di rete. Aggiunga un po’ di {coin} o paghi in un altro modo. Non è stato inviato nulla.',
  reverted:
    'La rete ha respinto il pagamento: dal suo conto non è uscito alcun USDC. Riprovi o paghi in un altro modo.',
  refused:
    'Il pagamento non è stato accettato: dal suo conto non è uscito alcun USDC. Riprovi o paghi in un altro modo.',
  changed: 'Nel frattempo l’ordine è cambiato e non è stato inviato nulla. Controlli l’importo e riprovi.',
  failed:
    '{wallet} non risponde come previsto. Non è stato inviato nulla. Riprovi, oppure invii l’importo all’indirizzo qui sotto.',
  unsure: 'Prima di riprovare, controlli in {wallet} se il pagamento è stato inviato.',
  apps: 'Apri questa pagina nell’app del wallet',
}
