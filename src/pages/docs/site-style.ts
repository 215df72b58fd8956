export const SITE_STYLE = `:root{color-scheme:light dark;--text:#15191e;--soft:#5a6470;--line:#dfe3e8;--back:#fff;--code:#f4f6f8;--link:#0b5cad}
@media (prefers-color-scheme:dark){:root{--text:#e8ecf0;--soft:#a3adb8;--line:#2f363f;--back:#14181d;--code:#1e242b;--link:#7cb8f5}}
*{box-sizing:border-box}body{margin:0;font:16px/1.6 system-ui,sans-serif;color:var(--text);background:var(--back)}
a{color:var(--link)}.skip{position:absolute;left:-99rem}.skip:focus{left:1rem;top:.5rem;background:var(--back);padding:.5rem;z-index:2}
.hidden{position:absolute;clip-path:inset(50%);width:1px;height:1px;overflow:hidden}
header{display:flex;gap:1rem;align-items:center;justify-content:space-between;padding:.75rem 1.25rem;border-bottom:1px solid var(--line)}
.home{font-weight:700;text-decoration:none;color:inherit}input{font:inherit;color:inherit;background:var(--code);border:1px solid var(--soft);border-radius:.5rem;padding:.375rem .75rem;width:min(16rem,50vw)}
.frame{display:grid;grid-template-columns:16rem minmax(0,1fr);max-width:76rem;margin:0 auto}
nav{padding:1rem 1.25rem;border-right:1px solid var(--line);font-size:.9375rem}nav h2{font-size:.8125rem;color:var(--soft);margin:1.25rem 0 .25rem;text-transform:uppercase;letter-spacing:.04em}
nav ul{list-style:none;margin:0;padding:0}nav li a{display:block;padding:.1875rem 0;text-decoration:none;overflow-wrap:anywhere}nav a[aria-current]{font-weight:700;color:inherit}
summary{display:none}main{padding:1rem 1.5rem 4rem;min-width:0}h1{line-height:1.2;overflow-wrap:anywhere}
pre{background:var(--code);border:1px solid var(--line);border-radius:.5rem;padding:.875rem;overflow-x:auto;font-size:.875rem;line-height:1.5}
code{font-family:ui-monospace,monospace;font-size:.9em;overflow-wrap:anywhere}pre code{overflow-wrap:normal;font-size:1em}
:not(pre)>code{background:var(--code);border-radius:.25rem;padding:.0625rem .25rem}
.wide{overflow-x:auto}.picture{display:block;margin:1rem 0}.picture svg{max-width:none}table{border-collapse:collapse;font-size:.9375rem}td,th{text-align:left;vertical-align:top;padding:.4375rem .75rem .4375rem 0;border-bottom:1px solid var(--line)}
blockquote{margin:1rem 0;padding:.25rem 1rem;border-left:4px solid var(--link)}.found p{margin:.125rem 0 1rem;color:var(--soft)}
.copy{float:right;position:relative;margin:.5rem .5rem -3rem 0;padding:.125rem .625rem;font:inherit;font-size:.8125rem;color:var(--soft);background:var(--back);border:1px solid var(--line);border-radius:.375rem;cursor:pointer}
.copy:hover,.copy:focus-visible{color:var(--text);border-color:var(--soft)}
@media (max-width:48rem){.frame{grid-template-columns:minmax(0,1fr)}nav{border-right:0;border-bottom:1px solid var(--line)}summary{display:block;font-weight:700}main{padding:1rem}}
`

/** Copy buttons for code blocks, and a menu that folds on a phone. Everything works without it. */
export const SITE_SCRIPT = `for(const pre of document.querySelectorAll('pre')){const b=document.createElement('button');b.className='copy';b.type='button';b.textContent='Copy';
b.onclick=()=>navigator.clipboard.writeText(pre.querySelector('code').textContent.replace(/^\\$ /gm,'')).then(()=>{b.textContent='Copied'});pre.before(b)}
if(matchMedia('(max-width:48rem)').matches)document.querySelector('nav details').open=false
document.addEventListener('keydown',e=>{if(e.key==='/'&&!/INPUT|TEXTAREA/.test(document.activeElement.tagName)){e.preventDefault();document.querySelector('[name=q]').focus()}})
`
