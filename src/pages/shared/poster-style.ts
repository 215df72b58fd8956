/** Text that is readable from two metres away, on screen and on A4. */
export const POSTER_STYLE = `.poster{text-align:center;padding:3rem 1.5rem}.poster .logo{margin:0 auto 1.5rem;height:4rem}
.poster h1{font-size:2rem;color:var(--text)}.poster svg{width:min(100%,22rem);height:auto;margin:1.5rem auto;border-radius:1rem}
.poster .link{overflow-wrap:anywhere;font-size:.875rem;color:var(--soft)}
@media print{footer{display:none}@page{margin:15mm}.poster svg{width:110mm}.poster h1{font-size:28pt}.poster .price{font-size:40pt}}`
