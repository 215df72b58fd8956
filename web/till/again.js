/*
 * Loads the page afresh where a script or style that it names did not come: after an upgrade, another node may not have
 * its version yet. A page of a release whose addresses carried no version, kept by a worker of that release, finds this
 * file in the place of its own script.
 */
const AGAIN_MS = 3000
const again = () => setTimeout(() => location.reload(), AGAIN_MS)

// as a module: in the place of the page's own script
if (document.currentScript === null) again()
window.addEventListener(
  'error',
  ({ target }) => {
    const isPart = target instanceof HTMLScriptElement || target instanceof HTMLLinkElement
    if (isPart) again()
  },
  true,
)
