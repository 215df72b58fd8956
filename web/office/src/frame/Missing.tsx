import { useNavigate } from '@tanstack/react-router'
import { call } from '../api/call.ts'
import { useAction } from '../api/hooks.ts'
import { recognizeNeed } from '../api/sentences.ts'
import { leave, readProfile, useSession } from '../api/session.ts'
import { Refusal } from '../kit/parts.tsx'
import { defineTexts, useCore, useTexts } from '../texts/lang.ts'
import { Outside } from './Outside.tsx'

const texts = defineTexts(
  {
    title: 'Almost there',
    text: (name: string) => `Welcome, ${name}. This is what is still missing before you can start:`,
    verify:
      'Confirm your e-mail address: open the link in the mail we sent you. If you open it in another browser, log in here again afterwards.',
    approval: (company: string) => `A manager of ${company} has to approve your account.`,
    company: (company: string) => `The operator of this service has to approve ${company}.`,
    again: 'Send the mail again',
    sent: 'The mail is on its way.',
    check: 'Check again',
  },
  {
    fr: {
      title: 'Vous y êtes presque',
      text: (name) => `Bienvenue, ${name}. Voici ce qui manque encore avant de commencer :`,
      verify:
        'Confirmez votre adresse e-mail : ouvrez le lien de l’e-mail que nous vous avons envoyé. Si vous l’ouvrez dans un autre navigateur, reconnectez-vous ensuite ici.',
      approval: (company) => `Un responsable de ${company} doit valider votre compte.`,
      company: (company) => `L’exploitant de ce service doit approuver ${company}.`,
      again: 'Renvoyer l’e-mail',
      sent: 'L’e-mail est parti.',
      check: 'Vérifier à nouveau',
    },
    de: {
      title: 'Fast geschafft',
      text: (name) => `Willkommen, ${name}. Das fehlt noch, bevor es losgeht:`,
      verify:
        'Bestätigen Sie Ihre E-Mail-Adresse: Öffnen Sie den Link in der E-Mail, die wir Ihnen geschickt haben. Wenn Sie ihn in einem anderen Browser öffnen, melden Sie sich danach hier neu an.',
      approval: (company) => `Ein Manager von ${company} muss Ihr Konto freigeben.`,
      company: (company) => `Der Betreiber dieses Dienstes muss ${company} freigeben.`,
      again: 'E-Mail erneut senden',
      sent: 'Die E-Mail ist unterwegs.',
      check: 'Erneut prüfen',
    },
    es: {
      title: 'Ya casi está',
      text: (name) => `Le damos la bienvenida, ${name}. Esto es lo que falta para empezar:`,
      verify:
        'Confirme su dirección de correo: abra el enlace del mensaje que le hemos enviado. Si lo abre en otro navegador, vuelva a entrar aquí después.',
      approval: (company) => `Un responsable de ${company} tiene que aprobar su cuenta.`,
      company: (company) => `El operador de este servicio tiene que aprobar ${company}.`,
      again: 'Volver a enviar el correo',
      sent: 'El correo está en camino.',
      check: 'Comprobar de nuevo',
    },
    it: {
      title: 'Ci siamo quasi',
      text: (name) => `Salve, ${name}. Ecco che cosa manca ancora per cominciare:`,
      verify:
        'Confermi il suo indirizzo e-mail: apra il link nel messaggio che le abbiamo inviato. Se lo apre in un altro browser, poi acceda di nuovo qui.',
      approval: (company) => `Un responsabile di ${company} deve approvare il suo account.`,
      company: (company) => `Il gestore di questo servizio deve approvare ${company}.`,
      again: 'Invia di nuovo l’e-mail',
      sent: 'L’e-mail è in arrivo.',
      check: 'Controlla di nuovo',
    },
  },
)

/** For accounts that are not verified or approved yet: shows only what their profile says is missing. */
export function Missing() {
  const t = useTexts(texts)
  const core = useCore()
  const navigate = useNavigate()
  const { user } = useSession()
  const again = useAction({ run: () => call('POST /api/next/auth/verify-email/send'), isAnew: true, done: t.sent })
  const check = useAction({ run: () => readProfile() })
  return (
    <Outside title={t.title}>
      <p className="mb-3">{t.text(user.firstName)}</p>
      <ul className="mb-5 list-disc space-y-1 pl-5">
        {user.missing.map((line) => (
          <Line key={line} line={line} company={user.company?.name ?? ''} />
        ))}
      </ul>
      <Refusal error={again.error ?? check.error} />
      <div className="flex flex-wrap gap-2">
        <button type="button" className="btn btn-fill" onClick={() => check.mutate(undefined)}>
          {t.check}
        </button>
        {!user.valid && (
          <button type="button" className="btn" onClick={() => again.mutate(undefined)}>
            {t.again}
          </button>
        )}
        <button
          type="button"
          className="btn btn-quiet"
          onClick={() => void leave().then(() => navigate({ to: '/login' }))}
        >
          {core.signOut}
        </button>
      </div>
    </Outside>
  )
}

function Line({ line, company }: { line: string; company: string }) {
  const t = useTexts(texts)
  const need = recognizeNeed(line)
  if (need === null) return <li lang="en">{line}</li>
  return <li>{need === 'verify' ? t.verify : t[need](company)}</li>
}
