import type { Applicant } from './state.ts'

const escapeText = (text: string): string => text.replace(/[&<>"']/g, (letter) => `&#${letter.charCodeAt(0)};`)

const STYLE = `body{font:16px/1.5 system-ui,sans-serif;margin:0;padding:1rem;color:#15191e;background:#fff}
table{border-collapse:collapse}td,th{text-align:left;padding:.5rem;border-bottom:1px solid #ddd}
button{font:inherit;padding:.5rem .875rem;margin:.25rem .25rem 0 0}
button{border:1px solid #888;border-radius:.5rem;background:#f4f5f6}
form{display:inline}`

const page = (title: string, body: string): string =>
  `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>${title}</title>` +
  `<meta name="viewport" content="width=device-width,initial-scale=1"><style>${STYLE}</style></head><body>${body}</body></html>`

const BUTTONS = [
  ['approve', 'Approve'],
  ['retry', 'Ask again'],
  ['refuse', 'Refuse'],
  ['enhanced', 'Approve (enhanced)'],
  ['reset', 'Reset'],
] as const

function row(applicant: Applicant, prefix: string): string {
  const { id, externalUserId, levelName, review } = applicant
  const result = [review.reviewStatus, review.reviewResult?.reviewAnswer, review.reviewResult?.reviewRejectType]
  const buttons = BUTTONS.map(([answer, label]) => `<button name="answer" value="${answer}">${label}</button>`).join('')
  const cells = [id, externalUserId, levelName, result.filter(Boolean).join(' ')].map(
    (text) => `<td>${escapeText(text)}</td>`,
  )
  return `<tr>${cells.join('')}<td><form method="post" action="${prefix}/applicants/${id}/answer">${buttons}</form></td></tr>`
}

/** The page of the provider's reviewer. */
export function applicantsPage(applicants: readonly Applicant[], prefix: string): string {
  const head = '<tr><th>Applicant</th><th>External user</th><th>Level</th><th>Review</th><th>Decide</th></tr>'
  const rows = applicants.map((applicant) => row(applicant, prefix)).join('')
  const body = rows === '' ? '<p>No applicants yet.</p>' : `<table>${head}${rows}</table>`
  return page('Applicants', `<h1>Identity provider (imitation)</h1>${body}`)
}

/** Content of the frame in which the original takes photographs. */
export function framePage(token: string, prefix: string, levelName: string): string {
  const script = `const tell = (method) => parent.postMessage({ method }, '*')
tell('idCheck.onReady')
for (const b of document.querySelectorAll('button')) b.onclick = async () => {
  const body = new URLSearchParams({ token: ${JSON.stringify(token)}, answer: b.value })
  const answer = await fetch('${prefix}/websdk/answer', { method: 'POST', body })
  document.body.textContent = answer.ok ? 'Thank you. Your documents are being checked.' : 'This session is over.'
  tell('idCheck.onApplicantSubmitted')
}`
  return page(
    'Identity check (imitation)',
    `<p>Imitation of the identity provider, level <b>${escapeText(levelName)}</b>. Nothing is photographed.</p>` +
      '<button value="approve">My documents are valid</button><button value="refuse">My documents are forged</button>' +
      `<button value="retry">My photo is too dark</button><script>${script}</script>`,
  )
}

/** Stand-in for the provider's script: the same names, and a frame with buttons. */
export const SDK_SCRIPT = `(() => {
const base = document.currentScript.src.replace(/sdk\\.js.*$/, '')
window.snsWebSdk = {
  init(token, refresh) {
    const handlers = {}
    const builder = {
      withConf: () => builder,
      withOptions: () => builder,
      on: (name, handler) => { handlers[name] = handler; return builder },
      onMessage: () => builder,
      build: () => ({
        launch(selector) {
          const frame = document.createElement('iframe')
          frame.src = base + 'websdk?token=' + encodeURIComponent(token)
          frame.title = 'Identity check'
          frame.width = '100%'
          frame.height = '320'
          addEventListener('message', (event) => {
            if (event.source !== frame.contentWindow) return
            const handler = handlers[event.data && event.data.method]
            if (handler) handler({})
          })
          document.querySelector(selector).append(frame)
        },
        destroy() {},
      }),
    }
    return builder
  },
}
})()`
