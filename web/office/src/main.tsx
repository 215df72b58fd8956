import { QueryClientProvider } from '@tanstack/react-query'
import { RouterProvider } from '@tanstack/react-router'
import { createRoot } from 'react-dom/client'
import { queryClient } from './api/hooks.ts'
import { resume } from './api/session.ts'
import { StepUp } from './frame/StepUp.tsx'
import { startScheme } from './frame/scheme.ts'
import { Toasts } from './kit/toasts.tsx'
import { preloadScreen, router } from './router.tsx'
import './styles.css'
import { startLang } from './texts/lang.ts'

startScheme()
const root = document.getElementById('root')
// the screen's own file loads while the session is being checked
preloadScreen()
await Promise.all([startLang(), resume()])
if (root) {
  createRoot(root).render(
    <QueryClientProvider client={queryClient}>
      <RouterProvider router={router} />
      <StepUp />
      <Toasts />
    </QueryClientProvider>,
  )
}
