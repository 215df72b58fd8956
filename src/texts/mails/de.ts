import { countLines, type MailTexts, type RoleWords, roleWord, someOf } from '../mail-texts.ts'

const notYou = 'Waren Sie das nicht, ändern Sie sofort Ihr Passwort und verständigen Sie den Betreiber dieses Dienstes.'

const roles: RoleWords = {
  SuperAdmin: 'Betreiber',
  SuperManager: 'Leitung mehrerer Firmen',
  Manager: 'Leitung',
  Association: 'Verein',
  Cashier: 'Kasse',
  Observer: 'Nur Lesen',
  SimpleUser: 'Kundschaft',
  Service: 'Maschine',
}

export const de: MailTexts = {
  greeting: (name) => `Guten Tag ${name},`,
  closing: 'Diese E-Mail wurde automatisch verschickt. Antworten werden nicht gelesen.',
  help: ({ merchant, contact, shortCode }) =>
    `Fragen? Wenden Sie sich an ${merchant}: ${contact}. Nennen Sie die Bestellnummer ${shortCode}.`,
  screens: { home: 'Backoffice öffnen', account: 'Mein Konto ansehen', keys: 'API-Schlüssel ansehen' },
  roles,
  kinds: {
    verifyEmail: ({ role, company, url }) => ({
      subject: 'Bestätigen Sie Ihre E-Mail-Adresse',
      paragraphs: someOf([
        role !== '' &&
          (company === ''
            ? `Mit dieser Adresse wurde ein Konto mit der Rolle „${roleWord(roles, role)}“ registriert.`
            : `Mit dieser Adresse wurde ein Konto bei ${company} mit der Rolle „${roleWord(roles, role)}“ registriert.`),
        'Bitte bestätigen Sie nur, wenn Sie dieses Konto erwarten. Bis dahin zeigt das Konto nur das eigene Profil.',
      ]),
      button: { label: 'Adresse bestätigen', url },
      note: 'Der Link gilt 48 Stunden. Erwarten Sie keines, bestätigen Sie nicht, und ignorieren Sie diese E-Mail: Ohne Ihre Bestätigung kann das Konto nichts.',
    }),
    loginCode: ({ code }) => ({
      subject: `${code} ist Ihr Anmeldecode`,
      paragraphs: ['Geben Sie diesen Code ein, um die Anmeldung abzuschließen:'],
      code,
      note: `Er gilt 5 Minuten und nur einmal. Geben Sie ihn niemandem. ${notYou}`,
    }),
    confirmCode: ({ code }) => ({
      subject: `${code} ist Ihr Bestätigungscode`,
      paragraphs: ['Geben Sie diesen Code ein, um Ihre Aktion im Konto zu bestätigen:'],
      code,
      note: `Er gilt 5 Minuten und nur einmal. Geben Sie ihn niemandem. ${notYou}`,
    }),
    resetLink: ({ url }) => ({
      subject: 'Wählen Sie ein neues Passwort',
      paragraphs: ['Jemand, vermutlich Sie, hat für dieses Konto ein neues Passwort angefordert.'],
      button: { label: 'Neues Passwort wählen', url },
      note: 'Der Link gilt 30 Minuten und nur einmal. Haben Sie ihn nicht angefordert, bleibt Ihr Passwort, wie es ist.',
    }),
    resetCode: ({ url, code }) => ({
      subject: `${code} ist Ihr Code für ein neues Passwort`,
      paragraphs: [
        'Jemand, vermutlich Sie, hat in der App ein neues Passwort angefordert. Geben Sie dort diesen Code ein, oder drücken Sie den Knopf:',
      ],
      code,
      button: { label: 'Das war ich', url },
      note: 'Beides gilt 30 Minuten. Haben Sie nichts angefordert, drücken Sie den Knopf nicht: Ihr Passwort bleibt.',
    }),
    passwordChanged: () => ({
      subject: 'Ihr Passwort wurde geändert',
      paragraphs: ['Das Passwort Ihres Kontos wurde soeben geändert, und alle Geräte wurden abgemeldet.'],
      note: notYou,
    }),
    invitation: ({ inviter, company, replaces, url }) => ({
      subject: `${company} lädt Sie ein`,
      paragraphs: someOf([
        `${inviter} hat bei ${company} ein Konto für Sie angelegt. Wählen Sie ein Passwort, um es zu nutzen.`,
        replaces !== '' &&
          'Zu dieser Adresse gibt es hier schon ein Konto. Sobald Sie das Passwort wählen, endet es, und das neue tritt an seine Stelle.',
      ]),
      button: { label: 'Passwort wählen', url },
      note:
        replaces === ''
          ? 'Der Link gilt 7 Tage und nur einmal.'
          : `Der Link gilt 7 Tage und nur einmal. Möchten Sie das alte Konto behalten, oder kennen Sie ${company} nicht, ignorieren Sie diese E-Mail.`,
    }),
    approvalNeeded: ({ applicant, applicantEmail, role, company, url }) => ({
      subject: `${applicant} möchte zu ${company}`,
      paragraphs: [
        `${applicant} (${applicantEmail}) hat sich bei ${company} mit der Rolle „${roleWord(roles, role)}“ registriert. Ohne Ihre Freigabe kann dieses Konto nichts.`,
      ],
      button: { label: 'Ansehen', url },
      note: 'Kennen Sie diese Person nicht, brauchen Sie nichts zu tun.',
    }),
    accountApproved: ({ company }) => ({
      subject: 'Ihr Konto ist freigegeben',
      paragraphs: [`Die Leitung von ${company} hat Ihr Konto freigegeben. Sie können damit arbeiten.`],
    }),
    companyApproved: ({ company }) => ({
      subject: `${company} ist freigegeben`,
      paragraphs: [`Der Betreiber hat ${company} freigegeben. Sie können jetzt Aufträge anlegen.`],
    }),
    authenticatorAdded: () => ({
      subject: 'Eine Authentifizierungs-App wurde hinzugefügt',
      paragraphs: ['Die Anmeldung an Ihrem Konto verlangt ab jetzt einen Code Ihrer Authentifizierungs-App.'],
      note: notYou,
    }),
    deviceLogin: ({ computer, address }) => ({
      subject: 'Ein Programm wurde angemeldet',
      paragraphs: [
        `Sie haben die Anmeldung von „${computer}“ bestätigt, angefragt von der Adresse ${address}. Das Programm hat jetzt einen API-Schlüssel Ihres Unternehmens.`,
        'Falls Ihnen das nichts sagt: Widerrufen Sie den Schlüssel im Backoffice unter API-Schlüssel und ändern Sie Ihr Passwort.',
      ],
    }),
    passkeyAdded: ({ passkey }) => ({
      subject: 'Ein Passkey wurde hinzugefügt',
      paragraphs: [`Der Passkey „${passkey}“ kann ab jetzt Ihre Anmeldung bestätigen.`],
      note: notYou,
    }),
    passkeyRemoved: ({ passkey }) => ({
      subject: 'Ein Passkey wurde entfernt',
      paragraphs: [`Der Passkey „${passkey}“ bestätigt Ihre Anmeldung nicht mehr.`],
      note: notYou,
    }),
    authenticatorRemoved: () => ({
      subject: 'Ihre Authentifizierungs-App wurde entfernt',
      paragraphs: ['Die Codes für die Anmeldung an Ihrem Konto kommen ab jetzt per E-Mail.'],
      note: notYou,
    }),
    secondFactorReset: ({ app, passkeys }) => ({
      subject: 'Ihr zweiter Faktor wurde zurückgesetzt',
      paragraphs: [
        ...(app === '' ? [] : ['Ihre Authentifizierungs-App bestätigt Ihre Anmeldung nicht mehr.']),
        ...(passkeys === '' ? [] : [`Diese Passkeys bestätigen Ihre Anmeldung nicht mehr: ${passkeys}.`]),
        'Die Codes für die Anmeldung an Ihrem Konto kommen ab jetzt per E-Mail.',
      ],
      note: notYou,
    }),
    recoveryCodeUsed: ({ left }) => ({
      subject: 'Ein Wiederherstellungscode wurde benutzt',
      paragraphs: [
        `Jemand hat sich mit einem Wiederherstellungscode an Ihrem Konto angemeldet. Übrige Codes: ${left}.`,
      ],
      note: notYou,
    }),
    sessionStolen: () => ({
      subject: 'Eine Sitzung Ihres Kontos wurde beendet',
      paragraphs: [
        'Ein altes Sitzungszeichen Ihres Kontos wurde ein zweites Mal benutzt; wir haben die Sitzung beendet. Melden Sie sich neu an.',
      ],
      note: notYou,
    }),
  },

  kycCheck: {
    subject: ({ merchant }) => `${merchant} muss Ihre Identität prüfen`,
    paragraphs: ({ merchant, shortCode, closer }) => [
      closer
        ? `Für größere Käufe muss ${merchant} genauer prüfen, wer bezahlt (Bestellung ${shortCode}).`
        : `Für Ihre Bestellung ${shortCode} muss ${merchant} von Gesetzes wegen Ihre Identität prüfen.`,
      'Die Seite hinter diesem Link zeigt, was gebraucht wird und wie weit die Prüfung ist.',
    ],
    button: 'Prüfung öffnen',
  },
  receipt: {
    subject: ({ merchant }) => `Ihr Beleg von ${merchant}`,
    paragraphs: ({ merchant, amount, shortCode }) => [
      `${merchant} hat Ihre Zahlung über ${amount} für die Bestellung ${shortCode} erhalten.`,
      'Der Beleg lässt sich drucken, und jeder kann prüfen, dass er echt ist.',
    ],
    button: 'Beleg öffnen',
  },
  payLink: {
    subject: ({ merchant, amount, isReminder }) =>
      isReminder ? `Erinnerung: ${amount} an ${merchant} zahlen` : `${merchant} bittet um Zahlung von ${amount}`,
    paragraphs: ({ merchant, shortCode, amount, purpose, until, isReminder }) =>
      someOf([
        isReminder
          ? `Ihre Bestellung ${shortCode} bei ${merchant} über ${amount} ist noch nicht bezahlt.`
          : `${merchant} bittet Sie, ${amount} zu bezahlen (Bestellung ${shortCode}).`,
        purpose !== null && `Es geht um: ${purpose}`,
        `Sie können bis ${until} bezahlen. Die Seite zeigt alle Zahlungswege und den Preis in USDC.`,
        'Sie kennen diesen Händler nicht oder erwarten nichts von ihm? Dann ignorieren Sie diese E-Mail: Es wird nichts abgebucht.',
      ]),
    button: 'Jetzt bezahlen',
  },
  saleMails: {
    each: {
      subject: ({ amount, shortCode }) => `Verkauf über ${amount} (Bestellung ${shortCode})`,
      paragraphs: ({ companyName, firstName, shortCode, alias, amount, received, channel }) =>
        someOf([
          `Guten Tag ${firstName},`,
          `die Bestellung ${shortCode} von ${companyName} über ${amount} ist bezahlt.`,
          `Eingegangen: ${received} USDC.`,
          channel !== null && `Zahlungsweg: ${channel}.`,
          alias !== null && `Ihre Referenz: ${alias}`,
        ]),
      button: 'Bestellung öffnen',
    },
    rest: {
      subject: ({ sales, companyName }) => `${sales} weitere Verkäufe bei ${companyName}`,
      paragraphs: ({ companyName, firstName, sales, amounts, most }) => [
        `Guten Tag ${firstName},`,
        `seit der letzten E-Mail gab es bei ${companyName} ${sales} weitere Verkäufe: ${amounts}.`,
        `Nach ${most} E-Mails innerhalb einer Stunde fassen wir den Rest dieser Stunde in einer zusammen.`,
      ],
      button: 'Bestellungen ansehen',
    },
    note: 'Sie haben diese E-Mails im Backoffice unter „Ihr Konto“ gewählt und können sie dort abbestellen.',
    channels: { crypto: 'Wallet (USDC)', 'whitepay-non-custody': 'Whitepay (jede Wallet)' },
  },
  refundAddress: {
    subject: ({ merchant }) => `Wohin soll ${merchant} Ihr Geld zurückschicken?`,
    paragraphs: ({ merchant, amount, network, shortCode }) => [
      `${merchant} erstattet Ihnen ${amount} für Ihre Bestellung ${shortCode}.`,
      `Bitte nennen Sie die Wallet-Adresse auf ${network}, die das Geld erhalten soll. Wir nehmen nicht einfach die Adresse, von der Sie bezahlt haben: Sie kann einer Börse gehören.`,
    ],
    button: 'Meine Adresse angeben',
  },
  emailChanged: {
    subject: ({ shortCode }) => `Ihre E-Mail-Adresse zur Bestellung ${shortCode} wurde geändert`,
    paragraphs: ({ merchant, shortCode }) => [
      `${merchant} hat Ihre E-Mail-Adresse zur Bestellung ${shortCode} durch eine andere ersetzt.`,
      'Fragen zu einer Erstattung kommen weiterhin hierher. Wenn Sie das nicht wollten, melden Sie sich beim Geschäft.',
    ],
  },
  webhookFailures: {
    subject: ({ companyName }) => `Webhooks von ${companyName} konnten nicht zugestellt werden`,
    paragraphs: (facts) =>
      someOf([
        `Guten Tag ${facts.firstName},`,
        facts.failed > 0 &&
          `am ${facts.day} hat Ihr Server ${facts.failed} unserer Nachrichten nicht angenommen, obwohl jede fünfmal versucht wurde.`,
        facts.parked > 0 &&
          `Nachrichten, die wir am ${facts.day} zurückgestellt haben: ${facts.parked}. Unser eigener Dienst brach bei jedem Versuch ab; Ihr Server hat sie vielleicht trotzdem erhalten.`,
        'Keine Bestellung ist verloren: Sehen Sie nach, was fehlschlug, und senden Sie es mit einem Klick erneut, oder lesen Sie GET /api/next/events ab Ihrem letzten Cursor.',
      ]),
    button: 'Fehlgeschlagene ansehen',
  },
  askedBack: {
    subject: ({ shortCode }) => `Ein Zahler fordert Geld zurück (Bestellung ${shortCode})`,
    paragraphs: ({ firstName, shortCode, amounts }) => [
      `Guten Tag ${firstName},`,
      `für die Bestellung ${shortCode} ist Geld eingegangen, das nicht angerechnet wurde: ${amounts}. Der Zahler möchte es zurück.`,
      'Das Geld wartet auf Ihre Entscheidung: annehmen, erstatten oder so stehen lassen. Vorher bewegt sich nichts.',
    ],
    button: 'Das Geld ansehen',
  },
  waiting: {
    subject: ({ companyName }) => `Bei ${companyName} wartet etwas auf Ihre Entscheidung`,
    paragraphs: (facts) => [
      `Guten Tag ${facts.firstName},`,
      `seit dem ${facts.day} wartet auf Ihre Entscheidung:`,
      countLines([
        [facts.mispayments, 'Zahlung passt nicht zu ihrer Bestellung', 'Zahlungen passen nicht zu ihrer Bestellung'],
        [facts.unmatched, 'Überweisung passt zu keiner Bestellung', 'Überweisungen passen zu keiner Bestellung'],
        [facts.refunds, 'Erstattung braucht die Adresse des Zahlers', 'Erstattungen brauchen die Adresse des Zahlers'],
        [facts.byHand, 'Erstattung muss von Hand gesendet werden', 'Erstattungen müssen von Hand gesendet werden'],
      ]),
      'Nichts ist verloren. Bis Sie entscheiden, sehen Ihre Kunden, dass ihr Geld da ist und Sie darüber entscheiden.',
    ],
    button: 'Ansehen, was wartet',
  },
  restored: {
    subject: ({ companyName }) =>
      `Bitte prüfen Sie die Einstellungen von ${companyName}: Sie stammen aus einer Sicherung`,
    paragraphs: (facts) => [
      `Guten Tag ${facts.firstName},`,
      `unsere Datenbank musste wiederhergestellt werden. Bei ${facts.companyName} ist alles wie am ${facts.at}; was seither geändert wurde, gilt nicht mehr.`,
      'API-Schlüssel, die Sie seither widerrufen haben, gelten wieder, und Personen, die Sie entfernt haben, können sich wieder anmelden. Widerrufen und entfernen Sie sie im Backoffice noch einmal. Alle wurden abgemeldet.',
      'Haben Sie seither das Webhook-Geheimnis ersetzt, gilt wieder das alte, und Ihr Shop weist unsere Webhooks ab: Ersetzen Sie es unter Webhooks noch einmal, und geben Sie Ihrem Shop das neue. Auch Passwörter, die seither geändert wurden, sind wieder die alten: Wer seines geändert hat, sollte es noch einmal ändern.',
      'Auch die Auszahlungsadresse, Ihre Wallets und Ihre Konten bei Börsen sind die von damals. Nichts wird ausgezahlt, bevor Sie die Adresse bestätigen: Sehen Sie sie unter Laden an, bestätigen Sie sie mit dem Häkchen oder nennen Sie eine andere, und speichern Sie mit einem frischen Code.',
    ],
  },
  moneyChange: {
    kinds: {
      payout: ({ company, before, after }) => ({
        subject: `Die Auszahlungsadresse von ${company} wurde geändert`,
        text: `Auszahlungen an ${company} gehen ab jetzt an eine andere Adresse. Bisher: ${before ?? 'keine'}. Neu: ${after ?? 'keine'}.`,
      }),
      payoutConfirmed: ({ company, address }) => ({
        subject: `Die Auszahlungsadresse von ${company} wurde bestätigt`,
        text: `Der Dienst wurde aus einer Sicherung wiederhergestellt, und die Auszahlungsadresse von damals wurde bestätigt. Auszahlungen an ${company} gehen dorthin: ${address}.`,
      }),
      refundRules: ({ company }) => ({
        subject: `Die Regeln für Erstattungen von ${company} wurden geändert`,
        text: 'Geändert wurde, wie viel jede Rolle erstatten darf, wer Erstattungen freigeben muss oder ab welchem Betrag sie einen zweiten Faktor brauchen. Das Prüfprotokoll zeigt die alten und die neuen Regeln.',
      }),
      account: ({ company, channel, isRemoved, before, after }) => ({
        subject: `Das Konto für Zahlungen an ${company} wurde geändert`,
        text:
          (isRemoved
            ? `Ihr eigenes Konto oder Wallet für „${channel}“ wurde entfernt: Ihre Kunden zahlen stattdessen auf das Konto des Betreibers.`
            : `Ihr eigenes Konto oder Wallet für „${channel}“ wurde neu gespeichert: Dorthin zahlen Ihre Kunden ab jetzt.`) +
          ` Bisher: ${before ?? 'Konto des Betreibers'}. Neu: ${after ?? 'Konto des Betreibers'}.`,
      }),
      apiKey: ({ company, key, scopes }) => ({
        subject: `Ein neuer API-Schlüssel von ${company} kann Geld bewegen`,
        text: `Der API-Schlüssel „${key}“ wurde angelegt. Er darf: ${scopes}.`,
      }),
      webhookSecret: ({ company }) => ({
        subject: `Das Webhook-Geheimnis von ${company} wurde ersetzt`,
        text: 'Ihr Server muss unsere Webhooks mit dem neuen Geheimnis prüfen. Wer es kennt, kann Webhooks schreiben, die wie unsere aussehen.',
      }),
      access: ({ company, person, role, isDisabled }) => ({
        subject: `Der Zugang zu ${company} wurde geändert`,
        text: isDisabled
          ? `${person} kann sich nicht mehr anmelden.`
          : `${person} hat Zugang in der Rolle „${roleWord(roles, role)}“.`,
      }),
      attached: ({ company, person }) => ({
        subject: `${person} kann jetzt für ${company} handeln`,
        text: `Der Betreiber hat ${person} Zugang zu ${company} gegeben, in der Rolle „${roles.SuperManager}“.`,
      }),
      secondFactor: ({ person }) => ({
        subject: `Der zweite Faktor von ${person} wurde entfernt`,
        text: `${person} braucht keine Authentifizierungs-App und keinen Passkey mehr: Die Codes kommen per E-Mail.`,
      }),
    },
    by: ({ by, at, from }) => `Geändert von ${by}, am ${at}${from === null ? '' : `, von der Adresse ${from}`}.`,
    toDo:
      'Wollte das niemand von Ihnen, machen Sie es im Backoffice rückgängig, sperren Sie unter „Team“ das Konto, das ' +
      'es getan hat, und verständigen Sie sofort den Betreiber dieses Dienstes: Er kann Auszahlungen anhalten.',
    more: ({ names, count }) => `${names} und ${count} weitere`,
    last: 'Das geschah viele Male in einer Stunde. Zu den nächsten Änderungen dieser Art kommt vielleicht keine Mail: Sehen Sie im Prüfprotokoll nach.',
    button: 'Prüfprotokoll öffnen',
  },
}
