import { defineTexts } from '../texts/lang.ts'

/** What a hold means and who acts next. */
export const holdTexts = defineTexts(
  {
    reconcile:
      'The database was restored from a backup. Nothing leaves until the operator has run “comptoir reconcile”; then this continues by itself.',
    takeover:
      'Another database server took over, and the last moments before may be missing. Nothing leaves until the operator has run “comptoir reconcile”; then this continues by itself.',
    left: 'It had left before the database was restored or another server took over, so it is not sent again. Report the transaction named below: with the same amount and address it settles this one. Otherwise the operator rejects or cancels this one, and you ask for exactly what left.',
    another:
      'What is named below left before the database was restored or another server took over, so this one is not sent. The operator rejects it (a refund) or cancels it (a payout); then ask for exactly what left.',
    dropped:
      'One that was rejected or cancelled here had left before the database was restored or another server took over. If it brought the same amount to the same address, report its transaction for this one. Otherwise the operator rejects or cancels this one, and you ask for exactly what left.',
    unfinished:
      'Another one, which is not finished here, had left before the database was restored or another server took over. Finish or reject that one first; then this one continues by itself.',
    pool: 'What was signed before the database was restored or another server took over may still leave. This waits until its chains show a later block, about an hour and a half after that; then it continues by itself. The chains are named below: if one of them makes no blocks, the operator looks after its nodes.',
    otherwise:
      'Something else left under its number before the database was restored or another server took over, so it is not sent again. The operator rejects it once that transaction is final; then ask for exactly what left, and report the transaction there.',
    payoutOtherwise:
      'Something else left under its number before the database was restored or another server took over, so it is not sent again and cannot be cancelled. The operator reports that transaction: the payout is then paid with what left, and the difference is owed again or taken from the next one.',
    cancelled:
      'Its signature was cancelled on the chain, so nothing left and it is not sent again. Once that transaction is final, the operator rejects it (a refund) or cancels it (a payout), and you ask for it again.',
    named:
      'A transaction was reported for it, so the service does not send it. If it is not settled in a minute, report that transaction again. If it is gone, report the one that paid instead, or the operator rejects or cancels this one.',
    followed:
      'What was signed for it can still pay it, and the service only follows that now. It is decided within the hour: do not send it by hand until then.',
    screened:
      'Its destination did not pass the screening, so it is not sent. The operator rejects the refund, and a new one may go to another address; a payout is cancelled, and the company sets another address.',
    screening:
      'Its destination is being screened. If a source holds it, a manager decides under Identity and screening, about a payout the operator; then this continues by itself.',
    books:
      'The books do not match what happened. Nothing leaves until the operator has explained the difference under Balance and payouts.',
    chain:
      'Its chain is not set up any more. The operator sets it up again; then this continues by itself. Or reject the refund, or settle it by hand, if nothing was signed for it yet.',
    lost: 'Money that paid this order left the chain. This waits until it is decided, under Mispayments, who bears the loss.',
  },
  {
    fr: {
      reconcile:
        'La base de données a été restaurée depuis une sauvegarde. Rien ne part tant que l’exploitant n’a pas lancé « comptoir reconcile » ; ensuite, tout reprend seul.',
      takeover:
        'Un autre serveur de base de données a pris le relais, et les derniers instants d’avant peuvent manquer. Rien ne part tant que l’exploitant n’a pas lancé « comptoir reconcile » ; ensuite, tout reprend seul.',
      left: 'L’argent était parti avant la restauration ou le changement de serveur : il n’est pas renvoyé. Signalez la transaction indiquée ci-dessous ; même montant et même adresse, et l’opération est close. Sinon, l’exploitant la rejette ou l’annule, et vous demandez exactement ce qui est parti.',
      another:
        'Ce qui est indiqué ci-dessous est parti avant la restauration ou le changement de serveur, donc rien n’est envoyé ici. L’exploitant rejette ce remboursement ou annule ce versement ; demandez ensuite exactement ce qui est parti.',
      dropped:
        'Une opération rejetée ou annulée ici était partie avant la restauration ou le changement de serveur. Si le montant et l’adresse sont les mêmes, signalez ici sa transaction. Sinon, l’exploitant rejette ou annule celle-ci, et vous demandez exactement ce qui est parti.',
      unfinished:
        'Une autre opération, non terminée ici, était partie avant la restauration ou le changement de serveur. Terminez-la ou rejetez-la d’abord ; celle-ci reprend ensuite seule.',
      pool: 'Ce qui a été signé avant la restauration ou le changement de serveur peut encore partir. Ceci attend que ses chaînes montrent un bloc plus récent, environ une heure et demie après ; ensuite, tout reprend seul. Les chaînes sont indiquées ci-dessous : si l’une d’elles ne produit pas de bloc, l’exploitant vérifie ses nœuds.',
      otherwise:
        'Autre chose est parti sous son numéro avant la restauration ou le changement de serveur : rien n’est renvoyé. L’exploitant rejette ce remboursement quand cette transaction est définitive ; demandez ensuite exactement ce qui est parti et signalez-y la transaction.',
      payoutOtherwise:
        'Autre chose est parti sous son numéro avant la restauration ou le changement de serveur : rien n’est renvoyé, et il ne peut être annulé. L’exploitant signale cette transaction : le versement est alors payé avec ce qui est parti, et la différence reste due ou est déduite du suivant.',
      cancelled:
        'Sa signature a été annulée sur la chaîne : rien n’est parti, et rien n’est renvoyé. Quand cette transaction est définitive, l’exploitant rejette le remboursement ou annule le versement, et vous le demandez de nouveau.',
      named:
        'Une transaction a été signalée : le service n’envoie donc rien. Si rien ne change en une minute, signalez-la de nouveau. Si elle a disparu, signalez celle qui a payé à sa place, ou l’exploitant rejette ou annule l’opération.',
      followed:
        'Ce qui a été signé peut encore la payer, et le service ne fait plus que le suivre. C’est décidé dans l’heure : n’envoyez rien à la main d’ici là.',
      screened:
        'La destination n’a pas passé le contrôle : rien n’est envoyé. L’exploitant rejette le remboursement, et un nouveau peut aller à une autre adresse ; un versement est annulé, et la société indique une autre adresse.',
      screening:
        'La destination est en cours de contrôle. Si une source la retient, un responsable décide sous Identité et adresses, l’exploitant pour un versement ; ensuite, tout reprend seul.',
      books:
        'Les comptes ne correspondent pas aux faits. Rien ne part tant que l’exploitant n’a pas expliqué l’écart sous Solde et versements.',
      chain:
        'Sa chaîne n’est plus configurée. L’exploitant la configure de nouveau ; ensuite, tout reprend seul. Sinon, rejetez le remboursement ou réglez-le à la main, si rien n’a encore été signé pour lui.',
      lost: 'De l’argent qui payait cette commande est sorti de la chaîne. Il faut d’abord décider, sous Paiements à traiter, qui supporte la perte.',
    },
    de: {
      reconcile:
        'Die Datenbank wurde aus einer Sicherung wiederhergestellt. Nichts geht hinaus, bis der Betreiber „comptoir reconcile“ ausgeführt hat; danach geht es von selbst weiter.',
      takeover:
        'Ein anderer Datenbankserver hat übernommen, und die letzten Augenblicke davor können fehlen. Nichts geht hinaus, bis der Betreiber „comptoir reconcile“ ausgeführt hat; danach geht es von selbst weiter.',
      left: 'Das Geld war vor der Wiederherstellung oder dem Serverwechsel schon hinausgegangen und wird nicht noch einmal gesendet. Melden Sie die unten genannte Transaktion: Bei gleichem Betrag und gleicher Adresse ist der Vorgang damit erledigt. Andernfalls lehnt der Betreiber ihn ab oder storniert ihn, und Sie fordern genau das an, was hinausging.',
      another:
        'Was unten genannt ist, ging vor der Wiederherstellung oder dem Serverwechsel hinaus; dieser Vorgang wird deshalb nicht gesendet. Der Betreiber lehnt die Erstattung ab oder storniert die Auszahlung; fordern Sie dann genau das an, was hinausging.',
      dropped:
        'Ein hier abgelehnter oder stornierter Vorgang war vor der Wiederherstellung oder dem Serverwechsel schon hinausgegangen. Bei gleichem Betrag und gleicher Adresse melden Sie dessen Transaktion hier. Andernfalls lehnt der Betreiber diesen ab oder storniert ihn, und Sie fordern genau das an, was hinausging.',
      unfinished:
        'Ein anderer Vorgang, der hier nicht abgeschlossen ist, war vor der Wiederherstellung oder dem Serverwechsel hinausgegangen. Schließen Sie zuerst jenen ab oder lassen Sie ihn ablehnen; danach geht es hier von selbst weiter.',
      pool: 'Was vor der Wiederherstellung oder dem Serverwechsel signiert wurde, kann noch hinausgehen. Dies wartet, bis die Chains einen späteren Block zeigen, etwa anderthalb Stunden danach; danach geht es von selbst weiter. Die Chains sind unten genannt: Kommt auf einer kein Block, prüft der Betreiber deren Nodes.',
      otherwise:
        'Unter seiner Nummer ging vor der Wiederherstellung oder dem Serverwechsel etwas anderes hinaus; gesendet wird nichts mehr. Der Betreiber lehnt die Erstattung ab, sobald jene Transaktion endgültig ist; fordern Sie dann genau das an, was hinausging, und melden Sie dort die Transaktion.',
      payoutOtherwise:
        'Unter ihrer Nummer ging vor der Wiederherstellung oder dem Serverwechsel etwas anderes hinaus; sie wird nicht noch einmal gesendet und lässt sich nicht stornieren. Der Betreiber meldet jene Transaktion: Dann gilt die Auszahlung mit dem, was hinausging, als gezahlt, und der Unterschied wird wieder geschuldet oder von der nächsten abgezogen.',
      cancelled:
        'Die Signatur wurde auf der Chain widerrufen; nichts ging hinaus, und gesendet wird nichts mehr. Sobald jene Transaktion endgültig ist, lehnt der Betreiber die Erstattung ab oder storniert die Auszahlung, und Sie fordern sie neu an.',
      named:
        'Dafür wurde eine Transaktion gemeldet, deshalb sendet der Dienst nichts. Ändert sich in einer Minute nichts, melden Sie sie noch einmal. Ist sie verschwunden, melden Sie die, die stattdessen gezahlt hat, oder der Betreiber lehnt den Vorgang ab oder storniert ihn.',
      followed:
        'Was dafür signiert wurde, kann es noch zahlen, und der Dienst verfolgt es nur noch. Binnen einer Stunde ist es entschieden: Senden Sie bis dahin nichts von Hand.',
      screened:
        'Das Ziel hat die Prüfung nicht bestanden; gesendet wird nichts. Der Betreiber lehnt die Erstattung ab, und eine neue kann an eine andere Adresse gehen; eine Auszahlung wird storniert, und die Firma trägt eine andere Adresse ein.',
      screening:
        'Das Ziel wird gerade geprüft. Hält eine Quelle es zurück, entscheidet der Manager unter „Identität und Adressen“, bei einer Auszahlung der Betreiber; danach geht es von selbst weiter.',
      books:
        'Die Bücher stimmen nicht mit den Tatsachen überein. Nichts geht hinaus, bis der Betreiber den Unterschied unter „Guthaben und Auszahlungen“ erklärt hat.',
      chain:
        'Die Chain ist nicht mehr eingerichtet. Der Betreiber richtet sie wieder ein; dann geht es von selbst weiter. Sonst lehnen Sie die Rückzahlung ab oder erledigen sie von Hand, wenn dafür noch nichts signiert wurde.',
      lost: 'Geld, mit dem diese Bestellung bezahlt war, ist von der Chain verschwunden. Zuerst wird unter „Fehlzahlungen“ entschieden, wer den Verlust trägt.',
    },
    es: {
      reconcile:
        'La base de datos se restauró de una copia de seguridad. No sale nada hasta que el operador ejecute «comptoir reconcile»; después sigue por sí solo.',
      takeover:
        'Otro servidor de base de datos tomó el relevo, y pueden faltar los últimos momentos anteriores. No sale nada hasta que el operador ejecute «comptoir reconcile»; después sigue por sí solo.',
      left: 'El dinero ya había salido antes de la restauración o del cambio de servidor, así que no se envía otra vez. Informe de la transacción que se indica abajo: con el mismo importe y la misma dirección queda resuelto. Si no, el operador lo rechaza o lo cancela, y usted pide exactamente lo que salió.',
      another:
        'Lo que se indica abajo salió antes de la restauración o del cambio de servidor, así que esto no se envía. El operador rechaza el reembolso o cancela la liquidación; después pida exactamente lo que salió.',
      dropped:
        'Uno que aquí se rechazó o canceló había salido antes de la restauración o del cambio de servidor. Si el importe y la dirección son los mismos, informe aquí de su transacción. Si no, el operador rechaza o cancela este, y usted pide exactamente lo que salió.',
      unfinished:
        'Otro, que aquí no ha terminado, había salido antes de la restauración o del cambio de servidor. Termine o rechace primero aquel; después este sigue por sí solo.',
      pool: 'Lo que se firmó antes de la restauración o del cambio de servidor todavía puede salir. Esto espera hasta que sus cadenas muestren un bloque posterior, una hora y media después, más o menos; después sigue por sí solo. Las cadenas se indican abajo: si una no produce bloques, el operador revisa sus nodos.',
      otherwise:
        'Con su número salió otra cosa antes de la restauración o del cambio de servidor, así que no se envía otra vez. El operador lo rechaza cuando esa transacción sea definitiva; después pida exactamente lo que salió e informe allí de la transacción.',
      payoutOtherwise:
        'Con su número salió otra cosa antes de la restauración o del cambio de servidor, así que no se envía otra vez ni se puede cancelar. El operador informa de esa transacción: la liquidación queda pagada con lo que salió, y la diferencia se vuelve a deber o se descuenta de la siguiente.',
      cancelled:
        'Su firma se anuló en la cadena: no salió nada, y no se envía otra vez. Cuando esa transacción sea definitiva, el operador rechaza el reembolso o cancela la liquidación, y usted lo pide de nuevo.',
      named:
        'Se informó de una transacción, así que el servicio no envía nada. Si en un minuto no se resuelve, informe de ella otra vez. Si ha desaparecido, informe de la que pagó en su lugar, o el operador lo rechaza o lo cancela.',
      followed:
        'Lo que se firmó todavía puede pagarlo, y el servicio ya solo lo sigue. Se decide en una hora: no envíe nada a mano hasta entonces.',
      screened:
        'El destino no superó el control, así que no se envía. El operador rechaza el reembolso, y uno nuevo puede ir a otra dirección; una liquidación se cancela, y la empresa indica otra dirección.',
      screening:
        'El destino se está controlando. Si una fuente lo retiene, un responsable decide en Identidad y direcciones, el operador si es una liquidación; después sigue por sí solo.',
      books:
        'La contabilidad no coincide con los hechos. No sale nada hasta que el operador explique la diferencia en Saldo y liquidaciones.',
      chain:
        'Su cadena ya no está configurada. El operador la configura de nuevo y esto continúa solo. Si no, rechace el reembolso o liquídelo a mano, si todavía no se ha firmado nada para él.',
      lost: 'Dinero que pagó este pedido salió de la cadena. Primero hay que decidir, en Pagos por revisar, quién asume la pérdida.',
    },
    it: {
      reconcile:
        'Il database è stato ripristinato da un backup. Non parte nulla finché il gestore non ha eseguito «comptoir reconcile»; poi si prosegue da soli.',
      takeover:
        'Un altro server di database è subentrato, e possono mancare gli ultimi istanti di prima. Non parte nulla finché il gestore non ha eseguito «comptoir reconcile»; poi si prosegue da soli.',
      left: 'Il denaro era partito prima del ripristino o del cambio di server, quindi non viene inviato di nuovo. Segnali la transazione indicata sotto: con lo stesso importo e lo stesso indirizzo la questione è chiusa. Altrimenti il gestore respinge o annulla, e lei chiede esattamente ciò che è partito.',
      another:
        'Ciò che è indicato sotto è partito prima del ripristino o del cambio di server, quindi qui non si invia nulla. Il gestore respinge il rimborso o annulla l’accredito; poi chieda esattamente ciò che è partito.',
      dropped:
        'Un’operazione qui respinta o annullata era partita prima del ripristino o del cambio di server. Se importo e indirizzo sono gli stessi, segnali qui la sua transazione. Altrimenti il gestore respinge o annulla questa, e lei chiede esattamente ciò che è partito.',
      unfinished:
        'Un’altra operazione, qui non conclusa, era partita prima del ripristino o del cambio di server. La concluda o la faccia respingere per prima; poi questa prosegue da sola.',
      pool: 'Ciò che è stato firmato prima del ripristino o del cambio di server può ancora partire. Si attende che le catene mostrino un blocco successivo, circa un’ora e mezza dopo; poi si prosegue da soli. Le catene sono indicate sotto: se una non produce blocchi, il gestore controlla i suoi nodi.',
      otherwise:
        'Con il suo numero è partito altro prima del ripristino o del cambio di server, quindi non si invia di nuovo. Il gestore respinge il rimborso quando quella transazione è definitiva; poi chieda esattamente ciò che è partito e segnali lì la transazione.',
      payoutOtherwise:
        'Con il suo numero è partito altro prima del ripristino o del cambio di server, quindi non si invia di nuovo e non si può annullare. Il gestore segnala quella transazione: l’accredito risulta pagato con ciò che è partito, e la differenza è dovuta di nuovo o tolta dal prossimo.',
      cancelled:
        'La sua firma è stata annullata sulla catena: non è partito nulla, e non si invia di nuovo. Quando quella transazione è definitiva, il gestore respinge il rimborso o annulla l’accredito, e lei lo chiede di nuovo.',
      named:
        'È stata segnalata una transazione, quindi il servizio non invia nulla. Se entro un minuto non cambia, la segnali di nuovo. Se è sparita, segnali quella che ha pagato al suo posto, oppure il gestore respinge o annulla.',
      followed:
        'Quanto è stato firmato può ancora pagarlo, e il servizio ormai lo segue soltanto. Si decide entro un’ora: fino ad allora non invii nulla a mano.',
      screened:
        'La destinazione non ha superato il controllo, quindi non si invia. Il gestore respinge il rimborso, e uno nuovo può andare a un altro indirizzo; un accredito si annulla, e l’azienda indica un altro indirizzo.',
      screening:
        'La destinazione è in corso di controllo. Se una fonte la trattiene, un responsabile decide in Identità e indirizzi, il gestore per un accredito; poi si prosegue da soli.',
      books:
        'La contabilità non corrisponde ai fatti. Non parte nulla finché il gestore non ha spiegato la differenza in Saldo e accrediti.',
      chain:
        'La sua catena non è più configurata. Il gestore la configura di nuovo; poi tutto prosegue da solo. Altrimenti rifiuti il rimborso o lo saldi a mano, se per esso non è ancora stato firmato nulla.',
      lost: 'Denaro che pagava questo ordine è uscito dalla catena. Prima si decide, in Pagamenti da verificare, chi sostiene la perdita.',
    },
  },
)
