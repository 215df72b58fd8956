import { defineTexts } from '../../texts/lang.ts'

export const texts = defineTexts(
  {
    title: 'Change the secret in steps',
    lead: 'No webhook is refused on the way: the present secret signs everything until the last step.',
    prepare: '1. Prepare a secret',
    prepareText: 'It signs nothing yet, and your shop notices nothing. Preparing another one replaces it.',
    prepareButton: 'Prepare a secret',
    hasOne: 'I have prepared one',
    prepared: 'Shown only now. Put it on your server beside the present one, so that it accepts both.',
    test: '2. Test your server',
    testText: 'One webhook, webhook.test, goes to this address, signed with the prepared secret. It changes no order.',
    testButton: 'Send a test',
    activate: '3. Put it into use',
    activateText:
      'From now on the prepared secret signs every webhook, also repeated ones; the present one stops at once. Then remove the old one from your server.',
    end: 'Last characters of the prepared secret',
    endHint: 'At least 8, to be sure that the secret on your server is the one that comes into use.',
    activateButton: 'Put it into use',
    conflict: 'No secret with this end is prepared. A colleague may have prepared another one: agree on one.',
  },
  {
    fr: {
      title: 'Changer le secret par étapes',
      lead: 'Aucun webhook n’est refusé entre-temps : le secret actuel signe tout jusqu’à la dernière étape.',
      prepare: '1. Préparer un secret',
      prepareText: 'Il ne signe encore rien et votre boutique ne remarque rien. En préparer un autre le remplace.',
      prepareButton: 'Préparer un secret',
      hasOne: 'J’en ai déjà préparé un',
      prepared:
        'Affiché une seule fois. Installez-le sur votre serveur à côté de l’actuel, pour qu’il accepte les deux.',
      test: '2. Tester votre serveur',
      testText:
        'Un webhook, webhook.test, part vers cette adresse, signé avec le secret préparé. Il ne modifie aucune commande.',
      testButton: 'Envoyer un test',
      activate: '3. Le mettre en service',
      activateText:
        'Dès lors, le secret préparé signe tous les webhooks, même répétés ; l’actuel cesse aussitôt. Retirez ensuite l’ancien de votre serveur.',
      end: 'Derniers caractères du secret préparé',
      endHint: 'Au moins 8, pour être sûr que le secret mis en service est bien celui de votre serveur.',
      activateButton: 'Le mettre en service',
      conflict:
        'Aucun secret préparé ne se termine ainsi. Un collègue en a peut-être préparé un autre : mettez-vous d’accord.',
    },
    de: {
      title: 'Den Schlüssel schrittweise wechseln',
      lead: 'Unterwegs wird kein Webhook abgewiesen: Bis zum letzten Schritt signiert der aktuelle Schlüssel alles.',
      prepare: '1. Schlüssel vorbereiten',
      prepareText: 'Er signiert noch nichts, Ihr Shop merkt nichts davon. Ein weiterer ersetzt ihn.',
      prepareButton: 'Schlüssel vorbereiten',
      hasOne: 'Ich habe schon einen vorbereitet',
      prepared:
        'Wird nur jetzt gezeigt. Hinterlegen Sie ihn auf Ihrem Server neben dem aktuellen, damit er beide annimmt.',
      test: '2. Ihren Server testen',
      testText:
        'An diese Adresse geht ein Webhook, webhook.test, mit dem vorbereiteten Schlüssel signiert. Er ändert keine Bestellung.',
      testButton: 'Test senden',
      activate: '3. In Gebrauch nehmen',
      activateText:
        'Ab jetzt signiert der vorbereitete Schlüssel alle Webhooks, auch wiederholte; der aktuelle gilt sofort nicht mehr. Entfernen Sie danach den alten von Ihrem Server.',
      end: 'Letzte Zeichen des vorbereiteten Schlüssels',
      endHint: 'Mindestens 8, damit sicher der Schlüssel in Gebrauch kommt, der auf Ihrem Server liegt.',
      activateButton: 'In Gebrauch nehmen',
      conflict:
        'Kein vorbereiteter Schlüssel endet so. Vielleicht wurde inzwischen ein anderer vorbereitet: Einigen Sie sich auf einen.',
    },
    es: {
      title: 'Cambiar el secreto por pasos',
      lead: 'Entretanto no se rechaza ningún webhook: el secreto actual lo firma todo hasta el último paso.',
      prepare: '1. Preparar un secreto',
      prepareText: 'Todavía no firma nada y su tienda no nota nada. Si prepara otro, lo sustituye.',
      prepareButton: 'Preparar un secreto',
      hasOne: 'Ya he preparado uno',
      prepared: 'Solo se muestra ahora. Póngalo en su servidor junto al actual, para que acepte los dos.',
      test: '2. Probar su servidor',
      testText:
        'A esta dirección va un webhook, webhook.test, firmado con el secreto preparado. No cambia ningún pedido.',
      testButton: 'Enviar una prueba',
      activate: '3. Ponerlo en uso',
      activateText:
        'Desde ese momento el secreto preparado firma todos los webhooks, también los repetidos; el actual deja de valer al instante. Quite después el antiguo de su servidor.',
      end: 'Últimos caracteres del secreto preparado',
      endHint: 'Al menos 8, para asegurarse de que entra en uso el secreto que está en su servidor.',
      activateButton: 'Ponerlo en uso',
      conflict:
        'Ningún secreto preparado termina así. Quizá un colega haya preparado otro: pónganse de acuerdo en uno.',
    },
    it: {
      title: 'Cambiare il segreto passo dopo passo',
      lead: 'Nel frattempo nessun webhook viene rifiutato: il segreto attuale firma tutto fino all’ultimo passo.',
      prepare: '1. Preparare un segreto',
      prepareText: 'Non firma ancora nulla e il suo negozio non se ne accorge. Prepararne un altro lo sostituisce.',
      prepareButton: 'Prepara un segreto',
      hasOne: 'Ne ho già preparato uno',
      prepared: 'Mostrato solo ora. Lo metta sul suo server accanto all’attuale, in modo che accetti entrambi.',
      test: '2. Provare il suo server',
      testText:
        'A questo indirizzo va un webhook, webhook.test, firmato con il segreto preparato. Non modifica alcun ordine.',
      testButton: 'Invia una prova',
      activate: '3. Metterlo in uso',
      activateText:
        'Da quel momento il segreto preparato firma tutti i webhook, anche quelli ripetuti; l’attuale smette subito di valere. Poi tolga il vecchio dal suo server.',
      end: 'Ultimi caratteri del segreto preparato',
      endHint: 'Almeno 8, per essere certi che entri in uso il segreto che si trova sul suo server.',
      activateButton: 'Mettilo in uso',
      conflict:
        'Nessun segreto preparato finisce così. Forse un collega ne ha preparato un altro: mettetevi d’accordo su uno.',
    },
  },
)
