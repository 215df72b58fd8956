import { useState } from 'react'
import { Refusal } from '../kit/parts.tsx'
import { defineTexts, useCore, useTexts } from '../texts/lang.ts'
import { isServed, ScreenNotLoaded } from './lazy-screen.ts'

const texts = defineTexts(
  {
    unreachable: 'This page could not be fetched: there is no connection, or the service does not answer.',
    missing: 'This page could not be fetched. Reload it: a newer version of the back office may have been installed.',
    reload: 'Reload',
  },
  {
    fr: {
      unreachable: 'Cette page n’a pas pu être chargée : pas de connexion, ou le service ne répond pas.',
      missing: 'Cette page n’a pas pu être chargée. Rechargez-la : une nouvelle version a peut-être été installée.',
      reload: 'Recharger',
    },
    de: {
      unreachable: 'Diese Seite ließ sich nicht laden: Es gibt keine Verbindung, oder der Dienst antwortet nicht.',
      missing:
        'Diese Seite ließ sich nicht laden. Laden Sie sie neu: Vielleicht wurde eine neuere Version installiert.',
      reload: 'Neu laden',
    },
    es: {
      unreachable: 'No se ha podido cargar esta página: no hay conexión o el servicio no responde.',
      missing: 'No se ha podido cargar esta página. Vuelva a cargarla: quizá se ha instalado una versión más reciente.',
      reload: 'Volver a cargar',
    },
    it: {
      unreachable: 'Non è stato possibile caricare questa pagina: manca la connessione o il servizio non risponde.',
      missing:
        'Non è stato possibile caricare questa pagina. La ricarichi: forse è stata installata una versione più recente.',
      reload: 'Ricarica',
    },
  },
)

/** In place of a screen that failed; the menu around it stays. */
export function RouteFailed({ error }: { error: unknown }) {
  const core = useCore()
  return (
    <div className="mx-auto max-w-md px-4 py-10 text-center">
      <h1 className="mb-3 text-xl font-semibold">{core.failed}</h1>
      {error instanceof ScreenNotLoaded ? (
        <NotLoaded error={error} />
      ) : (
        <>
          <Refusal error={error} />
          <button type="button" className="btn" onClick={() => location.reload()}>
            {core.refresh}
          </button>
        </>
      )}
    </div>
  )
}

/** A browser keeps the failure of a file as long as the page: only a reload asks for it again. */
function NotLoaded({ error }: { error: ScreenNotLoaded }) {
  const t = useTexts(texts)
  const core = useCore()
  const [isThere, setThere] = useState(error.isServed)
  const [isBusy, setBusy] = useState(false)
  const again = async (): Promise<void> => {
    setBusy(true)
    const isServedNow = await isServed()
    setBusy(false)
    setThere(isServedNow)
    if (isServedNow) location.reload()
  }
  return (
    <>
      <p role="alert" className="mb-4">
        {isThere ? t.missing : t.unreachable}
      </p>
      <button type="button" className="btn btn-fill" disabled={isBusy} onClick={() => void again()}>
        {isThere ? t.reload : core.refresh}
      </button>
    </>
  )
}
