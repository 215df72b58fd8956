/** A4 and, for receipt printers, 80 mm: no margins, no colours, a font that a thermal printer renders well. */
export const PRINT_STYLE = `.signed{margin-top:1rem}
@media print{.languages,.signed{display:none}main{max-width:none;padding:0}body{color:#000}.soft,dt{color:#000}
@page{margin:15mm}.price{font-size:2rem}}@media print and (max-width:90mm){@page{margin:3mm}body{font-size:10pt}.price{font-size:18pt}
.facts>div{padding:1mm 0}.facts dt,.facts dd{font-size:9pt}.logo{height:1.5rem}}`
