import { countLines, type MailTexts, type RoleWords, roleWord, someOf } from '../mail-texts.ts'

const notYou = 'Si no ha sido usted, cambie ahora mismo la contraseña y avise al operador de este servicio.'

const roles: RoleWords = {
  SuperAdmin: 'Operador',
  SuperManager: 'Responsable de varias empresas',
  Manager: 'Responsable',
  Association: 'Asociación',
  Cashier: 'Cajero',
  Observer: 'Observador',
  SimpleUser: 'Cliente',
  Service: 'Máquina',
}

export const es: MailTexts = {
  greeting: (name) => `Hola, ${name}:`,
  closing: 'Este es un mensaje automático. Las respuestas no se leen.',
  help: ({ merchant, contact, shortCode }) =>
    `¿Alguna pregunta? Contacte con ${merchant}: ${contact}. Indique el número de pedido ${shortCode}.`,
  screens: { home: 'Abrir el panel', account: 'Revisar mi cuenta', keys: 'Ver las claves de API' },
  roles,
  kinds: {
    verifyEmail: ({ role, company, url }) => ({
      subject: 'Confirme su dirección de correo',
      paragraphs: someOf([
        role !== '' &&
          (company === ''
            ? `Con esta dirección se ha registrado una cuenta con el rol «${roleWord(roles, role)}».`
            : `Con esta dirección se ha registrado una cuenta en ${company} con el rol «${roleWord(roles, role)}».`),
        'Confirme solo si espera esta cuenta. Hasta entonces la cuenta solo muestra su propio perfil.',
      ]),
      button: { label: 'Confirmar mi dirección', url },
      note: 'El enlace vale 48 horas. Si no la espera, no confirme y no haga caso de este mensaje: sin su confirmación la cuenta no puede hacer nada.',
    }),
    loginCode: ({ code }) => ({
      subject: `${code} es su código de acceso`,
      paragraphs: ['Escriba este código para terminar de entrar:'],
      code,
      note: `Vale 5 minutos y una sola vez. No se lo dé a nadie. ${notYou}`,
    }),
    confirmCode: ({ code }) => ({
      subject: `${code} es su código de confirmación`,
      paragraphs: ['Escriba este código para confirmar la acción en curso en su cuenta:'],
      code,
      note: `Vale 5 minutos y una sola vez. No se lo dé a nadie. ${notYou}`,
    }),
    resetLink: ({ url }) => ({
      subject: 'Elija una contraseña nueva',
      paragraphs: ['Alguien, seguramente usted, ha pedido una contraseña nueva para esta cuenta.'],
      button: { label: 'Elegir una contraseña', url },
      note: 'El enlace vale 30 minutos y una sola vez. Si no lo ha pedido, su contraseña no cambia.',
    }),
    resetCode: ({ url, code }) => ({
      subject: `${code} es su código para una contraseña nueva`,
      paragraphs: [
        'Alguien, seguramente usted, ha pedido en la aplicación una contraseña nueva. Escriba allí este código o use el botón:',
      ],
      code,
      button: { label: 'He sido yo', url },
      note: 'Ambos valen 30 minutos. Si no lo ha pedido, no pulse el botón: su contraseña no cambia.',
    }),
    passwordChanged: () => ({
      subject: 'Su contraseña ha cambiado',
      paragraphs: ['La contraseña de su cuenta acaba de cambiar y se ha cerrado la sesión en todos los dispositivos.'],
      note: notYou,
    }),
    invitation: ({ inviter, company, replaces, url }) => ({
      subject: `${company} le invita`,
      paragraphs: someOf([
        `${inviter} ha creado una cuenta para usted en ${company}. Elija una contraseña para usarla.`,
        replaces !== '' &&
          'Esta dirección ya tiene una cuenta aquí. Cuando elija la contraseña, esa cuenta se cerrará y la nueva ocupará su lugar.',
      ]),
      button: { label: 'Elegir una contraseña', url },
      note:
        replaces === ''
          ? 'El enlace vale 7 días y una sola vez.'
          : `El enlace vale 7 días y una sola vez. Si quiere conservar la cuenta anterior o no conoce ${company}, no haga caso de este mensaje.`,
    }),
    approvalNeeded: ({ applicant, applicantEmail, role, company, url }) => ({
      subject: `${applicant} pide entrar en ${company}`,
      paragraphs: [
        `${applicant} (${applicantEmail}) se ha registrado en ${company} con el rol «${roleWord(roles, role)}». Sin su aprobación esa cuenta no puede hacer nada.`,
      ],
      button: { label: 'Verlo', url },
      note: 'Si no conoce a esta persona, no tiene que hacer nada.',
    }),
    accountApproved: ({ company }) => ({
      subject: 'Su cuenta está aprobada',
      paragraphs: [`Un responsable de ${company} ha aprobado su cuenta. Ya puede trabajar con ella.`],
    }),
    companyApproved: ({ company }) => ({
      subject: `${company} está aprobada`,
      paragraphs: [`El operador ha aprobado ${company}. Ya puede crear pedidos.`],
    }),
    authenticatorAdded: () => ({
      subject: 'Se ha añadido una aplicación de autenticación',
      paragraphs: ['A partir de ahora, entrar en su cuenta pide un código de su aplicación de autenticación.'],
      note: notYou,
    }),
    deviceLogin: ({ computer, address }) => ({
      subject: 'Un programa ha iniciado sesión',
      paragraphs: [
        `Ha confirmado el acceso de «${computer}», solicitado desde la dirección ${address}. El programa dispone ahora de una clave de API de su empresa.`,
        'Si no lo reconoce, revoque la clave en el panel, en Claves de API, y cambie su contraseña.',
      ],
    }),
    passkeyAdded: ({ passkey }) => ({
      subject: 'Se ha añadido una llave de acceso',
      paragraphs: [`La llave de acceso «${passkey}» ya puede confirmar su inicio de sesión.`],
      note: notYou,
    }),
    passkeyRemoved: ({ passkey }) => ({
      subject: 'Se ha eliminado una llave de acceso',
      paragraphs: [`La llave de acceso «${passkey}» ya no confirma su inicio de sesión.`],
      note: notYou,
    }),
    authenticatorRemoved: () => ({
      subject: 'Se ha quitado su aplicación de autenticación',
      paragraphs: ['A partir de ahora, los códigos para entrar en su cuenta llegan por correo.'],
      note: notYou,
    }),
    secondFactorReset: ({ app, passkeys }) => ({
      subject: 'Se ha restablecido su segundo factor',
      paragraphs: [
        ...(app === '' ? [] : ['Su aplicación de autenticación ya no confirma su inicio de sesión.']),
        ...(passkeys === '' ? [] : [`Estas llaves de acceso ya no confirman su inicio de sesión: ${passkeys}.`]),
        'A partir de ahora, los códigos para entrar en su cuenta llegan por correo.',
      ],
      note: notYou,
    }),
    recoveryCodeUsed: ({ left }) => ({
      subject: 'Se ha usado un código de recuperación',
      paragraphs: [`Alguien ha entrado en su cuenta con un código de recuperación. Códigos que quedan: ${left}.`],
      note: notYou,
    }),
    sessionStolen: () => ({
      subject: 'Se ha cerrado una sesión de su cuenta',
      paragraphs: [
        'Un testigo de sesión antiguo de su cuenta se ha usado por segunda vez; hemos cerrado esa sesión. Entre de nuevo.',
      ],
      note: notYou,
    }),
  },

  kycCheck: {
    subject: ({ merchant }) => `${merchant} debe comprobar su identidad`,
    paragraphs: ({ merchant, shortCode, closer }) => [
      closer
        ? `Para compras mayores, ${merchant} debe comprobar con más detalle quién paga (pedido ${shortCode}).`
        : `Para su pedido ${shortCode}, ${merchant} está obligado por ley a comprobar su identidad.`,
      'La página de este enlace dice qué hace falta y cómo va la comprobación.',
    ],
    button: 'Abrir la comprobación',
  },
  receipt: {
    subject: ({ merchant }) => `Su recibo de ${merchant}`,
    paragraphs: ({ merchant, amount, shortCode }) => [
      `${merchant} ha recibido su pago de ${amount} por el pedido ${shortCode}.`,
      'El recibo se puede imprimir y cualquiera puede comprobar que es auténtico.',
    ],
    button: 'Abrir el recibo',
  },
  payLink: {
    subject: ({ merchant, amount, isReminder }) =>
      isReminder ? `Recordatorio: ${amount} por pagar a ${merchant}` : `${merchant} le pide que pague ${amount}`,
    paragraphs: ({ merchant, shortCode, amount, purpose, until, isReminder }) =>
      someOf([
        isReminder
          ? `Su pedido ${shortCode} en ${merchant}, por ${amount}, aún no está pagado.`
          : `${merchant} le pide que pague ${amount} (pedido ${shortCode}).`,
        purpose !== null && `Concepto: ${purpose}`,
        `Puede pagar hasta el ${until}. La página muestra todas las formas de pago y el precio en USDC.`,
        '¿No conoce esta tienda o no espera nada de ella? Ignore este correo: no se le cobra nada.',
      ]),
    button: 'Pagar ahora',
  },
  saleMails: {
    each: {
      subject: ({ amount, shortCode }) => `Venta de ${amount} (pedido ${shortCode})`,
      paragraphs: ({ companyName, firstName, shortCode, alias, amount, received, channel }) =>
        someOf([
          `Hola ${firstName}:`,
          `El pedido ${shortCode} de ${companyName}, por ${amount}, está pagado.`,
          `Recibido: ${received} USDC.`,
          channel !== null && `Pagado con: ${channel}.`,
          alias !== null && `Su referencia: ${alias}`,
        ]),
      button: 'Abrir el pedido',
    },
    rest: {
      subject: ({ sales, companyName }) => `${sales} ventas más en ${companyName}`,
      paragraphs: ({ companyName, firstName, sales, amounts, most }) => [
        `Hola ${firstName}:`,
        `Desde el último correo ha habido ${sales} ventas más en ${companyName}: ${amounts}.`,
        `Después de ${most} correos en una hora, resumimos en uno solo el resto de esa hora.`,
      ],
      button: 'Ver los pedidos',
    },
    note: 'Usted eligió estos correos en el panel, en «Su cuenta». Allí puede dejar de recibirlos.',
    channels: { crypto: 'Monedero (USDC)', 'whitepay-non-custody': 'Whitepay (cualquier monedero)' },
  },
  refundAddress: {
    subject: ({ merchant }) => `¿Adónde debe enviar ${merchant} su reembolso?`,
    paragraphs: ({ merchant, amount, network, shortCode }) => [
      `${merchant} le reembolsa ${amount} por su pedido ${shortCode}.`,
      `Indique la dirección de monedero en ${network} que debe recibir el dinero. No usamos sin más la dirección desde la que pagó: puede pertenecer a una plataforma de intercambio.`,
    ],
    button: 'Indicar mi dirección',
  },
  emailChanged: {
    subject: ({ shortCode }) => `Se ha cambiado su correo del pedido ${shortCode}`,
    paragraphs: ({ merchant, shortCode }) => [
      `${merchant} ha sustituido su dirección de correo del pedido ${shortCode} por otra.`,
      'Las preguntas sobre un reembolso siguen llegando aquí. Si usted no lo pidió, avise a la tienda.',
    ],
  },
  webhookFailures: {
    subject: ({ companyName }) => `No se pudieron entregar webhooks de ${companyName}`,
    paragraphs: (facts) =>
      someOf([
        `Hola ${facts.firstName}:`,
        facts.failed > 0 &&
          `el ${facts.day} su servidor no aceptó ${facts.failed} de nuestros mensajes, aunque cada uno se intentó cinco veces.`,
        facts.parked > 0 &&
          `Mensajes apartados el ${facts.day}: ${facts.parked}. Nuestro propio servicio se interrumpió en cada envío; puede que su servidor los haya recibido.`,
        'No se ha perdido ningún pedido: vea qué falló y reenvíelo con un clic, o lea GET /api/next/events desde su último cursor.',
      ]),
    button: 'Ver los fallos',
  },
  askedBack: {
    subject: ({ shortCode }) => `Un cliente pide que le devuelvan dinero (pedido ${shortCode})`,
    paragraphs: ({ firstName, shortCode, amounts }) => [
      `Hola ${firstName}:`,
      `el cliente del pedido ${shortCode} pide que se le devuelva un importe que no se ha aplicado al pedido: ${amounts}.`,
      'El dinero espera su decisión: aceptarlo, reembolsarlo o dejarlo como está. Antes de eso no se mueve nada.',
    ],
    button: 'Ver el dinero',
  },
  waiting: {
    subject: ({ companyName }) => `${companyName}: algo espera su decisión`,
    paragraphs: (facts) => [
      `Hola ${facts.firstName}:`,
      `desde el ${facts.day} esto espera su decisión:`,
      countLines([
        [facts.mispayments, 'pago no encaja con su pedido', 'pagos no encajan con su pedido'],
        [facts.unmatched, 'transferencia no encaja con ningún pedido', 'transferencias no encajan con ningún pedido'],
        [facts.refunds, 'reembolso espera la dirección del pagador', 'reembolsos esperan la dirección del pagador'],
        [facts.byHand, 'reembolso debe enviarse a mano', 'reembolsos deben enviarse a mano'],
      ]),
      'No se ha perdido nada. Hasta que decida, sus clientes ven que su dinero ha llegado y que usted decide.',
    ],
    button: 'Ver qué espera',
  },
  restored: {
    subject: ({ companyName }) => `Revise los ajustes de ${companyName}: son los de una copia de seguridad`,
    paragraphs: (facts) => [
      `Hola ${facts.firstName}:`,
      `hubo que restaurar nuestra base de datos. Todo en ${facts.companyName} está como el ${facts.at}; lo que se cambió después ya no vale.`,
      'Las claves API que revocó desde entonces vuelven a funcionar, y las personas que quitó pueden volver a entrar. Revóquelas y quítelas otra vez en el panel. Se ha cerrado la sesión de todos.',
      'Si desde entonces sustituyó el secreto de los webhooks, vuelve a valer el anterior y su tienda rechaza nuestros webhooks: sustitúyalo otra vez en Webhooks y dé el nuevo a su tienda. Las contraseñas que se cambiaron después también son las anteriores: quien cambió la suya debería cambiarla otra vez.',
      'La dirección de pago, sus carteras y sus cuentas en plataformas son también las de entonces. No se paga nada hasta que confirme la dirección: mírela en Tienda, marque que es correcta o indique otra, y guarde con un código nuevo.',
    ],
  },
  moneyChange: {
    kinds: {
      payout: ({ company, before, after }) => ({
        subject: `Se ha cambiado la dirección de liquidación de ${company}`,
        text: `Las liquidaciones a ${company} van desde ahora a otra dirección. Antes: ${before ?? 'ninguna'}. Ahora: ${after ?? 'ninguna'}.`,
      }),
      payoutConfirmed: ({ company, address }) => ({
        subject: `Se ha confirmado la dirección de liquidación de ${company}`,
        text: `El servicio se restauró de una copia de seguridad y se confirmó la dirección de liquidación de entonces. Las liquidaciones a ${company} van a ella: ${address}.`,
      }),
      refundRules: ({ company }) => ({
        subject: `Se han cambiado las reglas de reembolso de ${company}`,
        text: 'Ha cambiado cuánto puede reembolsar cada rol, quién debe aprobar un reembolso o desde qué importe hace falta un segundo factor. El registro muestra las reglas anteriores y las nuevas.',
      }),
      account: ({ company, channel, isRemoved, before, after }) => ({
        subject: `Se ha cambiado la cuenta que recibe los pagos a ${company}`,
        text:
          (isRemoved
            ? `Se ha quitado su propia cuenta o monedero para «${channel}»: sus clientes pagan ahora a la cuenta del operador.`
            : `Se ha guardado de nuevo su propia cuenta o monedero para «${channel}»: ahí llega desde ahora el dinero de sus clientes.`) +
          ` Antes: ${before ?? 'la cuenta del operador'}. Ahora: ${after ?? 'la cuenta del operador'}.`,
      }),
      apiKey: ({ company, key, scopes }) => ({
        subject: `Una nueva clave de API de ${company} puede mover dinero`,
        text: `Se ha creado la clave de API «${key}». Permite: ${scopes}.`,
      }),
      webhookSecret: ({ company }) => ({
        subject: `Se ha sustituido el secreto de los webhooks de ${company}`,
        text: 'Su servidor debe comprobar nuestros webhooks con el nuevo secreto. Quien lo conozca puede escribir webhooks que parecen nuestros.',
      }),
      access: ({ company, person, role, isDisabled }) => ({
        subject: `Ha cambiado un acceso a ${company}`,
        text: isDisabled
          ? `${person} ya no puede iniciar sesión.`
          : `${person} tiene acceso con el rol «${roleWord(roles, role)}».`,
      }),
      attached: ({ company, person }) => ({
        subject: `${person} puede actuar ahora por ${company}`,
        text: `El operador ha dado a ${person} acceso a ${company} con el rol «${roles.SuperManager}».`,
      }),
      secondFactor: ({ person }) => ({
        subject: `Se ha quitado el segundo factor de ${person}`,
        text: `${person} ya no necesita una aplicación de autenticación ni una llave de acceso: los códigos llegan por correo.`,
      }),
    },
    by: ({ by, at, from }) => `Lo hizo ${by}, el ${at}${from === null ? '' : `, desde la dirección ${from}`}.`,
    toDo:
      'Si nadie de ustedes lo quería: deshágalo en el panel, desactive en «Equipo» la cuenta que lo hizo y avise ' +
      'enseguida al operador de este servicio, que puede detener las liquidaciones.',
    more: ({ names, count }) => `${names} y ${count} más`,
    last: 'Ha ocurrido muchas veces en una hora. De los próximos cambios de este tipo quizá no llegue correo: vigile el registro.',
    button: 'Abrir el registro',
  },
}
