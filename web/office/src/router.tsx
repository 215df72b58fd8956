import {
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
  Outlet,
  redirect,
  retainSearchParams,
} from '@tanstack/react-router'
import { readSession } from './api/session.ts'
import { Inside } from './frame/Inside.tsx'
import { NotFound, RouteFailed } from './frame/NotFound.tsx'
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
  component: lazyRouteComponent(() => import('./screens/login/Login.tsx'), 'Login'),
})
const register = createRoute({
  getParentRoute: () => root,
  path: 'register',
  component: lazyRouteComponent(() => import('./screens/register/Register.tsx'), 'Register'),
})
const forgot = createRoute({
  getParentRoute: () => root,
  path: 'forgot',
  component: lazyRouteComponent(() => import('./screens/password/Forgot.tsx'), 'Forgot'),
})
const reset = createRoute({
  getParentRoute: () => root,
  path: 'reset',
  validateSearch: readWords('token'),
  component: lazyRouteComponent(() => import('./screens/password/Choose.tsx'), 'Reset'),
})
const invitation = createRoute({
  getParentRoute: () => root,
  path: 'invitation',
  validateSearch: readWords('token'),
  component: lazyRouteComponent(() => import('./screens/password/Choose.tsx'), 'Invitation'),
})
const verify = createRoute({
  getParentRoute: () => root,
  path: 'verify',
  validateSearch: readWords('token'),
  component: lazyRouteComponent(() => import('./screens/password/Verify.tsx'), 'Verify'),
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
  component: lazyRouteComponent(() => import('./screens/home/Home.tsx'), 'Home'),
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
  component: lazyRouteComponent(() => import('./screens/orders/OrderList.tsx'), 'OrderList'),
})
const newOrder = createRoute({
  getParentRoute: () => inside,
  path: 'orders/new',
  component: lazyRouteComponent(() => import('./screens/new/NewOrder.tsx'), 'NewOrder'),
})
const order = createRoute({
  getParentRoute: () => inside,
  path: 'orders/$code',
  component: lazyRouteComponent(() => import('./screens/order/OrderPage.tsx'), 'OrderPage'),
})
const links = createRoute({
  getParentRoute: () => inside,
  path: 'links',
  validateSearch: readWords('status', 'search'),
  component: lazyRouteComponent(() => import('./screens/links/LinkList.tsx'), 'LinkList'),
})
const newLink = createRoute({
  getParentRoute: () => inside,
  path: 'links/new',
  component: lazyRouteComponent(() => import('./screens/new/NewOrder.tsx'), 'NewLink'),
})
const device = createRoute({
  getParentRoute: () => inside,
  path: 'device',
  validateSearch: readWords('code'),
  component: lazyRouteComponent(() => import('./screens/device/DeviceLogin.tsx'), 'DeviceLogin'),
})
const account = createRoute({
  getParentRoute: () => inside,
  path: 'account',
  component: lazyRouteComponent(() => import('./screens/account/Account.tsx'), 'Account'),
})
const refunds = createRoute({
  getParentRoute: () => inside,
  path: 'refunds',
  validateSearch: readWords('status', 'code'),
  component: lazyRouteComponent(() => import('./screens/refunds/RefundList.tsx'), 'RefundList'),
})
const mispayments = createRoute({
  getParentRoute: () => inside,
  path: 'mispayments',
  validateSearch: readWords('status', 'tab'),
  component: lazyRouteComponent(() => import('./screens/mispayments/MispaymentList.tsx'), 'MispaymentList'),
})
const money = createRoute({
  getParentRoute: () => inside,
  path: 'money',
  validateSearch: readWords('from', 'to', 'tab'),
  component: lazyRouteComponent(() => import('./screens/money/MoneyPage.tsx'), 'MoneyPage'),
})
const payout = createRoute({
  getParentRoute: () => inside,
  path: 'money/payouts/$id',
  component: lazyRouteComponent(() => import('./screens/money/Payout.tsx'), 'Payout'),
})
const webhooks = createRoute({
  getParentRoute: () => inside,
  path: 'webhooks',
  validateSearch: readWords('status', 'delivery', 'event', 'from', 'to', 'address'),
  component: lazyRouteComponent(() => import('./screens/webhooks/Webhooks.tsx'), 'Webhooks'),
})
const keys = createRoute({
  getParentRoute: () => inside,
  path: 'keys',
  component: lazyRouteComponent(() => import('./screens/keys/Keys.tsx'), 'Keys'),
})
const developer = createRoute({
  getParentRoute: () => inside,
  path: 'developer',
  component: lazyRouteComponent(() => import('./screens/developer/Developer.tsx'), 'Developer'),
})
const events = createRoute({
  getParentRoute: () => inside,
  path: 'events',
  validateSearch: readWords('event'),
  component: lazyRouteComponent(() => import('./screens/events/EventFeed.tsx'), 'EventFeed'),
})
const requests = createRoute({
  getParentRoute: () => inside,
  path: 'requests',
  validateSearch: readWords('request', 'status'),
  component: lazyRouteComponent(() => import('./screens/requests/RequestLog.tsx'), 'RequestLog'),
})
const shop = createRoute({
  getParentRoute: () => inside,
  path: 'shop',
  validateSearch: readWords('tab'),
  component: lazyRouteComponent(() => import('./screens/shop/Shop.tsx'), 'Shop'),
})
const people = createRoute({
  getParentRoute: () => inside,
  path: 'people',
  validateSearch: readWords('search'),
  component: lazyRouteComponent(() => import('./screens/people/People.tsx'), 'People'),
})
const identity = createRoute({
  getParentRoute: () => inside,
  path: 'identity',
  validateSearch: readWords('status', 'check', 'tab'),
  component: lazyRouteComponent(() => import('./screens/identity/Identity.tsx'), 'Identity'),
})
const audit = createRoute({
  getParentRoute: () => inside,
  path: 'audit',
  validateSearch: readWords('action', 'actor', 'object'),
  component: lazyRouteComponent(() => import('./screens/audit/Audit.tsx'), 'Audit'),
})
const operator = createRoute({
  getParentRoute: () => inside,
  path: 'operator',
  validateSearch: readWords('search', 'status', 'tab'),
  component: lazyRouteComponent(() => import('./screens/operator/Operator.tsx'), 'Operator'),
})

/** Keeps the menu around an unknown URL. */
const unknown = createRoute({ getParentRoute: () => inside, path: '$', component: NotFound })

const routeTree = root.addChildren([
  login,
  register,
  forgot,
  reset,
  invitation,
  verify,
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
