import type { MailWords } from './mail-words.ts'

const notYou = 'Si no ha sido usted, cambie ahora mismo la contraseña y avise al operador de este servicio.'

export const wordsEs: MailWords = {
  greeting: (name) => `Hola, ${name}:`,
  closing: 'Este mensaje lo envía una máquina; nadie lee las respuestas.',
  kinds: {
    verifyEmail: ({ url }) => ({
      subject: 'Confirme su dirección de correo',
      paragraphs: ['Confirme que esta dirección es suya. Hasta entonces su cuenta solo muestra su propio perfil.'],
      button: { label: 'Confirmar mi dirección', url },
      note: 'El enlace vale 48 horas. Si no se ha registrado, no tiene que hacer nada.',
    }),
    loginCode: ({ code }) => ({
      subject: `${code} es su código de acceso`,
      paragraphs: ['Escriba este código para terminar de entrar:'],
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
    invitation: ({ inviter, company, url }) => ({
      subject: `${company} le invita`,
      paragraphs: [`${inviter} ha creado una cuenta para usted en ${company}. Elija una contraseña para usarla.`],
      button: { label: 'Elegir una contraseña', url },
      note: 'El enlace vale 7 días y una sola vez.',
    }),
    approvalNeeded: ({ applicant, applicantEmail, role, company, url }) => ({
      subject: `${applicant} pide entrar en ${company}`,
      paragraphs: [
        `${applicant} (${applicantEmail}) se ha registrado como ${role} de ${company}. Sin su aprobación esa cuenta no puede hacer nada.`,
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
    authenticatorRemoved: () => ({
      subject: 'Se ha quitado su aplicación de autenticación',
      paragraphs: ['A partir de ahora, los códigos para entrar en su cuenta llegan por correo.'],
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
}
