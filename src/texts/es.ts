import { es as button } from './buttons/es.ts'
import { es as mails } from './mails/es.ts'
import { es as order } from './orders/es.ts'
import type { Texts } from './texts.ts'
import { es as till } from './till/es.ts'
import { es as wallet } from './wallets/es.ts'

export const es: Texts = {
  locale: 'es-ES',
  name: 'Español',
  pay: {
    channels: {
      crypto: 'USDC desde su monedero',
      'whitepay-non-custody': 'Cualquier monedero, con Whitepay',
      coinbase: 'USDC desde su cuenta de Coinbase',
    },
    sandbox: 'Entorno de pruebas: no es dinero real.',
    language: 'Idioma',
    payTo: 'Pago a',
    approximately: 'unos',
    rate: (one, other) => `${one} = ${other}`,
    rateHeld: 'Este cambio está garantizado hasta que se agote el tiempo.',
    rateChosen: 'el cambio se fija al elegir cómo pagar',
    heldUntil: (date) => `el importe mostrado se mantiene para esta forma de pago hasta el ${date}`,
    timeLeft: 'Tiempo restante',
    validUntil: (date) => `válido hasta el ${date}`,
    onNetwork: (network) => `en ${network}`,
    qrWallet: 'Código QR para monederos: dirección, red e importe',
    qrAddress: 'Código QR solo con la dirección',
    qrApp: 'Código QR para la aplicación de pago',
    qrChoice: 'Contenido del código QR',
    walletLink: 'Para monederos',
    addressOnly: 'Solo dirección',
    addressOnlyHint: 'Para plataformas de intercambio y otras aplicaciones: introduzca usted el importe.',
    scan: 'Escanee con su monedero',
    scanWith: (app) => `Escanee con la aplicación de ${app} o continúe más abajo.`,
    amount: 'Importe',
    address: 'Dirección',
    network: 'Red',
    copy: 'Copiar',
    copied: 'Copiado',
    byHand: 'Aquí no se puede copiar. El texto está seleccionado: cópielo a mano y compruébelo después de pegarlo.',
    copyAmount: 'el importe',
    copyAddress: 'la dirección',
    onlyOn: (network) => `Envíe solo USDC y solo en ${network}. Cualquier otro envío puede perderse.`,
    openWallet: 'Abrir en el monedero',
    arrived: 'Recibido',
    missing: 'Falta por pagar',
    coming: 'En camino',
    confirmations: (done, needed) => `${done} de ${needed} confirmaciones`,
    confirmationsOpen: (done) => (done === 1 ? '1 confirmación' : `${done} confirmaciones`),
    received: 'Recibido',
    paidAt: 'Fecha',
    order: 'Pedido',
    goods: 'Concepto',
    transaction: 'Transacción',
    backToShop: 'Volver a la tienda',
    returnIn: (seconds) => `Vuelta a la tienda en ${seconds} s.`,
    returnSay: (seconds) => `Volverá a la tienda en ${seconds} segundos, salvo que elija «Quedarse en esta página».`,
    stay: 'Quedarse en esta página',
    notPaid: 'Todavía no he pagado',
    notPaidOnline: 'Empiece de nuevo en la tienda: recibirá un precio nuevo.',
    notPaidHere: 'Pida un código nuevo en la caja.',
    havePaid: 'Ya he pagado',
    stillLooking: 'Seguimos buscando un pago enviado a tiempo. No pague otra vez: esta página continuará sola.',
    havePaidHelp: (merchant, code) =>
      'No pague otra vez. Su pago no se ha perdido: en cuanto se confirme, se añadirá a este pedido o ' +
      `${merchant} se lo devolverá. Guarde el número de transacción y este número de pedido: ${code}.`,
    another: 'Pagar de otra forma',
    cancel: 'Cancelar este pedido',
    cancelWarning: 'Cancele solo si no ha enviado nada.',
    cancelNow: 'Sí, cancelar',
    takeBack: (merchant, code) =>
      `¿Prefiere recuperar su dinero? Contacte con ${merchant} e indique el pedido ${code}; pueden devolverle lo que ha llegado.`,
    beside: (amount, merchant) =>
      `${amount} han llegado por un intento anterior o demasiado tarde y no cuentan aquí. ${merchant} los ve y puede devolvérselos.`,
    besideComing: (amount, merchant) =>
      `${amount} están en camino por un intento anterior. No los pague otra vez: aquí no cuentan, pero en cuanto lleguen, ${merchant} los verá y podrá devolvérselos.`,
    sentBefore: (place, merchant, code) =>
      `No envíe nada más a ${place}. Si ya lo ha hecho, no pague otra vez: contacte con ${merchant} e indique el pedido ${code}.`,
    uncredited: (amount, channel, merchant) =>
      `${amount} han llegado a ${channel} de otra forma que la pedida, por ejemplo por otra red, y no cuentan aquí. ${merchant} los ve y decide sobre ellos.`,
    help: 'He pagado, pero no pasa nada',
    helpText: (merchant, code) =>
      'Un envío suele aparecer aquí en menos de un minuto. Compruebe en su monedero que envió USDC, en la red ' +
      'indicada y a esta dirección. Si es así y nada cambia, ' +
      `contacte con ${merchant} e indique el pedido ${code}.`,
    lost: 'Sin conexión. La página sigue intentándolo; su pago no se ve afectado.',
    testWallet: 'Pagar con el monedero de pruebas',
    testProvider: 'Actuar como pagador en el proveedor de pruebas',
    testDecline: 'Rechazar',
    testFull: 'Importe exacto',
    testHalf: 'La mitad',
    testMore: 'De más',
    problems: {
      CHANNEL_UNAVAILABLE:
        'El proveedor de pagos no ha respondido. No se ha cobrado nada; inténtelo de nuevo enseguida.',
      CHANNEL_NOT_AVAILABLE: 'Esta forma de pago ya no está disponible. Elija otra.',
      LINK_UNAVAILABLE: 'No se ha podido abrir la página del proveedor. Inténtelo de nuevo enseguida.',
      ORDER_STATE_CONFLICT: 'Ya no es posible. Esta página muestra cómo está ahora su pedido.',
      PURCHASE_SOLD: `${button.paidTitle}. ${button.paid}`,
      PAYER_IDENTITY_REQUIRED: 'Para este importe, el comercio debe saber quién paga.',
      SPENDING_LIMIT_EXCEEDED:
        'Con este pedido superaría lo que el comercio puede aceptar en 30 días. Contacte con el comercio.',
      TRANSACTION_INVALID: 'Un hash de transacción consta de 0x y 64 caracteres. Cópielo entero.',
      TRANSACTION_UNKNOWN:
        'Ninguna red de esta tienda conoce todavía esta transacción. Compruebe el hash o inténtelo de nuevo en un minuto.',
      TRANSACTION_WAITING: 'La transacción está en camino. Aparecerá aquí en cuanto la red la confirme.',
      TRANSACTION_ELSEWHERE: 'Esta transacción no paga este pedido. Compruebe la dirección, el token y la red.',
      TRANSACTION_TOKEN:
        'Esta transacción envió otro token, no USDC. El comercio lo ve y puede devolvérselo; contacte con él.',
      PAYMENT_NOT_RECEIVED:
        'El proveedor aún no ha comunicado ningún pago de este pedido. Compruebe en su aplicación que se completó o inténtelo de nuevo en un minuto.',
      CROSS_SITE_REQUEST: 'Por su seguridad, este paso debe empezar en esta página. Inténtelo de nuevo.',
    },
    problem: 'No ha funcionado. Inténtelo de nuevo enseguida.',
    unknownTitle: 'No encontramos este pedido',
    unknown:
      'Compruebe que copió el enlace completo o escanee otra vez el código del comercio. ' +
      'Si venía de una tienda, vuelva a ella y empiece el pago de nuevo.',
    failedTitle: 'Algo ha fallado por nuestra parte',
    failed: 'Su pago no se ve afectado. Recargue esta página en un momento.',
  },
  order,
  identity: {
    title: '¿Quién paga?',
    why: (merchant) => `Para este importe, ${merchant} debe saber quién paga. Sus datos se guardan cifrados.`,
    email: 'Correo electrónico',
    emailHint: 'Para noticias de este pago, nada más.',
    firstName: 'Nombre',
    lastName: 'Apellidos',
    orCompany: 'O, si paga una empresa:',
    companyName: 'Nombre de la empresa',
    next: 'Continuar',
    faults: {
      emailMissing: 'Indique una dirección de correo.',
      emailWrong: 'Esta dirección de correo no está completa; por ejemplo nombre@ejemplo.es.',
      firstName: 'Indique su nombre, o el de una empresa más abajo.',
      lastName: 'Indique sus apellidos, o el nombre de una empresa más abajo.',
    },
  },
  refund: {
    title: 'Su reembolso',
    from: (merchant) => `Reembolso de ${merchant}`,
    ask: (network) => `¿A qué dirección de monedero en ${network} debe ir?`,
    notTheSender: 'No lo devolvemos sin más al remitente: esa dirección puede ser de una plataforma de intercambio.',
    proposed: (merchant) =>
      `${merchant} propone la dirección de abajo. Confírmela solo si es la suya; si no, indique la suya.`,
    passedOn: (merchant) =>
      `Gracias. ${merchant} comprueba esta dirección y después se envía el dinero. Aún puede cambiarla.`,
    label: 'Dirección del monedero',
    hint: '0x y 40 caracteres. Cópiela de su monedero, no la escriba.',
    next: 'Comprobar la dirección',
    checkTitle: '¿Es esta su dirección?',
    check: (network) =>
      `Compare cada carácter con su monedero. El dinero enviado a una dirección errónea en ${network} se pierde.`,
    confirm: 'Sí, enviarlo allí',
    change: 'Cambiarla',
    invalid: 'Esta dirección no es válida. Cópiela otra vez de su monedero: 0x y 40 caracteres.',
    notYours: 'Esta dirección es del token o del comercio, no suya. Copie la de su propio monedero.',
    done: 'Gracias. El dinero va de camino a esta dirección.',
    sentTo: 'Enviado a',
    transaction: 'Transacción',
    dropped: (merchant) => `Este reembolso no se realizó. Pregunte a ${merchant}.`,
    unknownTitle: 'Este enlace no funciona',
    unknown: 'Abra de nuevo el enlace del correo, o pida uno nuevo al comercio.',
  },
  kyc: {
    title: 'Comprobación de identidad',
    from: (merchant) => `Comprobación de identidad para ${merchant}`,
    order: 'Pedido',
    states: {
      pending: 'Hay que comprobar su identidad',
      closer: 'Hace falta una comprobación más detallada',
      approved: 'Su identidad está confirmada',
      refused: 'No se ha podido confirmar su identidad',
    },
    why: (merchant) => `La ley obliga a ${merchant} a saber quién paga este importe.`,
    closerWhy: (merchant) => `Para compras mayores, ${merchant} debe comprobar con más detalle quién paga.`,
    notCharged: 'No se ha cobrado nada.',
    byHand: (merchant) =>
      `${merchant} se encarga y le pedirá por correo lo que haga falta, normalmente la copia de un documento de identidad.`,
    prepare: 'Tenga a mano un documento de identidad y una cámara. Son unos minutos.',
    again: 'Inténtelo de nuevo',
    comeBack: 'Esta página muestra el resultado por sí sola. Puede cerrarla y volver con el enlace del correo.',
    loading: 'Se está cargando la comprobación…',
    failed: 'No se ha podido cargar la comprobación. No se pierde nada; inténtelo de nuevo en un momento.',
    retry: 'Intentar de nuevo',
    noScript: 'La comprobación necesita JavaScript y una cámara. Active JavaScript o abra el enlace en otro navegador.',
    approved: 'Gracias. Ya puede continuar.',
    toPayment: 'Continuar con el pago',
    startAgain: (merchant) =>
      `Se acabó el tiempo para pagar este pedido. Empiece de nuevo en ${merchant}; con el mismo correo no se le comprueba otra vez.`,
    paid: 'Ha llegado un pago de este pedido, o está en camino. En su página verá cómo va.',
    toPaid: 'Ver el pago',
    cannotPay: 'Este pedido no se puede pagar.',
    mistaken: (merchant, shortCode) =>
      `Si cree que es un error, contacte con ${merchant} e indique el pedido ${shortCode}.`,
    mailedTitle: 'Le hemos enviado un correo',
    mailed: 'Abra el enlace que contiene para seguir con la comprobación, en el dispositivo que quiera.',
    notMailed: (merchant, shortCode) =>
      `Si no llega ningún correo, ${merchant} también puede darle el enlace: indique el pedido ${shortCode}.`,
    unknownTitle: 'Este enlace no funciona',
    unknown: 'Abra de nuevo el enlace del correo, o pida uno nuevo al comercio.',
  },
  account: {
    verifyTitle: 'Confirme su dirección de correo',
    verifyText: ({ email, role, company }) =>
      company === null
        ? `Con la dirección ${email} se ha registrado una cuenta con el rol «${role}».`
        : `Con la dirección ${email} se ha registrado una cuenta en ${company} con el rol «${role}».`,
    verifyOnlyYou: 'Pulse el botón solo si espera esta cuenta.',
    verifyNotYou: '¿No la espera? Cierre esta página. Sin su confirmación la cuenta no puede hacer nada.',
    verifyButton: 'Confirmar',
    verified: 'Su dirección está confirmada.',
    verifiedStays: 'En este navegador su sesión sigue abierta.',
    verifiedEnded:
      'Inicie sesión para continuar. Por seguridad, las sesiones anteriores de esta cuenta se han cerrado.',
    verifiedChoose:
      'Elija ahora una contraseña. Por seguridad, la anterior ya no es válida y las sesiones anteriores de esta cuenta se han cerrado.',
    goOn: 'Continuar',
    taken:
      'Esta dirección tiene ya una cuenta que la invitación no puede sustituir. Inicie sesión en ella o restablezca su contraseña.',
    deadLink: 'Este enlace ya no vale. Pida un mensaje nuevo.',
    resetTitle: 'Elija una contraseña nueva',
    resetLabel: 'Contraseña nueva',
    resetHint: 'De 12 a 128 caracteres con mayúscula, minúscula, cifra y carácter especial.',
    resetButton: 'Guardar',
    resetDone: 'Su contraseña ha cambiado. Ya puede entrar.',
    passwordFaults: {
      short: 'Use al menos 12 caracteres.',
      long: 'Use como máximo 128 caracteres.',
      upper: 'Añada una mayúscula.',
      lower: 'Añada una minúscula.',
      digit: 'Añada una cifra.',
      special: 'Añada un carácter especial, por ejemplo «!» o «?».',
      common:
        'Esta contraseña es fácil de adivinar. Elija varias palabras sin relación entre sí o deje que un gestor de contraseñas cree una.',
    },
    logIn: 'Entrar',
    confirmTitle: 'Se ha pedido una contraseña nueva en la aplicación',
    confirmText: 'Pulse solo si ha sido usted. La aplicación podrá entonces fijar la contraseña nueva.',
    confirmButton: 'He sido yo',
    confirmed: 'Gracias. Vuelva a la aplicación y elija la contraseña.',
  },
  busy: {
    title: 'Un momento, por favor',
    text: 'Se han abierto demasiadas páginas desde su red. Espere un minuto y vuelva a abrir esta página.',
  },
  missing: {
    title: 'Esta página no existe',
    text: 'Compruebe que copió la dirección completa o vuelva atrás y siga otra vez el enlace.',
  },
  unreadable: {
    title: 'No hemos podido leer lo que ha escrito',
    text: 'Es demasiado largo o contiene un carácter que no se puede guardar. Vuelva atrás, escríbalo de nuevo a mano y envíelo otra vez.',
  },
  mailbox: {
    title: 'Buzón del entorno de pruebas',
    lead: 'Estos correos se habrían enviado. Defina SMTP_URL para enviarlos.',
    to: 'Para',
    show: 'Mostrar',
    none: 'Todavía no hay correos.',
    withLayout: 'con su diseño',
  },
  mails,
  button,
  wallet,
  till,
}
