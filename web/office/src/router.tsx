import {
  createRootRoute,
  createRoute,
  createRouter,
  Outlet,
  redirect,
  retainSearchParams,
} from '@tanstack/react-router'
import { readSession } from './api/session.ts'
import { Inside } from './frame/Inside.tsx'
import { NotFound } from './frame/NotFound.tsx'
import { lazyScreen } from './routing/lazy-screen.ts'
import { RouteFailed } from './routing/RouteFailed.tsx'
import { parseSearch, readWords, stringifySearch } from './search.ts'

const root = createRootRoute({
  component: Outlet,
  notFoundComponent: NotFound,
  errorComponent: RouteFailed,
  validateSearch: readWords('company'),
  search: { middlewares: [retainSearchParams(['company'])] },
})

/* ---- coming in: no session needed ---- */

const login = createRoute({
  getParentRoute: () => root,
  path: 'login',
  validateSearch: readWords('then', 'email'),
  component: lazyScreen(() => import('./screens/login/Login.tsx'), 'Login'),
})
const register = createRoute({
  getParentRoute: () => root,
  path: 'register',
  component: lazyScreen(() => import('./screens/register/Register.tsx'), 'Register'),
})
const forgot = createRoute({
  getParentRoute: () => root,
  path: 'forgot',
  component: lazyScreen(() => import('./screens/password/Forgot.tsx'), 'Forgot'),
})
const reset = createRoute({
  getParentRoute: () => root,
  path: 'reset',
  validateSearch: readWords('token'),
  component: lazyScreen(() => import('./screens/password/Choose.tsx'), 'Reset'),
})
const invitation = createRoute({
  getParentRoute: () => root,
  path: 'invitation',
  validateSearch: readWords('token'),
  component: lazyScreen(() => import('./screens/password/Choose.tsx'), 'Invitation'),
})

/* ---- behind the login ---- */

/** The requested page is remembered through the login. */
function askLogin({ location }: { location: { href: string } }): void {
  if (readSession()) return
  const then = location.href.replace(/^\/app/, '')
  throw redirect({ to: '/login', search: then === '' || then === '/' ? {} : { then }, replace: true })
}
const inside = createRoute({ getParentRoute: () => root, id: 'inside', component: Inside, beforeLoad: askLogin })

const home = createRoute({
  getParentRoute: () => inside,
  path: '/',
  component: lazyScreen(() => import('./screens/home/Home.tsx'), 'Home'),
})
const orders = createRoute({
  getParentRoute: () => inside,
  path: 'orders',
  validateSearch: readWords(
    'status',
    'search',
    'from',
    'to',
    'paymentChannel',
    'till',
    'sort',
    'managerEmail',
    'columns',
  ),
  component: lazyScreen(() => import('./screens/orders/OrderList.tsx'), 'OrderList'),
})
const newOrder = createRoute({
  getParentRoute: () => inside,
  path: 'orders/new',
  component: lazyScreen(() => import('./screens/new/NewOrder.tsx'), 'NewOrder'),
})
const order = createRoute({
  getParentRoute: () => inside,
  path: 'orders/$code',
  component: lazyScreen(() => import('./screens/order/OrderPage.tsx'), 'OrderPage'),
})
const links = createRoute({
  getParentRoute: () => inside,
  path: 'links',
  validateSearch: readWords('status', 'search'),
  component: lazyScreen(() => import('./screens/links/LinkList.tsx'), 'LinkList'),
})
const newLink = createRoute({
  getParentRoute: () => inside,
  path: 'links/new',
  component: lazyScreen(() => import('./screens/new/NewOrder.tsx'), 'NewLink'),
})
const device = createRoute({
  getParentRoute: () => inside,
  path: 'device',
  validateSearch: readWords('code'),
  component: lazyScreen(() => import('./screens/device/DeviceLogin.tsx'), 'DeviceLogin'),
})
const account = createRoute({
  getParentRoute: () => inside,
  path: 'account',
  component: lazyScreen(() => import('./screens/account/Account.tsx'), 'Account'),
})
const refunds = createRoute({
  getParentRoute: () => inside,
  path: 'refunds',
  validateSearch: readWords('status', 'code'),
  component: lazyScreen(() => import('./screens/refunds/RefundList.tsx'), 'RefundList'),
})
const mispayments = createRoute({
  getParentRoute: () => inside,
  path: 'mispayments',
  validateSearch: readWords('status', 'tab'),
  component: lazyScreen(() => import('./screens/mispayments/MispaymentList.tsx'), 'MispaymentList'),
})
const money = createRoute({
  getParentRoute: () => inside,
  path: 'money',
  validateSearch: readWords('from', 'to', 'tab'),
  component: lazyScreen(() => import('./screens/money/MoneyPage.tsx'), 'MoneyPage'),
})
const payout = createRoute({
  getParentRoute: () => inside,
  path: 'money/payouts/$id',
  component: lazyScreen(() => import('./screens/money/Payout.tsx'), 'Payout'),
})
const webhooks = createRoute({
  getParentRoute: () => inside,
  path: 'webhooks',
  validateSearch: readWords('status', 'delivery', 'event', 'from', 'to', 'address'),
  component: lazyScreen(() => import('./screens/webhooks/Webhooks.tsx'), 'Webhooks'),
})
const keys = createRoute({
  getParentRoute: () => inside,
  path: 'keys',
  component: lazyScreen(() => import('./screens/keys/Keys.tsx'), 'Keys'),
})
const developer = createRoute({
  getParentRoute: () => inside,
  path: 'developer',
  component: lazyScreen(() => import('./screens/developer/Developer.tsx'), 'Developer'),
})
const events = createRoute({
  getParentRoute: () => inside,
  path: 'events',
  validateSearch: readWords('event'),
  component: lazyScreen(() => import('./screens/events/EventFeed.tsx'), 'EventFeed'),
})
const requests = createRoute({
  getParentRoute: () => inside,
  path: 'requests',
  validateSearch: readWords('request', 'status'),
  component: lazyScreen(() => import('./screens/requests/RequestLog.tsx'), 'RequestLog'),
})
const shop = createRoute({
  getParentRoute: () => inside,
  path: 'shop',
  validateSearch: readWords('tab'),
  component: lazyScreen(() => import('./screens/shop/Shop.tsx'), 'Shop'),
})
const people = createRoute({
  getParentRoute: () => inside,
  path: 'people',
  validateSearch: readWords('search'),
  component: lazyScreen(() => import('./screens/people/People.tsx'), 'People'),
})
const identity = createRoute({
  getParentRoute: () => inside,
  path: 'identity',
  validateSearch: readWords('status', 'check', 'tab'),
  component: lazyScreen(() => import('./screens/identity/Identity.tsx'), 'Identity'),
})
const audit = createRoute({
  getParentRoute: () => inside,
  path: 'audit',
  validateSearch: readWords('action', 'actor', 'object'),
  component: lazyScreen(() => import('./screens/audit/Audit.tsx'), 'Audit'),
})
const operator = createRoute({
  getParentRoute: () => inside,
  path: 'operator',
  validateSearch: readWords('search', 'status', 'tab'),
  component: lazyScreen(() => import('./screens/operator/Operator.tsx'), 'Operator'),
})

/** Keeps the menu around an unknown URL. */
const unknown = createRoute({ getParentRoute: () => inside, path: '$', component: NotFound })

const routeTree = root.addChildren([
  login,
  register,
  forgot,
  reset,
  invitation,
  inside.addChildren([
    home,
    orders,
    newOrder,
    order,
    links,
    newLink,
    account,
    device,
    refunds,
    mispayments,
    money,
    payout,
    webhooks,
    keys,
    developer,
    events,
    requests,
    shop,
    people,
    identity,
    audit,
    operator,
    unknown,
  ]),
])

export const router = createRouter({
  routeTree,
  basepath: '/app',
  parseSearch,
  stringifySearch,
  defaultPreload: 'intent',
  scrollRestoration: true,
  defaultErrorComponent: RouteFailed,
})

type Lazy = { options: { component?: { preload?(): unknown } } }

/** Loads the file of the screen in the URL before it is known who is asking. */
export function preloadScreen(): void {
  const routes: Record<string, Lazy> = router.routesById
  for (const match of router.matchRoutes(router.latestLocation)) routes[match.routeId]?.options.component?.preload?.()
}

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router
  }
}
