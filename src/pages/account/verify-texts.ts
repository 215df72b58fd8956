import { isLang, type Lang } from '../../kernel/lang.ts'

export type AccountTexts = {
  verifyTitle: string
  verifyText: string
  verifyButton: string
  verified: string
  deadLink: string
  resetTitle: string
  resetLabel: string
  resetHint: string
  resetButton: string
  resetDone: string
  confirmTitle: string
  confirmText: string
  confirmButton: string
  confirmed: string
}

const TEXTS: Record<Lang, AccountTexts> = {
  en: {
    verifyTitle: 'Confirm your e-mail address',
    verifyText: 'Press the button to confirm that this address is yours.',
    verifyButton: 'Confirm',
    verified: 'Your address is confirmed. You can close this page.',
    deadLink: 'This link is not valid any more. Ask for a new mail.',
    resetTitle: 'Choose a new password',
    resetLabel: 'New password',
    resetHint: '12 to 128 characters with upper case, lower case, a digit and a special character.',
    resetButton: 'Save',
    resetDone: 'Your password is changed. You can log in now.',
    confirmTitle: 'A new password was asked for in the app',
    confirmText: 'Press the button only if it was you. The app can then set the new password.',
    confirmButton: 'It was me',
    confirmed: 'Thank you. Go back to the app and choose the new password.',
  },
  fr: {
    verifyTitle: 'Confirmez votre adresse e-mail',
    verifyText: 'Appuyez sur le bouton pour confirmer que cette adresse est la vôtre.',
    verifyButton: 'Confirmer',
    verified: 'Votre adresse est confirmée. Vous pouvez fermer cette page.',
    deadLink: 'Ce lien n’est plus valable. Demandez un nouveau message.',
    resetTitle: 'Choisissez un nouveau mot de passe',
    resetLabel: 'Nouveau mot de passe',
    resetHint: '12 à 128 caractères avec majuscule, minuscule, chiffre et caractère spécial.',
    resetButton: 'Enregistrer',
    resetDone: 'Votre mot de passe est changé. Vous pouvez vous connecter.',
    confirmTitle: 'Un nouveau mot de passe a été demandé dans l’application',
    confirmText: 'N’appuyez que si c’était vous. L’application pourra alors fixer le nouveau mot de passe.',
    confirmButton: 'C’était moi',
    confirmed: 'Merci. Retournez dans l’application et choisissez le mot de passe.',
  },
  de: {
    verifyTitle: 'Bestätigen Sie Ihre E-Mail-Adresse',
    verifyText: 'Drücken Sie den Knopf, um zu bestätigen, dass diese Adresse Ihnen gehört.',
    verifyButton: 'Bestätigen',
    verified: 'Ihre Adresse ist bestätigt. Sie können diese Seite schließen.',
    deadLink: 'Dieser Link gilt nicht mehr. Fordern Sie eine neue Nachricht an.',
    resetTitle: 'Wählen Sie ein neues Passwort',
    resetLabel: 'Neues Passwort',
    resetHint: '12 bis 128 Zeichen mit Großbuchstabe, Kleinbuchstabe, Ziffer und Sonderzeichen.',
    resetButton: 'Speichern',
    resetDone: 'Ihr Passwort ist geändert. Sie können sich anmelden.',
    confirmTitle: 'In der App wurde ein neues Passwort angefordert',
    confirmText: 'Drücken Sie nur, wenn Sie das waren. Die App kann dann das neue Passwort setzen.',
    confirmButton: 'Das war ich',
    confirmed: 'Danke. Gehen Sie zurück in die App und wählen Sie das Passwort.',
  },
  es: {
    verifyTitle: 'Confirme su dirección de correo',
    verifyText: 'Pulse el botón para confirmar que esta dirección es suya.',
    verifyButton: 'Confirmar',
    verified: 'Su dirección está confirmada. Puede cerrar esta página.',
    deadLink: 'Este enlace ya no vale. Pida un mensaje nuevo.',
    resetTitle: 'Elija una contraseña nueva',
    resetLabel: 'Contraseña nueva',
    resetHint: 'De 12 a 128 caracteres con mayúscula, minúscula, cifra y carácter especial.',
    resetButton: 'Guardar',
    resetDone: 'Su contraseña ha cambiado. Ya puede entrar.',
    confirmTitle: 'Se ha pedido una contraseña nueva en la aplicación',
    confirmText: 'Pulse solo si ha sido usted. La aplicación podrá entonces fijar la contraseña nueva.',
    confirmButton: 'He sido yo',
    confirmed: 'Gracias. Vuelva a la aplicación y elija la contraseña.',
  },
  it: {
    verifyTitle: 'Confermi il suo indirizzo e-mail',
    verifyText: 'Prema il pulsante per confermare che questo indirizzo è suo.',
    verifyButton: 'Conferma',
    verified: 'Il suo indirizzo è confermato. Può chiudere questa pagina.',
    deadLink: 'Questo link non vale più. Chieda un nuovo messaggio.',
    resetTitle: 'Scelga una nuova password',
    resetLabel: 'Nuova password',
    resetHint: 'Da 12 a 128 caratteri con maiuscola, minuscola, cifra e carattere speciale.',
    resetButton: 'Salva',
    resetDone: 'La sua password è cambiata. Ora può accedere.',
    confirmTitle: 'Nell’app è stata chiesta una nuova password',
    confirmText: 'Prema solo se è stato lei. L’app potrà allora impostare la nuova password.',
    confirmButton: 'Sono stato io',
    confirmed: 'Grazie. Torni nell’app e scelga la password.',
  },
}

/** The first language of the browser that we speak. */
export function textsFor(acceptLanguage: string | undefined): { lang: Lang; texts: AccountTexts } {
  const wanted = (acceptLanguage ?? '').split(',').map((part) => part.trim().slice(0, 2).toLowerCase())
  const lang = wanted.find(isLang) ?? 'en'
  return { lang, texts: TEXTS[lang] }
}
