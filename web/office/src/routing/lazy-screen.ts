import { type AsyncRouteComponent, lazyRouteComponent } from '@tanstack/react-router'

/** The file of a screen could not be loaded. */
export class ScreenNotLoaded extends Error {
  /** The service answered then: it no longer has the file, or did not answer when it was first asked for. */
  readonly isServed: boolean
  constructor(isServed: boolean) {
    super('The file of this screen was not loaded.')
    this.isServed = isServed
  }
}

/** Whether the service hands out the office. */
export const isServed = (): Promise<boolean> =>
  fetch('/app', { method: 'HEAD', cache: 'no-store', signal: AbortSignal.timeout(5000) }).then(
    ({ status }) => status < 500,
    () => false,
  )

/**
 * A screen whose file is loaded when it is needed. The router itself reloads the page if a file cannot be loaded, which
 * without a connection ends outside the office: here the failure is shown in place of the screen.
 */
export const lazyScreen = <Name extends string>(
  load: () => Promise<Record<Name, () => React.ReactNode>>,
  name: Name,
): AsyncRouteComponent<Record<never, never>> =>
  lazyRouteComponent(
    () =>
      load().catch(async () => {
        throw new ScreenNotLoaded(await isServed())
      }),
    name,
  )
