/**
 * The script of the check's page: follows the state, and starts the provider's script with a token made for this page
 * load. Reports from the provider's frame are never trusted; they only trigger a check.
 */
const SOURCE = `(() => {
const d = document, byId = (id) => d.getElementById(id), root = byId('kyc'), box = byId('sdk')
const { code, token, path, open } = root.dataset
const post = (what) => fetch(path + '/' + what, { method: 'POST', body: new URLSearchParams({ code, token }) })
const poll = () => fetch(location.href).then((r) => r.text()).then((text) => {
  const page = new DOMParser().parseFromString(text, 'text/html').getElementById('kyc')
  if (page && page.dataset.mark !== root.dataset.mark) location.reload()
}).catch(() => {})
d.documentElement.className = 'js'
if (open) setInterval(poll, 4000)
if (!box) return
const show = (name) => { for (const id of ['loading', 'failed']) byId(id).hidden = id !== name }
const failed = () => show('failed')
const session = () => post('session').then((r) => r.ok ? r.json() : Promise.reject()).then((a) => a.token)
const look = () => { post('look'); setTimeout(poll, 1500) }
byId('again').onclick = () => location.reload()
if (!window.snsWebSdk) { failed(); return }
show('loading')
session().then((fresh) => {
  snsWebSdk.init(fresh, session)
    .withConf({ lang: d.documentElement.lang, theme: matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light' })
    .withOptions({ addViewportTag: false, adaptIframeHeight: true })
    .on('idCheck.onReady', () => show(''))
    .on('idCheck.onError', failed)
    .on('idCheck.onApplicantSubmitted', look)
    .on('idCheck.onApplicantResubmitted', look)
    .on('idCheck.onApplicantStatusChanged', look)
    .build().launch('#sdk')
}).catch(failed)
})()`

/** Without indentation. */
export const KYC_SCRIPT = SOURCE.replace(/\n\s*/g, '\n')
