import { defineTexts } from '../../texts/lang.ts'

export const walletTexts = defineTexts(
  {
    title: 'Your own wallet',
    lead: 'Customers then pay straight into your wallet. We never see a private key, so refunds are sent by you. Saving needs a fresh code.',
    mode: 'How payments are told apart',
    modes: {
      xpub: 'A fresh address for each payment',
      pool: 'Several addresses of mine, in turn',
      static: 'One address for all payments',
    },
    modeHints: {
      xpub: 'The safest way. It needs the public key of an account of your wallet.',
      pool: 'Each open order gets one of them. When all are taken, the next customer has to wait.',
      static: 'Orders are told apart by the last digits of the amount.',
    },
    xpub: 'Public key of the account (xpub)',
    xpubHint: 'Begins with xpub. Your wallet exports it for the account m/44’/60’/0’. It can receive, never spend.',
    confirm: 'First address of this account in your wallet',
    confirmHint: 'It proves that the key is the right one, before anyone pays.',
    addresses: 'Addresses',
    addressesHint: 'One on each line, as your wallet shows them.',
    address: 'Address',
    networks: 'Networks',
    networksHint:
      'Where these addresses are yours. Choose none to use all. A contract wallet (Safe) exists only where you made it.',
    faults: {
      noKey: 'This is not the public key of an account. It begins with xpub; copy it whole.',
      privateKey:
        'This is a private key: whoever has it can take all the money. We did not keep it. Move the money to a new wallet.',
      taken: 'This key belongs to another account here. Export the key of an account that only this shop uses.',
      otherKey: (addresses: string) =>
        `This key makes other addresses; its first are ${addresses}. If your wallet shows none of them, export the key of the account that shows yours.`,
      noConfirm: 'Copy the first address that your wallet shows for this account.',
      mistyped: 'This is not an address, or it is mistyped: copy it from your wallet.',
      takenAddress: (address: string) => `${address} is used by another account here.`,
      noWallet: (address: string) => `${address} is not a wallet: money sent there is lost.`,
      onlyOne: 'Type one address only.',
      twice: 'An address stands there twice.',
    },
  },
  {
    fr: {
      title: 'Votre propre portefeuille',
      lead: 'Vos clients paient alors directement dans votre portefeuille. Nous ne voyons jamais de clé privée ; c’est donc vous qui envoyez les remboursements. Enregistrer demande un nouveau code.',
      mode: 'Comment distinguer les paiements',
      modes: {
        xpub: 'Une nouvelle adresse par paiement',
        pool: 'Plusieurs de mes adresses, à tour de rôle',
        static: 'Une seule adresse pour tous les paiements',
      },
      modeHints: {
        xpub: 'Le plus sûr. Il faut la clé publique d’un compte de votre portefeuille.',
        pool: 'Chaque commande ouverte en reçoit une. Quand toutes sont prises, le client suivant doit attendre.',
        static: 'Les commandes se distinguent par les derniers chiffres du montant.',
      },
      xpub: 'Clé publique du compte (xpub)',
      xpubHint:
        'Elle commence par xpub. Votre portefeuille l’exporte pour le compte m/44’/60’/0’. Elle reçoit, sans jamais pouvoir dépenser.',
      confirm: 'Première adresse de ce compte dans votre portefeuille',
      confirmHint: 'Elle prouve que la clé est la bonne, avant tout paiement.',
      addresses: 'Adresses',
      addressesHint: 'Une par ligne, telles que votre portefeuille les affiche.',
      address: 'Adresse',
      networks: 'Réseaux',
      networksHint:
        'Là où ces adresses sont à vous. N’en cochez aucun pour tous les utiliser. Un portefeuille contrat (Safe) n’existe que là où vous l’avez créé.',
      faults: {
        noKey: 'Ce n’est pas la clé publique d’un compte. Elle commence par xpub ; copiez-la en entier.',
        privateKey:
          'C’est une clé privée : qui la possède peut prendre tout l’argent. Nous ne l’avons pas gardée. Transférez l’argent vers un nouveau portefeuille.',
        taken: 'Cette clé appartient à un autre compte ici. Exportez celle d’un compte réservé à cette boutique.',
        otherKey: (addresses) =>
          `Cette clé produit d’autres adresses ; les premières sont ${addresses}. Si votre portefeuille n’en affiche aucune, exportez la clé du compte qui affiche la vôtre.`,
        noConfirm: 'Copiez la première adresse que votre portefeuille affiche pour ce compte.',
        mistyped: 'Ce n’est pas une adresse, ou elle contient une faute : copiez-la depuis votre portefeuille.',
        takenAddress: (address) => `${address} est utilisée par un autre compte ici.`,
        noWallet: (address) => `${address} n’est pas un portefeuille : l’argent envoyé là est perdu.`,
        onlyOne: 'Saisissez une seule adresse.',
        twice: 'Une adresse figure deux fois.',
      },
    },
    de: {
      title: 'Ihre eigene Wallet',
      lead: 'Ihre Kundschaft zahlt dann direkt in Ihre Wallet. Wir sehen nie einen privaten Schlüssel; Erstattungen senden deshalb Sie. Speichern verlangt einen frischen Code.',
      mode: 'Wie Zahlungen unterschieden werden',
      modes: {
        xpub: 'Für jede Zahlung eine frische Adresse',
        pool: 'Mehrere Adressen von mir, reihum',
        static: 'Eine Adresse für alle Zahlungen',
      },
      modeHints: {
        xpub: 'Der sicherste Weg. Er braucht den öffentlichen Schlüssel eines Kontos Ihrer Wallet.',
        pool: 'Jede offene Bestellung bekommt eine davon. Sind alle vergeben, wartet die nächste Bestellung.',
        static: 'Bestellungen unterscheiden sich an den letzten Ziffern des Betrags.',
      },
      xpub: 'Öffentlicher Schlüssel des Kontos (xpub)',
      xpubHint:
        'Beginnt mit xpub. Ihre Wallet exportiert ihn für das Konto m/44’/60’/0’. Mit ihm wird empfangen, nie ausgegeben.',
      confirm: 'Erste Adresse dieses Kontos in Ihrer Wallet',
      confirmHint: 'Sie beweist, dass der Schlüssel stimmt, bevor jemand bezahlt.',
      addresses: 'Adressen',
      addressesHint: 'Eine je Zeile, so wie Ihre Wallet sie zeigt.',
      address: 'Adresse',
      networks: 'Netzwerke',
      networksHint:
        'Wo diese Adressen Ihnen gehören. Ohne Auswahl gelten alle. Eine Vertrags-Wallet (Safe) gibt es nur dort, wo Sie sie angelegt haben.',
      faults: {
        noKey: 'Das ist kein öffentlicher Schlüssel eines Kontos. Er beginnt mit xpub; kopieren Sie ihn vollständig.',
        privateKey:
          'Das ist ein privater Schlüssel: Wer ihn hat, kann das ganze Geld nehmen. Wir haben ihn nicht behalten. Bringen Sie das Geld in eine neue Wallet.',
        taken:
          'Dieser Schlüssel gehört hier zu einem anderen Konto. Exportieren Sie den eines Kontos, das nur dieser Laden verwendet.',
        otherKey: (addresses) =>
          `Dieser Schlüssel ergibt andere Adressen; die ersten sind ${addresses}. Zeigt Ihre Wallet keine davon, exportieren Sie den Schlüssel des Kontos, das Ihre Adresse zeigt.`,
        noConfirm: 'Kopieren Sie die erste Adresse, die Ihre Wallet für dieses Konto zeigt.',
        mistyped: 'Das ist keine Adresse, oder sie enthält einen Tippfehler: Kopieren Sie sie aus Ihrer Wallet.',
        takenAddress: (address) => `${address} wird hier von einem anderen Konto verwendet.`,
        noWallet: (address) => `${address} ist keine Wallet: Geld, das dorthin geht, ist verloren.`,
        onlyOne: 'Geben Sie nur eine Adresse ein.',
        twice: 'Eine Adresse steht zweimal da.',
      },
    },
    es: {
      title: 'Su propio monedero',
      lead: 'Sus clientes pagan entonces directamente en su monedero. Nunca vemos una clave privada, así que los reembolsos los envía usted. Guardar requiere un código nuevo.',
      mode: 'Cómo se distinguen los pagos',
      modes: {
        xpub: 'Una dirección nueva para cada pago',
        pool: 'Varias direcciones mías, por turno',
        static: 'Una sola dirección para todos los pagos',
      },
      modeHints: {
        xpub: 'Lo más seguro. Necesita la clave pública de una cuenta de su monedero.',
        pool: 'Cada pedido abierto recibe una. Cuando todas están ocupadas, el siguiente cliente tiene que esperar.',
        static: 'Los pedidos se distinguen por las últimas cifras del importe.',
      },
      xpub: 'Clave pública de la cuenta (xpub)',
      xpubHint:
        'Empieza por xpub. Su monedero la exporta para la cuenta m/44’/60’/0’. Sirve para recibir, nunca para gastar.',
      confirm: 'Primera dirección de esta cuenta en su monedero',
      confirmHint: 'Demuestra que la clave es la correcta, antes de que nadie pague.',
      addresses: 'Direcciones',
      addressesHint: 'Una por línea, tal como las muestra su monedero.',
      address: 'Dirección',
      networks: 'Redes',
      networksHint:
        'Donde estas direcciones son suyas. No marque ninguna para usarlas todas. Un monedero de contrato (Safe) solo existe donde usted lo creó.',
      faults: {
        noKey: 'Esto no es la clave pública de una cuenta. Empieza por xpub; cópiela entera.',
        privateKey:
          'Esto es una clave privada: quien la tenga puede llevarse todo el dinero. No la hemos guardado. Pase el dinero a un monedero nuevo.',
        taken: 'Esta clave pertenece a otra cuenta aquí. Exporte la de una cuenta que solo use esta tienda.',
        otherKey: (addresses) =>
          `Esta clave produce otras direcciones; las primeras son ${addresses}. Si su monedero no muestra ninguna, exporte la clave de la cuenta que muestra la suya.`,
        noConfirm: 'Copie la primera dirección que su monedero muestra para esta cuenta.',
        mistyped: 'Esto no es una dirección o contiene un error: cópiela de su monedero.',
        takenAddress: (address) => `${address} la usa otra cuenta aquí.`,
        noWallet: (address) => `${address} no es un monedero: el dinero que se envíe allí se pierde.`,
        onlyOne: 'Escriba una sola dirección.',
        twice: 'Hay una dirección repetida.',
      },
    },
    it: {
      title: 'Il suo wallet',
      lead: 'I clienti pagano allora direttamente nel suo wallet. Non vediamo mai una chiave privata, quindi i rimborsi li invia lei. Per salvare serve un codice nuovo.',
      mode: 'Come si distinguono i pagamenti',
      modes: {
        xpub: 'Un indirizzo nuovo per ogni pagamento',
        pool: 'Più indirizzi miei, a turno',
        static: 'Un solo indirizzo per tutti i pagamenti',
      },
      modeHints: {
        xpub: 'Il modo più sicuro. Serve la chiave pubblica di un conto del suo wallet.',
        pool: 'Ogni ordine aperto ne riceve uno. Quando sono tutti occupati, il cliente successivo deve aspettare.',
        static: 'Gli ordini si distinguono dalle ultime cifre dell’importo.',
      },
      xpub: 'Chiave pubblica del conto (xpub)',
      xpubHint:
        'Comincia con xpub. Il suo wallet la esporta per il conto m/44’/60’/0’. Serve a ricevere, mai a spendere.',
      confirm: 'Primo indirizzo di questo conto nel suo wallet',
      confirmHint: 'Dimostra che la chiave è quella giusta, prima che qualcuno paghi.',
      addresses: 'Indirizzi',
      addressesHint: 'Uno per riga, come li mostra il suo wallet.',
      address: 'Indirizzo',
      networks: 'Reti',
      networksHint:
        'Dove questi indirizzi sono suoi. Non ne scelga nessuna per usarle tutte. Un wallet su contratto (Safe) esiste solo dove lo ha creato.',
      faults: {
        noKey: 'Questa non è la chiave pubblica di un conto. Comincia con xpub; la copi per intero.',
        privateKey:
          'Questa è una chiave privata: chi la possiede può prendere tutto il denaro. Non l’abbiamo conservata. Sposti il denaro in un wallet nuovo.',
        taken:
          'Questa chiave appartiene qui a un altro conto. Esporti quella di un conto usato solo da questo negozio.',
        otherKey: (addresses) =>
          `Questa chiave produce altri indirizzi; i primi sono ${addresses}. Se il suo wallet non ne mostra nessuno, esporti la chiave del conto che mostra il suo.`,
        noConfirm: 'Copi il primo indirizzo che il suo wallet mostra per questo conto.',
        mistyped: 'Questo non è un indirizzo, o contiene un errore: lo copi dal suo wallet.',
        takenAddress: (address) => `${address} è usato qui da un altro conto.`,
        noWallet: (address) => `${address} non è un wallet: il denaro inviato lì è perso.`,
        onlyOne: 'Scriva un solo indirizzo.',
        twice: 'Un indirizzo compare due volte.',
      },
    },
  },
)
