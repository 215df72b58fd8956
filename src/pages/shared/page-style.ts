/** One column, one accent colour, system fonts; light and dark; nothing external. */
const SOURCE = `
:root {
  color-scheme: light dark;
  --page: #f4f5f6; --card: #fff; --text: #15191e; --soft: #59626d; --line: #e3e6e9; --field: #f4f5f6;
  --accent: #0a6652; --on-accent: #fff; --warn: #8a4b00; --warn-field: #fdf4e3;
}
@media (prefers-color-scheme: dark) {
  :root {
    --page: #0e1114; --card: #171b20; --text: #eef1f4; --soft: #a3adb8; --line: #2a3138; --field: #20262c;
    --accent: #52cdb0; --on-accent: #06231c; --warn: #f2c27a; --warn-field: #2d2415;
  }
}
* { box-sizing: border-box; margin: 0; }
[hidden], .copy, .tick { display: none !important; }
.js .copy { display: inline-block !important; }
.js .tick { display: inline !important; }
body {
  background: var(--page); color: var(--text); font: 1rem/1.5 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif;
  min-height: 100vh; display: flex; flex-direction: column; align-items: center; -webkit-text-size-adjust: 100%;
}
main {
  width: 100%; max-width: 27rem; background: var(--card); padding: 1.75rem 1.25rem 1.5rem; flex: 1;
  overflow-wrap: break-word;
}
a { color: var(--accent); }
h1 { font-size: 1rem; font-weight: 500; color: var(--soft); overflow-wrap: anywhere; }
h1 b { color: var(--text); font-weight: 600; }
.title { font-size: 1.5rem; font-weight: 600; color: var(--text); line-height: 1.3; margin-bottom: .5rem; }
h2 { font-size: 1.0625rem; font-weight: 600; line-height: 1.35; }
.price {
  font-size: 2.75rem; line-height: 1.15; font-weight: 650; letter-spacing: -.025em; margin-top: .125rem;
  overflow-wrap: anywhere; font-variant-numeric: tabular-nums;
}
.soft, .hint { color: var(--soft); font-size: .875rem; }
.state {
  display: flex; flex-wrap: wrap; align-items: center; gap: .625rem; margin: 1.375rem 0 0; padding: .875rem 0;
  border-top: 1px solid var(--line);
}
.state h2 { flex: 1 1 7rem; min-width: 0; overflow-wrap: anywhere; hyphens: auto; }
.clock { font-variant-numeric: tabular-nums; font-weight: 600; white-space: nowrap; }
.dot { width: .625rem; height: .625rem; border-radius: 50%; background: var(--accent); flex: none; }
.mark { width: 1.5rem; height: 1.5rem; flex: none; color: var(--accent); }
.quiet .mark { color: var(--soft); }
@media (prefers-reduced-motion: no-preference) {
  .busy .dot { animation: beat 1.8s ease-in-out infinite; }
  .turn { animation: turn 1.4s linear infinite; transform-origin: center; }
  @keyframes beat { 50% { opacity: .3; } }
  @keyframes turn { to { transform: rotate(1turn); } }
}
.big { display: block; text-align: center; border: 0; padding: 1.75rem 0 1.25rem; }
.big .mark { width: 4rem; height: 4rem; }
.big h1, .big h2 { font-size: 1.5rem; font-weight: 600; line-height: 1.3; color: var(--text); margin: .5rem 0 .25rem; }
.big progress { max-width: 14rem; margin: 1rem auto .375rem; display: block; }
.big .hint { margin-bottom: .75rem; }
.return { text-align: center; margin-bottom: 1rem; }
.return button { margin-top: .5rem; font-size: .875rem; min-height: 2.5rem; padding: .375rem 1rem; }
.code { text-align: center; }
.frame {
  display: none; width: 15.5rem; max-width: 100%; min-height: 15.5rem; margin: .25rem auto .875rem; background: #fff;
  border: 1px solid var(--line); border-radius: 1rem; line-height: 0; align-items: center; justify-content: center;
}
.frame.only, #as-link:checked ~ .frame.link, #as-address:checked ~ .frame.plain { display: flex; }
.code > .hint { display: none; margin-bottom: .75rem; }
.code > .hint.shown { display: block; }
#as-address:checked ~ .hint { display: block; }
.code > input { position: absolute; opacity: 0; }
.code label {
  display: inline-block; padding: .375rem .875rem; font-size: .875rem; color: var(--soft); border-radius: 2rem;
  cursor: pointer; margin: 0 .125rem .75rem; border: 1px solid transparent;
}
#as-link:checked ~ [for=as-link], #as-address:checked ~ [for=as-address] {
  color: var(--text); background: var(--field); border-color: var(--line); font-weight: 600;
}
#as-link:focus-visible ~ [for=as-link], #as-address:focus-visible ~ [for=as-address], a:focus-visible,
button:focus-visible, summary:focus-visible {
  outline: 3px solid var(--accent); outline-offset: 2px;
}
#wallet:not(:empty) { margin-bottom: 1rem; overflow-wrap: anywhere; }
#wallet.sent ~ .code, #wallet.sent ~ .app { display: none; }
.qr { max-width: 100%; height: auto; }
dl > div { padding: .625rem 0; border-bottom: 1px solid var(--line); }
dl > div:last-child { border-bottom: 0; }
dt { color: var(--soft); font-size: .8125rem; }
dd { display: flex; flex-wrap: wrap; gap: .25rem .75rem; align-items: center; justify-content: space-between; }
dd > span { flex: 1 1 9rem; overflow-wrap: anywhere; min-width: 0; font-variant-numeric: tabular-nums; }
.sum { font-size: 1.125rem; font-weight: 600; }
.mono { font: .875rem/1.45 ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace; }
.facts dt, .facts dd { display: inline; font-size: .9375rem; }
.facts > div { display: flex; flex-wrap: wrap; justify-content: space-between; gap: 0 1.5rem; }
.facts dd { flex: 1 1 6rem; text-align: end; overflow-wrap: anywhere; min-width: 0; }
.facts > .long { display: block; }
.long dd { display: block; text-align: start; margin-top: .125rem; }
.long .mono { font-size: .8125rem; }
.note {
  background: var(--warn-field); color: var(--warn); border: 1px solid transparent; border-radius: .75rem; padding: .75rem .875rem;
  font-size: .875rem; margin: .75rem 0;
}
.box { border: 1px solid var(--line); border-radius: .875rem; padding: 1rem 1.125rem; margin-top: .875rem; }
.box h3 { font-size: 1rem; margin-bottom: .25rem; }
.box p { font-size: .9375rem; color: var(--soft); }
.box p + p, .box .button { margin-top: .75rem; }
button, .button {
  font: inherit; font-weight: 600; border-radius: .75rem; border: 1px solid var(--line); background: var(--card);
  color: var(--text); padding: .75rem 1rem; min-height: 3rem; cursor: pointer; text-decoration: none;
  display: inline-block; text-align: center; overflow-wrap: anywhere;
}
.main {
  display: block; width: 100%; background: var(--accent); border-color: var(--accent); color: var(--on-accent);
  margin-top: 1.25rem;
}
.wide { display: block; width: 100%; margin-top: .75rem; }
.ways { margin-top: 1.25rem; }
.ways h3 { font-size: .875rem; }
.choice { display: flex; flex-wrap: wrap; width: 100%; align-items: center; gap: .25rem .75rem; margin-top: .5rem; text-align: start; }
.choice:hover { border-color: var(--accent); }
.choice b { flex: 1 1 7rem; font-weight: 600; min-width: 0; overflow-wrap: anywhere; }
.choice span { font-weight: 400; color: var(--soft); font-size: .8125rem; text-align: end; }
.badge {
  width: 2rem; height: 2rem; border-radius: .625rem; background: var(--field); color: var(--accent); flex: none;
  font: 700 .9375rem/2rem system-ui, sans-serif; text-align: center;
}
.whole { overflow-wrap: anywhere; margin: 1rem 0; font-size: 1.125rem; }
[dir=rtl] .logo { object-position: right; }
.logo { display: block; height: 2.5rem; max-width: 60%; object-fit: contain; object-position: left; margin-bottom: .75rem; }
.goods, .contact, .soft, .box p { overflow-wrap: anywhere; }
.soft b { color: var(--text); font-weight: 500; }
.note .soft, .note .soft b { color: inherit; }
.contact { font-size: .875rem; margin-top: .75rem; }
.imprint { margin-top: .375rem; overflow-wrap: anywhere; }
.copy {
  padding: .25rem .75rem; min-height: 2.25rem; font-size: .875rem; font-weight: 500; border-radius: .5rem;
  background: var(--field); flex: none;
}
.provider { display: flex; flex-direction: column; }
.provider > .desk { order: -1; }
.app, .hand { display: none; }
@media (hover: none) and (pointer: coarse) {
  .app { display: block; margin: 0 0 .75rem; }
  .hand { display: block; }
  .desk { display: none; }
  .provider > .desk { order: 0; margin-top: 1rem; }
  #show-code:checked ~ .desk { display: block; }
  #show-code:focus-visible ~ label { outline: 3px solid var(--accent); outline-offset: 2px; }
  .after { background: var(--field); color: inherit; border-color: var(--line); }
}
@media (scripting: none) { .scripted { display: none; } }
progress {
  width: 100%; height: .375rem; appearance: none; border: 0; border-radius: 1rem; background: var(--field);
  overflow: hidden; margin: .5rem 0;
}
progress::-webkit-progress-bar { background: var(--field); }
progress::-webkit-progress-value { background: var(--accent); }
progress::-moz-progress-bar { background: var(--accent); }
details { border-top: 1px solid var(--line); padding: .25rem 0; font-size: .9375rem; }
form + details, .note + details, .soft + details, .ways + details { margin-top: 1.25rem; }
summary { color: var(--soft); cursor: pointer; padding: .625rem 0; }
details > :not(summary) { margin-bottom: .75rem; }
.sandbox { border: 1px dashed var(--soft); border-radius: .875rem; padding: .875rem 1rem 1rem; margin: 1rem 0; }
.sandbox h3 { font-size: .875rem; font-weight: 600; margin-bottom: .625rem; }
.sandbox div { display: flex; flex-wrap: wrap; gap: .5rem; }
.sandbox button {
  flex: 1; font-size: .8125rem; font-weight: 500; padding: .5rem; min-height: 2.5rem; white-space: nowrap;
}
form .ask { display: block; font-size: .875rem; font-weight: 600; margin-top: 1rem; }
.field {
  display: block; width: 100%; font: inherit; padding: .75rem; margin-top: .25rem; border: 1px solid var(--soft);
  border-radius: .625rem; background: var(--card); color: var(--text);
}
#live:focus, #problem:focus { outline: none; }
.field:focus-visible { outline: 3px solid var(--accent); outline-offset: 1px; }
.field[aria-invalid] { border-color: var(--warn); }
.field ~ .hint, .wrong { margin-top: .375rem; }
.hint + button, form + .hint, .soft + .facts, .row + .soft, .box + .facts { margin-top: .75rem; }
.wrong { color: var(--warn); font-size: .875rem; font-weight: 500; }
.or { margin-top: 1rem; }
footer { color: var(--soft); font-size: .8125rem; padding: 1rem 1.25rem 1.5rem; text-align: center; }
.languages { display: flex; flex-wrap: wrap; justify-content: center; gap: 0 .875rem; margin-top: .5rem; }
.languages > * { color: inherit; padding: .25rem 0; }
.languages > button { font-weight: 400; min-height: 0; border: 0; background: none; text-decoration: underline; }
.languages > b { color: var(--text); font-weight: 600; }
.say { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
@media (min-width: 30rem) {
  body { padding: 2.5rem 1rem 0; }
  main { flex: none; border: 1px solid var(--line); border-radius: 1.25rem; padding: 2rem 2rem 1.5rem; }
}
@media print {
  body { background: none; padding: 0; }
  main { border: 0; }
  .button, button, .sandbox, details { display: none !important; }
}
`

const squeeze = (css: string): string =>
  css
    .replace(/\s+/g, ' ')
    .replace(/\s*([{};,])\s*/g, '$1')
    .replace(/: /g, ':')
    .replace(/;}/g, '}')
    .trim()

/** Minified. */
export const PAY_STYLE = squeeze(SOURCE)
