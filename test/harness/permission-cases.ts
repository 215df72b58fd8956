import { sql } from '../../src/db/db.ts'
import { newEmail, OTHER_PASSWORD, PASSWORD, totpOf } from './accounts.ts'
import { SCREENINGS, UNMATCHED, WRONG_BOOKS } from './permission-money-cases.ts'
import {
  approvedKyc,
  ask,
  byAdmin,
  type Cases,
  choice,
  delivery,
  GATEPAY,
  kyc,
  type Made,
  order,
  type Place,
  point,
  post,
  session,
  staticLink,
  tillOf,
} from './permission-objects.ts'
import { MONEY, ORDERS } from './permission-sale-cases.ts'
import { insertUser, newId } from './permission-world.ts'

export type { Case, Made, Place } from './permission-objects.ts'

/** 16 × 16 pixels. */
const TINY_PNG =
  'iVBORw0KGgoAAAANSUhEUgAAABAAAAAQCAYAAAAf8/9hAAAAL0lEQVR4AaXBAQEAIAyAME4QkxjM9j4E27xzP4FEEkkkkUQSSSSRRBJJJJFEEkm0oSUB8TcgBaUAAAAASUVORK5CYII='

const CHECKS: Cases = {
  listKyc: { row: 'kyc.read', ownOnly: true, make: async (place) => ({ shows: (await kyc(place)).kycId }) },
  startKyc: { row: 'kyc.start', make: async (place) => ({ body: { code: (await order(place)).code } }) },
  getKyc: {
    row: 'kyc.read',
    async make(place) {
      const { kycId: id } = await kyc(place)
      return { params: { id }, shows: id }
    },
  },
  approveKyc: { row: 'kyc.decide', make: async (place) => ({ params: { id: (await kyc(place)).kycId }, body: {} }) },
  refuseKyc: {
    row: 'kyc.decide',
    make: async (place) => ({ params: { id: (await kyc(place)).kycId }, body: { reason: 'no document' } }),
  },
  requestEdd: { row: 'kyc.requestEdd', make: approvedKyc },
  completeEdd: {
    row: 'kyc.completeEdd',
    async make(place) {
      const made = await approvedKyc(place)
      await post(place, `kyc/${made.params?.id}/edd`)
      return { ...made, body: { outcome: 'refused' } }
    },
  },
}

const CHANNELS: Cases = {
  listChannelNames: { row: 'channels.read', ownOnly: true, make: () => ({ shows: 'Binance Pay' }) },
  listChannels: { row: 'channels.read', ownOnly: true, make: () => ({ shows: 'crypto' }) },
  listChannelAccounts: {
    row: 'channels.accounts',
    make: (place) => ({ query: choice(place), shows: 'gatepay' }),
  },
  saveChannelAccount: {
    row: 'channels.account',
    make: (place) => ({ params: { channel: 'gatepay' }, query: choice(place), body: { settings: GATEPAY } }),
  },
  removeChannelAccount: {
    row: 'channels.account',
    async make(place) {
      await ask(place.home.boss, 'PUT', 'channel-accounts/gatepay', { settings: GATEPAY })
      return { params: { channel: 'gatepay' }, query: choice(place) }
    },
  },
  checkChannelAccount: {
    row: 'channels.accounts',
    silent: true,
    async make(place) {
      await ask(place.home.boss, 'PUT', 'channel-accounts/gatepay', { settings: GATEPAY })
      return { params: { channel: 'gatepay' }, query: choice(place) }
    },
  },
  listChannelRules: { row: 'channels.rules', make: (place) => ({ query: choice(place), shows: 'crypto' }) },
  sortChannels: { row: 'channels.rule', make: (place) => ({ query: choice(place), body: { order: ['crypto'] } }) },
  changeChannelRule: {
    row: 'channels.rule',
    make: (place) => ({ params: { channel: 'crypto' }, query: choice(place), body: { offered: true } }),
  },
  listChannelExchanges: {
    row: 'channels.exchanges',
    async make(place) {
      const { world, home } = place
      const { code, id } = await order(place)
      const { chainId } = world.shop.chain
      await post(place, `confirm_conversion/accept/${code}`, { paymentChannel: 'crypto', network: chainId })
      const said = `said-${newId()}`
      await world.shop.host.db.run(sql`
        insert into channel_exchanges (company_id, id, channel, merchant_reference, step, method, url, request, answer,
          duration_ms, at)
        select ${home.companyId}, ${newId()}, channel, merchant_reference, 'create', 'POST', 'https://x.example', ${said},
          '', 1, now() from payments where order_id = ${id}`)
      return { params: { code }, shows: said }
    },
  },
}

const announcement = (place: Place) => byAdmin<{ _id: string }>(place, 'announcements', { text: 'A word' })

const WEBHOOKS: Cases = {
  listWebhookDeliveries: {
    row: 'webhooks.deliveries',
    make: async (place) => ({ query: choice(place), shows: (await delivery(place)).id }),
  },
  listWebhookAddresses: {
    row: 'webhooks.deliveries',
    async make(place) {
      await delivery(place)
      return { query: choice(place), shows: place.world.shop.receiver.url }
    },
  },
  getWebhookDelivery: {
    row: 'webhooks.deliveries',
    async make(place) {
      const { id } = await delivery(place)
      return { params: { id }, shows: id }
    },
  },
  getWebhookDeliveryAsCurl: {
    row: 'webhooks.curl',
    async make(place) {
      const { id, code } = await delivery(place)
      return { params: { id }, shows: code }
    },
  },
  redeliverWebhook: {
    row: 'webhooks.redeliver',
    make: async (place) => ({ params: { id: (await delivery(place)).id } }),
  },
  redeliverWebhooks: {
    row: 'webhooks.redeliver',
    async make(place) {
      await delivery(place)
      return { body: choice(place) }
    },
  },
  getWebhookSubscriptions: {
    row: 'webhooks.subscriptions',
    make: (place) => ({ query: choice(place), shows: 'order.paid' }),
  },
  changeWebhookSubscriptions: {
    row: 'webhooks.subscribe',
    make: (place) => ({ body: { events: ['order.expired'], companyId: place.home.companyId } }),
    after: ({ home, world }) =>
      world.shop.host.db.run(sql`
        update companies set optional_events = '{order.initial}', version = version + 1 where id = ${home.companyId}`),
  },
  getWebhookSecret: { row: 'webhooks.secret', make: (place) => ({ query: choice(place), shows: 'whsec_' }) },
  regenerateWebhookSecret: { row: 'webhooks.regenerate', make: (place) => ({ query: choice(place) }) },
  prepareWebhookSecret: { row: 'webhooks.regenerate', make: (place) => ({ query: choice(place) }) },
  testWebhookSecret: {
    row: 'webhooks.regenerate',
    silent: true,
    async make(place) {
      await post(place, '/api/users/webhook-secret/next')
      return { body: { url: `${place.world.shop.receiver.url}/test`, ...choice(place) }, shows: '"delivered":true' }
    },
  },
  sendTestWebhook: {
    row: 'webhooks.test',
    silent: true,
    make: (place) => ({
      body: { url: `${place.world.shop.receiver.url}/test`, ...choice(place) },
      shows: '"delivered":true',
    }),
  },
  getOperatorStatus: { row: 'operator.status', ownOnly: true, make: () => ({ shows: 'webhooks' }) },
  listNetworks: { row: 'channels.read', ownOnly: true, make: () => ({ shows: '"testnet":' }) },
  listOperatorChains: { row: 'operator.status', ownOnly: true, make: () => ({ shows: '"endpoints":[' }) },
  listOperatorWallets: { row: 'operator.status', ownOnly: true, make: () => ({ shows: '"twoPersonsFrom"' }) },
  getSweepPlan: { row: 'operator.status', ownOnly: true, make: () => ({ shows: '"silent":[]' }) },
  verifyAuditLog: { row: 'audit.verify', ownOnly: true, silent: true, make: () => ({ shows: '"fault":null' }) },
  listAnnouncements: {
    row: 'announcements.read',
    ownOnly: true,
    make: async (place) => ({ shows: (await announcement(place))._id }),
  },
  createAnnouncement: { row: 'announcements.write', ownOnly: true, make: () => ({ body: { text: 'A word' } }) },
  deleteAnnouncement: {
    row: 'announcements.write',
    ownOnly: true,
    make: async (place) => ({ params: { id: (await announcement(place))._id } }),
  },
  listRequests: {
    row: 'requests.read',
    async make(place) {
      await order(place)
      return { query: choice(place), shows: '/confirm_conversion/request' }
    },
  },
  activateWebhookSecret: {
    row: 'webhooks.regenerate',
    async make(place) {
      await post(place, '/api/users/webhook-secret/next')
      return { query: choice(place) }
    },
  },
}

const user = async (place: Place, role: string, approved = true): Promise<Made> => {
  const id = await insertUser(place.world, place.home, role, approved)
  return { params: { id }, shows: id }
}

const PEOPLE: Cases = {
  listMyPermissions: { row: 'users.me', ownOnly: true, make: () => ({ shows: 'users.me' }) },
  getMe: { row: 'users.me', ownOnly: true, make: ({ caller }) => ({ shows: caller.userId }) },
  changeMe: { row: 'users.me', ownOnly: true, make: () => ({ body: { firstName: `N-${newId()}` } }) },
  listUsers: {
    row: 'users.list',
    ownOnly: true,
    make: async (place) => ({ query: { limit: '100' }, shows: (await user(place, 'Observer')).shows ?? '' }),
  },
  inviteUser: {
    row: 'users.invite',
    make: (place) => ({
      body: { email: newEmail(), firstName: 'A', lastName: 'B', role: 'Observer', ...choice(place) },
    }),
  },
  getUser: { row: 'users.list', make: (place) => user(place, 'Observer') },
  changeUser: {
    row: 'users.change',
    make: async (place) => ({ ...(await user(place, 'Cashier')), body: { disabled: true } }),
  },
  approveUser: { row: 'users.approve', make: (place) => user(place, 'Cashier', false) },
  listCompaniesOfUser: {
    row: 'users.companies',
    async make(place) {
      const made = await user(place, 'SuperManager')
      const companies = [place.home.companyId]
      await ask(place.world.admin, 'PUT', `users/${made.params?.id}/companies`, { companies })
      return { ...made, shows: place.home.companyId }
    },
  },
  attachCompanies: {
    row: 'users.companies',
    make: async (place) => ({ ...(await user(place, 'SuperManager')), body: { companies: [place.home.companyId] } }),
  },
  resetTwoFactorOfUser: {
    row: 'users.resetTwoFactor',
    async make(place) {
      const made = await user(place, 'Cashier')
      const id = made.params?.id ?? ''
      await place.world.shop.host.db.run(sql`update users set totp_enabled_at = now() where id = ${id}`)
      return { params: { id } }
    },
  },
  listApiKeys: {
    row: 'apiKeys.read',
    make: (place) => ({ query: choice(place), shows: place.home.server['x-api-key'] ?? '' }),
  },
  createApiKey: {
    row: 'apiKeys.create',
    make: (place) => ({ query: choice(place), body: { name: 'k', scopes: ['orders:read'] } }),
  },
  revokeApiKey: {
    row: 'apiKeys.revoke',
    async make(place) {
      const { _id: id } = await post<{ _id: string }>(place, 'api-keys', { name: 'k', scopes: ['orders:read'] })
      return { params: { id } }
    },
  },
  listAuditLog: {
    row: 'audit.read',
    ownOnly: true,
    make: async (place) => ({ query: { limit: '100' }, shows: (await point(place))._id }),
  },
}

const SHOPS: Cases = {
  listCompanies: {
    row: 'companies.read',
    ownOnly: true,
    make: ({ home }) => ({ query: { limit: '100' }, shows: home.companyId }),
  },
  getCompany: {
    row: 'companies.read',
    make: ({ home }) => ({ params: { id: home.companyId }, shows: home.companyId }),
  },
  changeCompany: {
    row: 'companies.change',
    make: ({ home }) => ({ params: { id: home.companyId }, body: { name: `Renamed ${newId()}` } }),
  },
  setCompanyLogo: {
    row: 'companies.change',
    make: ({ home }) => ({ params: { id: home.companyId }, body: { image: TINY_PNG } }),
  },
  removeCompanyLogo: {
    row: 'companies.change',
    async make(place) {
      await ask(place.home.boss, 'PUT', `companies/${place.home.companyId}/logo`, { image: TINY_PNG })
      return { params: { id: place.home.companyId } }
    },
  },
  approveCompany: {
    row: 'companies.approve',
    async make({ home, world }) {
      await world.shop.host.db.run(sql`
        insert into companies (id, name, approved, webhook_secret_sealed)
        select ${newId()}, 'Waits', false, webhook_secret_sealed from companies where id = ${home.companyId}`)
      const { id } = await world.shop.host.db.one<{ id: string }>(sql`
        select id from companies where not approved order by created_at desc, id limit 1`)
      return { params: { id }, shows: id }
    },
  },
  listSalesPoints: {
    row: 'tills.read',
    make: async (place) => ({ query: { ...choice(place), limit: '100' }, shows: (await point(place))._id }),
  },
  createSalesPoint: { row: 'tills.write', make: (place) => ({ query: choice(place), body: { name: 'Shop' } }) },
  getSalesPoint: {
    row: 'tills.read',
    async make(place) {
      const { _id: id } = await point(place)
      return { params: { id }, shows: id }
    },
  },
  changeSalesPoint: {
    row: 'tills.write',
    make: async (place) => ({ params: { id: (await point(place))._id }, body: { city: 'Nice' } }),
  },
  listCollectors: { row: 'tills.read', make: (place) => ({ query: choice(place), shows: place.home.till }) },
  getCollector: {
    row: 'tills.read',
    personal: true,
    make: (place) => ({ params: { id: tillOf(place) }, shows: tillOf(place) }),
  },
  changeCollector: {
    row: 'tills.write',
    async make(place) {
      const body = { identifier: `T-${newId()}`, salePoint: (await point(place))._id }
      const { _id: id } = await post<{ _id: string }>(place, 'collectors/add', body)
      return { params: { id }, body: { active: false } }
    },
  },
  addCollector: {
    row: 'tills.write',
    make: async (place) => ({ body: { identifier: `T-${newId()}`, salePoint: (await point(place))._id } }),
  },
  listStaticLinks: {
    row: 'staticLinks.read',
    make: async (place) => ({ query: choice(place), shows: (await staticLink(place))._id }),
  },
  createStaticLink: {
    row: 'staticLinks.write',
    make: (place) => ({
      query: choice(place),
      body: { name: 'Table 4', merchantIdentifier: tillOf(place), currency: 'EUR' },
    }),
  },
  getStaticLink: {
    row: 'staticLinks.read',
    async make(place) {
      const { _id: id } = await staticLink(place)
      return { params: { id }, shows: id }
    },
  },
  changeStaticLink: {
    row: 'staticLinks.write',
    make: async (place) => ({ params: { id: (await staticLink(place))._id }, body: { active: false } }),
  },
  listBuyButtons: { row: 'buttons.read', make: (place) => ({ query: choice(place), shows: place.home.button }) },
  createBuyButton: {
    row: 'buttons.write',
    make: (place) => ({
      query: choice(place),
      body: { name: 'B', websiteUrl: 'https://shop.example', price: '5', currency: 'EUR' },
    }),
  },
  getBuyButton: { row: 'buttons.read', make: ({ home }) => ({ params: { id: home.button }, shows: home.button }) },
  changeBuyButton: {
    row: 'buttons.write',
    make: ({ home }) => ({ params: { id: home.button }, body: { name: `B-${newId()}` } }),
  },
  deleteBuyButton: {
    row: 'buttons.write',
    async make(place) {
      const body = { name: 'B', websiteUrl: 'https://shop.example', price: '5', currency: 'EUR' }
      return { params: { id: (await post<{ _id: string }>(place, 'buy-buttons', body))._id } }
    },
  },
  createBuyButtonSession: {
    row: 'buttonSessions.write',
    make: ({ home }) => ({ body: { button: home.button, orderRef: `ref-${newId()}` } }),
  },
  getBuyButtonSession: {
    row: 'buttonSessions.read',
    async make(place) {
      const { _id: id } = await session(place)
      return { params: { id }, shows: id }
    },
  },
  getBuyButtonSessionByCode: {
    row: 'buttonSessions.read',
    async make(place) {
      const { code, _id } = await session(place)
      return { params: { code }, shows: _id }
    },
  },
  createTillDevice: {
    row: 'tillDevices.create',
    foreign: { status: 400, code: 'UNKNOWN_MERCHANT_IDENTIFIER' },
    make: ({ home }) => ({ body: { name: 'Counter', collector: home.till } }),
  },
  listTillDevices: {
    row: 'tillDevices.read',
    async make(place) {
      return { query: choice(place), shows: await tillDevice(place) }
    },
  },
  revokeTillDevice: {
    row: 'tillDevices.revoke',
    make: async (place) => ({ params: { id: await tillDevice(place) } }),
  },
  getDeviceLogin: {
    row: 'deviceLogins.read',
    ownOnly: true,
    make: async (place) => ({ params: { userCode: await deviceLogin(place) }, shows: 'comptoir on a laptop' }),
  },
  approveDeviceLogin: {
    row: 'deviceLogins.approve',
    make: async (place) => ({ params: { userCode: await deviceLogin(place) }, query: choice(place), body: {} }),
  },
  denyDeviceLogin: {
    row: 'deviceLogins.deny',
    ownOnly: true,
    make: async (place) => ({ params: { userCode: await deviceLogin(place) } }),
  },
  getTillPin: { row: 'tillPins.read', ownOnly: true, make: () => ({ shows: 'changedAt' }) },
  changeTillPin: { row: 'tillPins.change', ownOnly: true, make: () => ({ body: { pin: '402817' } }) },
  getTillShift: { row: 'till.shift', ownOnly: true, make: () => ({ shows: 'startedAt' }) },
  endBuyButtonSession: {
    row: 'buttonSessions.end',
    make: async (place) => ({ params: { id: (await session(place))._id } }),
  },
}

async function deviceLogin({ world }: Place): Promise<string> {
  const answer = await world.shop.host.call('POST', '/api/next/auth/device', {
    body: { clientName: 'comptoir on a laptop' },
  })
  return (answer.data as unknown as { userCode: string }).userCode
}

async function tillDevice({ home }: Place): Promise<string> {
  const made = await home.boss.post<{ _id: string }>('till-devices', { name: 'Counter', collector: home.till })
  return made.data._id
}

/** Another session of the caller, or of somebody else. */
async function insertSession({ world, home, caller }: Place): Promise<string> {
  const id = newId()
  const userId = home === world.foreign || caller.userId === '' ? home.boss.userId : caller.userId
  await world.shop.host.db.run(sql`
    insert into sessions (id, user_id, kind, idle_ms, created_at, last_used_at, idle_expires_at, expires_at)
    values (${id}, ${userId}, 'dashboard', 3600000, now(), now(), now() + interval '1 hour', now() + interval '1 hour')`)
  return id
}

/** A passkey of the caller, or of another person. */
async function insertPasskey({ world, home, caller }: Place): Promise<string> {
  const id = newId()
  const userId = home === world.foreign || caller.userId === '' ? home.boss.userId : caller.userId
  await world.shop.host.db.run(sql`
    insert into passkeys (id, user_id, credential_id, public_key, counter, name, created_at)
    values (${id}, ${userId}, ${id}, '', 0, 'key', now())`)
  return id
}

/** In this order: an app is enrolled, its codes are renewed, it is removed, and the password goes last. */
const ACCOUNT: Cases = {
  listSessions: {
    row: 'auth.sessions',
    ownOnly: true,
    make: async (place) => ({ shows: await insertSession(place) }),
  },
  revokeSession: {
    row: 'auth.sessions',
    async make(place) {
      return { params: { id: await insertSession(place) } }
    },
  },
  revokeOtherSessions: {
    row: 'auth.sessions',
    ownOnly: true,
    async make(place) {
      await insertSession(place)
      return {}
    },
  },
  sendVerification: {
    row: 'auth.sendVerification',
    ownOnly: true,
    async make({ world, caller }) {
      await world.shop.host.db.run(sql`update users set verified_at = null where id = ${caller.userId}`)
      return {}
    },
    after: ({ world, caller }) =>
      world.shop.host.db.run(sql`update users set verified_at = now() where id = ${caller.userId}`),
  },
  listPasskeys: {
    row: 'auth.sessions',
    ownOnly: true,
    make: async (place) => ({ shows: await insertPasskey(place) }),
  },
  removePasskey: {
    row: 'auth.twoFactorRemove',
    make: async (place) => ({ params: { id: await insertPasskey(place) } }),
  },
  setupTwoFactor: { row: 'auth.twoFactor', ownOnly: true, make: () => ({ shows: 'otpauth' }) },
  enableTwoFactor: {
    row: 'auth.twoFactor',
    ownOnly: true,
    async make({ caller }) {
      if (caller.role === 'anyone' || caller.role === 'apiKey') return { body: { otp: '000000' } }
      const { otpauthUri } = await ask<{ otpauthUri: string }>(caller.client, 'POST', 'auth/2fa/setup')
      return { body: { otp: totpOf(otpauthUri).generate() }, shows: 'recoveryCodes' }
    },
  },
  renewRecoveryCodes: { row: 'auth.twoFactorRemove', ownOnly: true, make: () => ({ shows: 'recoveryCodes' }) },
  disableTwoFactor: { row: 'auth.twoFactorRemove', ownOnly: true, make: () => ({}) },
  changePassword: {
    row: 'auth.password',
    ownOnly: true,
    make: () => ({ body: { password: PASSWORD, newPassword: OTHER_PASSWORD } }),
  },
}

/** Every documented operation whose answer depends on who asks, in the order in which they are tried. */
export const CASES: Cases = {
  ...ORDERS,
  ...MONEY,
  ...CHECKS,
  ...CHANNELS,
  ...WEBHOOKS,
  ...PEOPLE,
  ...SHOPS,
  ...SCREENINGS,
  ...WRONG_BOOKS,
  ...UNMATCHED,
  ...ACCOUNT,
}

/** Operations that ask nobody who he is, or only a provider's signature, and where they are tried. */
export const ELSEWHERE: Record<string, string> = {
  register: 'test/accounts-passwords.test.ts',
  loginManager: 'test/accounts-login.test.ts',
  login: 'test/accounts-login.test.ts',
  beginPasskey: 'test/browser/office-passkeys.test.ts',
  addPasskey: 'test/browser/office-passkeys.test.ts',
  beginPasskeyProof: 'test/browser/office-passkeys.test.ts',
  startDeviceLogin: 'test/device-login.test.ts',
  claimDeviceLogin: 'test/device-login.test.ts',
  revokeOwnApiKey: 'test/device-login.test.ts',
  validateOtp: 'test/accounts-codes.test.ts',
  sendEmailOtp: 'test/accounts-codes.test.ts',
  sendPasswordReset: 'test/rights-accounts.test.ts',
  changeForgottenPassword: 'test/rights-accounts.test.ts',
  verifyEmail: 'test/accounts-mail.test.ts',
  refreshToken: 'test/accounts-sessions.test.ts',
  signOut: 'test/accounts-sessions.test.ts',
  receiveCallback: 'test/channels.test.ts',
  receiveCompanyCallback: 'test/channel-accounts.test.ts',
  takeSumsubCallback: 'test/kyc.test.ts',
  enrolTillDevice: 'test/till.test.ts',
  getTill: 'test/till.test.ts',
  signInAtTill: 'test/till.test.ts',
  getTillDisplay: 'test/till.test.ts',
}
