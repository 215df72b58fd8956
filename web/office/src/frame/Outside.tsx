import { type ReactNode, useEffect } from 'react'
import { useCore } from '../texts/lang.ts'
import { LanguageChoice, SchemeChoice } from './Settings.tsx'

/** A single task in the middle of the page: log in, register, choose a password. */
export function Outside({ title, children, wide }: { title: string; children: ReactNode; wide?: boolean }) {
  const core = useCore()
  useEffect(() => {
    document.title = `${title} · ${core.product}`
  }, [title, core])
  return (
    <div className="flex min-h-dvh flex-col items-center px-4 py-10 sm:justify-center">
      <header>
        <p className="mb-5 text-xl font-semibold tracking-tight">{core.product}</p>
      </header>
      <main className={`panel w-full p-6 sm:p-8 ${wide ? 'max-w-xl' : 'max-w-md'}`}>
        <h1 className="mb-4 text-xl font-semibold">{title}</h1>
        {children}
      </main>
      <footer className="mt-5 w-full max-w-md">
        <div className="flex gap-2">
          <LanguageChoice />
          <SchemeChoice />
        </div>
      </footer>
    </div>
  )
}
