import type { EndingTexts, OrderTexts, RestTexts } from '../order-texts.ts'

/** How the rest of a part payment is paid. */
const restOf: RestTexts = {
  address: ({ amount }) => `Envíe los ${amount} restantes a la misma dirección antes de que se agote el tiempo.`,
  provider: ({ channel }) =>
    `Pague el resto en ${channel} antes de que se agote el tiempo. Su página indica cuánto, en la moneda que eligió allí.`,
  whole: ({ channel }) =>
    `${channel} devuelve los pagos demasiado pequeños y se lo comunica por correo. No envíe el resto: para pagar, envíe allí el precio completo en un solo pago.`,
}

/** What came for an order that is not paid. */
const cameTo: EndingTexts = {
  expired: ({ amount }) => `Hemos recibido ${amount}, pero no todo a tiempo.`,
  cancelled: ({ amount }) => `Hemos recibido ${amount} por este pedido, que se canceló.`,
  other: ({ amount }) => `Hemos recibido ${amount}.`,
}

export const es: OrderTexts = {
  situations: {
    choose: {
      title: 'Elija cómo pagar',
      text: () => 'No se cobra nada hasta que usted lo confirme en su aplicación o monedero.',
      next: ({ channel }) => `Pagar con ${channel}`,
    },
    unavailable: {
      title: 'Este comercio no puede cobrar en este momento',
      text: () => 'No se le ha cobrado nada.',
      next: () => 'Avise al comercio o abra esta página de nuevo dentro de unos minutos.',
    },
    preparing: {
      title: 'Preparando su pago',
      text: () => 'Tarda unos segundos. La página continúa sola.',
      next: () => 'Pagar de otra forma',
    },
    providerDown: {
      title: 'El proveedor de pagos no responde',
      text: () => 'No se le ha cobrado nada. Seguimos intentándolo y esta página continuará sola.',
      next: () => 'Pagar de otra forma',
    },
    waiting: {
      title: 'Esperando su pago',
      text: () => 'Aparecerá aquí segundos después de enviarlo.',
      next: () => 'Escanee el código o copie el importe y la dirección.',
    },
    partly: {
      title: 'Ha llegado una parte de su pago',
      text: ({ amount, rest }) =>
        rest === 'address' ? `Todavía faltan ${amount}.` : `Todavía falta el equivalente de ${amount}.`,
      next: (facts) => restOf[facts.rest](facts),
    },
    onItsWay: {
      title: 'Hay un pago en camino',
      text: ({ channel, due }) => `${channel} ve llegar un pago, pero todavía no los ${due} completos.`,
      next: (facts) =>
        facts.rest === 'whole'
          ? restOf.whole(facts)
          : 'Si ya lo ha enviado todo, no tiene que hacer nada más. Si no, envíe allí el resto.',
    },
    accountGone: {
      title: 'No pague aquí el resto',
      text: ({ channel, merchant }) =>
        `Ha llegado dinero a ${channel} o está en camino, pero ${merchant} ya no acepta pagos por esa vía.`,
      next: ({ merchant, code }) => `Antes de pagar nada más, contacte con ${merchant} e indique el pedido ${code}.`,
    },
    wrongToken: {
      title: 'Ha llegado otro token',
      text: ({ token, merchant }) =>
        `Ha enviado ${token}, pero este pedido solo se paga con USDC. ${merchant} lo ve y puede devolvérselo.`,
      next: ({ due, network, channel }) =>
        network
          ? `Para pagar, envíe ${due} en ${network}. No envíe ningún otro token.`
          : `Para pagar, continúe en ${channel}.`,
    },
    seen: {
      title: 'Pago recibido, confirmando',
      text: ({ confirms }) =>
        confirms === ''
          ? 'La red lo confirma por sí sola.'
          : `${confirms} lo ha visto y todavía lo está confirmando. Esta página continúa sola.`,
      next: ({ confirms }) =>
        confirms === ''
          ? 'No tiene que hacer nada más. Puede cerrar esta página.'
          : 'No pague otra vez. Puede cerrar esta página.',
    },
    hold: {
      title: 'Pago recibido, última comprobación',
      text: () =>
        'Todos los pagos pasan un control de seguridad. Suele durar un minuto; si dura más, no se pierde nada.',
      next: () => 'No pague otra vez. Puede cerrar esta página.',
    },
    paid: {
      title: 'Pagado',
      text: ({ merchant }) => `${merchant} ha recibido su pago.`,
      next: () => 'Volver a la tienda',
    },
    overpaid: {
      title: 'Pagado, y de más',
      text: ({ merchant, amount }) =>
        `${merchant} ha recibido su pago. Ha enviado ${amount} de más; el comercio lo ve y puede devolvérselos.`,
      next: ({ merchant, code }) => `Para recuperarlos, contacte con ${merchant} e indique el pedido ${code}.`,
    },
    expired: {
      title: 'Se ha agotado el tiempo para pagar',
      text: ({ shown, channel }) => {
        if (shown === 'address') return 'No envíe nada a la dirección anterior.'
        return shown === 'provider' ? `No pague ya en ${channel}.` : 'No se le ha cobrado nada.'
      },
      next: () => 'Pedir un precio nuevo',
    },
    late: {
      title: 'Ha llegado dinero, pero el pedido no está pagado',
      text: (facts) => `${cameTo[facts.ending](facts)} No se ha perdido: ${facts.merchant} lo acepta o se lo devuelve.`,
      next: ({ merchant, code }) => `No pague otra vez. Contacte con ${merchant} e indique el pedido ${code}.`,
    },
    onItsWayEnded: {
      title: 'Hay un pago en camino',
      text: ({ amount, confirms, merchant }) =>
        `${confirms} nos ha comunicado un pago de ${amount}. No se ha perdido: en cuanto se confirme, se añadirá a este pedido o ${merchant} se lo devolverá.`,
      next: ({ merchant, code }) =>
        `No pague otra vez. Si tiene preguntas, contacte con ${merchant} e indique el pedido ${code}.`,
    },
    wrongTokenEnded: {
      title: 'Ha llegado otro token y el pedido no está pagado',
      text: ({ token, merchant }) =>
        `Ha enviado ${token}, pero este pedido solo se paga con USDC. ${merchant} lo ve y puede devolvérselo.`,
      next: ({ merchant, code }) => `Para recuperarlo, contacte con ${merchant} e indique el pedido ${code}.`,
    },
    sentBack: {
      title: 'Se le ha devuelto el dinero',
      text: ({ merchant, amount }) => `${merchant} le ha devuelto ${amount}. Este pedido no está pagado.`,
      next: ({ shown }) =>
        shown === 'address'
          ? 'No envíe nada a la dirección anterior. Si aun así quiere pagar, empiece de nuevo en el comercio.'
          : 'Si aun así quiere pagar, empiece de nuevo en el comercio.',
    },
    cancelled: {
      title: 'Este pedido se ha cancelado',
      text: ({ shown }) => {
        if (shown === 'address') return 'No pague este pedido. No envíe nada a la dirección anterior.'
        return shown === 'provider' ? 'No pague este pedido.' : 'No se le ha cobrado nada.'
      },
      next: () => 'No tiene que hacer nada.',
    },
    error: {
      title: 'No se ha podido completar el pago',
      text: ({ merchant, code }) =>
        `El proveedor de pagos lo ha rechazado. Si se le ha cobrado, contacte con ${merchant} e indique el pedido ${code}.`,
      next: () => 'Elegir otra forma de pago',
    },
    refundApproval: {
      title: 'Su reembolso está pendiente de aprobación',
      text: ({ merchant, amount }) =>
        `${merchant} quiere devolverle ${amount}. Antes tiene que aprobarlo una segunda persona.`,
      next: () => 'No tiene que hacer nada.',
    },
    refundAddress: {
      title: '¿Adónde enviamos su reembolso?',
      text: ({ merchant, amount }) => `${merchant} quiere devolverle ${amount} y necesita la dirección de su monedero.`,
      next: () => 'Indicar mi dirección',
    },
    refundCheck: {
      title: 'Tenemos su dirección',
      text: ({ merchant, amount }) => `${merchant} la comprueba y después le devuelve ${amount}.`,
      next: () => 'Cambiar mi dirección',
    },
    refundMailed: {
      title: 'Falta su dirección para el reembolso',
      text: ({ merchant, amount }) =>
        `${merchant} quiere devolverle ${amount}. Por su seguridad, el enlace para indicar su dirección solo se ha enviado a su correo.`,
      next: () => 'Abra el enlace de ese correo.',
    },
    refundByHand: {
      title: 'Se está preparando su reembolso',
      text: ({ merchant, amount }) =>
        `Se le devuelven ${amount} de su pago a ${merchant}. Lo envía una persona a mano y puede tardar unos días.`,
      next: () => 'No tiene que hacer nada.',
    },
    refunding: {
      title: 'Su reembolso está en camino',
      text: ({ merchant, amount }) => `${merchant} le está devolviendo ${amount}. Puede tardar un poco.`,
      next: ({ mailer }) =>
        mailer === ''
          ? 'No tiene que hacer nada.'
          : `¿Pagó desde un monedero y no en la aplicación de ${mailer}? Entonces ${mailer} le pide su dirección por correo, y el reembolso espera su respuesta.`,
    },
    refundedPart: {
      title: 'Reembolsado en parte',
      text: ({ amount, due }) => `Se le han devuelto ${amount} de ${due}.`,
      next: () => 'El resto del pedido sigue pagado.',
    },
    refunded: {
      title: 'Reembolsado',
      text: ({ amount }) => `Se le ha devuelto el importe completo: ${amount}.`,
      next: () => 'No tiene que hacer nada.',
    },
    review: {
      title: 'Este pago está en revisión',
      text: () => 'El control de seguridad del monedero que pagó necesita la decisión de una persona.',
      next: ({ merchant, code }) =>
        `No pague otra vez. Si tiene preguntas, contacte con ${merchant} e indique el pedido ${code}.`,
    },
  },
  receipt: {
    title: 'Recibo',
    from: (merchant) => `Recibo de ${merchant}`,
    vatNumber: 'NIF-IVA de la tienda',
    number: 'Pedido',
    reference: 'Referencia',
    price: 'Precio',
    paid: 'Pagado',
    rate: 'Cambio',
    channel: 'Forma de pago',
    sentBack: 'Devuelto',
    sentBackBeside: 'Devuelto, aparte de este pago',
    sentTo: 'Enviado a',
    show: 'Recibo',
    onExplorer: 'Ver la transacción',
    print: 'Imprimir',
    signed: 'Copia firmada (JSON)',
    verify: 'La firma de este recibo se puede comprobar con las claves públicas de este servicio:',
    terms: 'Condiciones',
    unknown: 'Este recibo no existe. Compruebe que copió el enlace completo.',
  },
  ways: {
    groups: {
      exchange: 'Con la aplicación de un exchange',
      wallet: 'Con un monedero',
      onramp: 'Con una cuenta de Coinbase',
    },
    notes: {
      exchange: 'desde su saldo, en segundos',
      wallet: 'USDC más la comisión de red, un minuto',
      onramp: 'allí compra USDC, más la comisión, unos minutos',
    },
    lastUsed: 'la última usada',
    otherWays: 'Otras formas de pago',
    showCode: 'Mostrar el código',
    openApp: (app) => `Abrir la aplicación de ${app}`,
    openPage: (provider) => `Continuar en ${provider}`,
    newPrice: 'Pedir un precio nuevo',
    newPriceWith: (channel) => `Precio nuevo, pagar con ${channel}`,
    newPriceHint: 'El mismo pedido, al cambio de hoy.',
  },
  help: {
    title: 'Ayuda',
    ask: (merchant, code) => `¿Preguntas sobre este pedido? Contacte con ${merchant} e indique ${code}.`,
    phone: 'Teléfono',
    email: 'Correo',
    subject: (code) => `Pedido ${code}`,
    reference: 'Hash de la transacción o número del pago en el proveedor',
    referenceHint: 'Su monedero, plataforma o aplicación lo muestra junto al pago.',
    referenceSend: 'Buscar mi pago',
    otherNetwork: (network, merchant, code) =>
      `¿Lo envió por una red que no es ${network}? No pague otra vez. Allí la dirección suele pertenecer también al servicio del comercio, así que el dinero se puede recuperar: contacte con ${merchant} e indique el pedido ${code} y el hash de la transacción.`,
    otherToken: (merchant, code) =>
      `ETH y la mayoría de los demás tokens nunca aparecen aquí por sí solos, aunque hayan llegado a esta dirección. No envíe nada más: contacte con ${merchant} e indique el pedido ${code} y el hash de la transacción.`,
  },
  askBack: {
    offer: (merchant) => `Puede pedir aquí que se lo devuelvan. ${merchant} recibe el aviso al momento y decide.`,
    button: 'Pedir que me lo devuelvan',
    asked: (merchant) =>
      `Ha pedido que le devuelvan este dinero y ${merchant} ya lo sabe. Guarde el enlace de esta página: aquí verá lo que se decida y dónde indicar la dirección de su monedero si hace falta.`,
  },
  link: {
    preview: (merchant, amount) => `Pagar ${amount} a ${merchant}`,
    previewText: 'Abra el enlace y elija cómo pagar.',
    poster: 'Cartel para imprimir',
    posterText: 'Escanee el código con el móvil para pagar.',
    print: 'Imprimir',
    payTo: (merchant) => `Pagar a ${merchant}`,
    payNow: (amount) => `Pagar ${amount}`,
    goOn: 'Continuar',
    amountLabel: (currency) => `Importe en ${currency}`,
    between: (least, most) => `De ${least} a ${most}`,
    nothingYet: 'A continuación elegirá cómo pagar. Antes no se cobra nada.',
    last: {
      unfinished: (amount) => `Su pago de ${amount} está sin terminar`,
      resumeHint: 'Continúelo para no pagar dos veces.',
      resume: 'Continuar este pago',
      another: 'Empezar otro pago',
      see: (amount) => `Ver su último pago aquí: ${amount}`,
    },
    closedTitle: 'Este enlace está cerrado',
    closed: (merchant) => `${merchant} ya no cobra por este enlace. Pida al comercio un enlace o código nuevo.`,
    notSetUp: (merchant) => `Este enlace no está bien configurado. Avise a ${merchant}.`,
    faults: {
      wrong: (example) => `Escriba un importe, por ejemplo ${example}.`,
      low: (least) => `El importe mínimo es ${least}.`,
      high: (most) => `El importe máximo es ${most}.`,
    },
  },
  verify: {
    title: 'Comprobar un recibo',
    lead: 'Esta página funciona sola, también guardada en su ordenador y sin conexión. Lo que escriba no sale de ella.',
    receipt: 'Recibo firmado',
    receiptHint: 'Abra el archivo o pegue lo que muestra «Copia firmada (JSON)» en el recibo.',
    file: 'Abrir un archivo',
    keys: 'Claves públicas del servicio',
    keysHint: 'Pegue lo que el servicio muestra en /.well-known/jwks.json u obtenga las claves allí.',
    fetchKeys: 'Obtener las claves de %',
    check: 'Comprobar',
    good: 'Este recibo es auténtico',
    goodText:
      'Firmado por %. Asegúrese de que confía en este servicio: cualquiera puede poner en marcha otro y firmar sus propios recibos.',
    bad: 'Este recibo no es auténtico',
    badText: 'La firma no corresponde al contenido: se ha cambiado algo o lo firmó otra clave.',
    unreadable: 'Esto no es un recibo firmado. Pegue el texto entero, desde la primera llave hasta la última.',
    noKeys: 'Pegue primero las claves públicas u obténgalas del servicio.',
    keyMissing: 'Ninguna de estas claves firmó este recibo. Obtenga las claves del servicio que lo emitió.',
    noFetch: '% no responde. Abra la dirección en otra ventana y pegue las claves.',
    altered: 'La copia legible que acompaña a la firma dice otra cosa. Solo está firmado lo que aparece abajo.',
    unsupported:
      'Este navegador no puede comprobar estas firmas. Use uno más reciente o la orden: comptoir verify-receipt FILE',
    save: 'Guardar esta página',
    link: 'Comprobar un recibo firmado en su propio ordenador',
  },
}
