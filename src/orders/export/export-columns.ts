import { EXPONENTS, formatDecimal } from '../../kernel/money.ts'
import { type Order, viewOrder } from '../order.ts'

/** An order with what other parts know of it. */
export type ExportedOrder = {
  order: Order
  /** What the service kept of the payment, in units of `order.to.asset`. */
  feeUnits: bigint
  /** The transfer that paid it on chain: the final one if there is one, else the first that was seen. */
  transactionHash: string | null
}

export const HEADER_LANGUAGES = ['en', 'fr', 'de', 'es', 'it'] as const
export type HeaderLanguage = (typeof HEADER_LANGUAGES)[number]

/** How a cell is written: text of people (guarded against formulas), decimal text, ISO time, true or false. */
export type ColumnKind = 'text' | 'amount' | 'time' | 'flag'

export type Column = { name: string; kind: ColumnKind; titles: readonly [string, string, string, string, string] }

/** Every column of the export, in order: its name in the API, and its title in en, fr, de, es, it. */
export const COLUMNS = [
  { name: '_id', kind: 'text', titles: ['Id', 'Identifiant', 'Kennung', 'Identificador', 'Identificativo'] },
  { name: 'companyId', kind: 'text', titles: ['Company', 'Société', 'Firma', 'Empresa', 'Azienda'] },
  { name: 'code', kind: 'text', titles: ['Code', 'Code', 'Code', 'Código', 'Codice'] },
  { name: 'shortCode', kind: 'text', titles: ['Short code', 'Code court', 'Kurzcode', 'Código corto', 'Codice breve'] },
  { name: 'alias', kind: 'text', titles: ['Reference', 'Référence', 'Referenz', 'Referencia', 'Riferimento'] },
  { name: 'status', kind: 'text', titles: ['Status', 'État', 'Status', 'Estado', 'Stato'] },
  { name: 'fromAmount', kind: 'amount', titles: ['Amount', 'Montant', 'Betrag', 'Importe', 'Importo'] },
  { name: 'fromAsset', kind: 'text', titles: ['Currency', 'Devise', 'Währung', 'Divisa', 'Valuta'] },
  {
    name: 'toAmount',
    kind: 'amount',
    titles: ['Settlement amount', 'Montant réglé', 'Auszahlungsbetrag', 'Importe liquidado', 'Importo liquidato'],
  },
  {
    name: 'toAsset',
    kind: 'text',
    titles: ['Settlement asset', 'Actif réglé', 'Auszahlungswert', 'Activo liquidado', 'Attivo liquidato'],
  },
  { name: 'rate', kind: 'amount', titles: ['Rate', 'Taux', 'Kurs', 'Tipo de cambio', 'Tasso'] },
  {
    name: 'refundedAmount',
    kind: 'amount',
    titles: ['Refunded', 'Remboursé', 'Erstattet', 'Reembolsado', 'Rimborsato'],
  },
  { name: 'feeAmount', kind: 'amount', titles: ['Fee', 'Frais', 'Gebühr', 'Comisión', 'Commissione'] },
  { name: 'paymentChannel', kind: 'text', titles: ['Channel', 'Canal', 'Kanal', 'Canal', 'Canale'] },
  {
    name: 'transactionHash',
    kind: 'text',
    titles: ['Transaction', 'Transaction', 'Transaktion', 'Transacción', 'Transazione'],
  },
  { name: 'merchantIdentifier', kind: 'text', titles: ['Till', 'Caisse', 'Kasse', 'Caja', 'Cassa'] },
  { name: 'websiteUrl', kind: 'text', titles: ['Website', 'Site web', 'Website', 'Sitio web', 'Sito web'] },
  { name: 'goodsName', kind: 'text', titles: ['Goods', 'Article', 'Ware', 'Artículo', 'Articolo'] },
  { name: 'goodsType', kind: 'text', titles: ['Goods type', 'Type d’article', 'Warenart', 'Tipo', 'Tipo'] },
  {
    name: 'goodsCategory',
    kind: 'text',
    titles: ['Goods category', 'Catégorie', 'Kategorie', 'Categoría', 'Categoria'],
  },
  { name: 'goodsDetail', kind: 'text', titles: ['Goods detail', 'Détail', 'Einzelheiten', 'Detalle', 'Dettaglio'] },
  { name: 'goodsQuantity', kind: 'text', titles: ['Quantity', 'Quantité', 'Menge', 'Cantidad', 'Quantità'] },
  { name: 'anonymous', kind: 'flag', titles: ['Anonymous', 'Anonyme', 'Anonym', 'Anónimo', 'Anonimo'] },
  {
    name: 'createdAt',
    kind: 'time',
    titles: ['Created (UTC)', 'Créé (UTC)', 'Erstellt (UTC)', 'Creado (UTC)', 'Creato (UTC)'],
  },
  {
    name: 'updatedAt',
    kind: 'time',
    titles: ['Changed (UTC)', 'Modifié (UTC)', 'Geändert (UTC)', 'Modificado (UTC)', 'Modificato (UTC)'],
  },
  {
    name: 'expiresAt',
    kind: 'time',
    titles: ['Expires (UTC)', 'Expire (UTC)', 'Läuft ab (UTC)', 'Caduca (UTC)', 'Scade (UTC)'],
  },
  {
    name: 'paidAt',
    kind: 'time',
    titles: ['Paid (UTC)', 'Payé (UTC)', 'Bezahlt (UTC)', 'Pagado (UTC)', 'Pagato (UTC)'],
  },
  {
    name: 'paymentUrl',
    kind: 'text',
    titles: ['Payment page', 'Page de paiement', 'Zahlseite', 'Página de pago', 'Pagina di pagamento'],
  },
  { name: 'webhookUrl', kind: 'text', titles: ['Webhook', 'Webhook', 'Webhook', 'Webhook', 'Webhook'] },
  {
    name: 'returnUrl',
    kind: 'text',
    titles: ['Return address', 'Adresse de retour', 'Rückkehradresse', 'URL de retorno', 'URL di ritorno'],
  },
  {
    name: 'cancelUrl',
    kind: 'text',
    titles: ['Cancel address', 'Adresse d’annulation', 'Abbruchadresse', 'URL de cancelación', 'URL di annullamento'],
  },
] as const satisfies readonly Column[]

type ColumnName = (typeof COLUMNS)[number]['name']

/** First row of the file: the names of the API, or titles in a language. */
export const headersOf = (language: HeaderLanguage | null): string[] =>
  COLUMNS.map((column) => (language === null ? column.name : (column.titles[HEADER_LANGUAGES.indexOf(language)] ?? '')))

/** One row in the order of `COLUMNS`; null where the order has no value. */
export function cellsOf({ order, feeUnits, transactionHash }: ExportedOrder, payUrl: string): (string | null)[] {
  const { goods, anonymous, ...view } = viewOrder(order, payUrl)
  const values: Record<ColumnName, string | null | undefined> = {
    ...view,
    webhookUrl: order.webhookUrl,
    companyId: order.companyId,
    feeAmount: formatDecimal(feeUnits, EXPONENTS[order.to.asset]),
    transactionHash,
    goodsName: goods?.goodsName,
    goodsType: goods?.goodsType,
    goodsCategory: goods?.goodsCategory,
    goodsDetail: goods?.goodsDetail,
    goodsQuantity: goods?.goodsQuantity,
    anonymous: anonymous ? 'true' : 'false',
  }
  return COLUMNS.map(({ name }) => values[name] ?? null)
}
