import type { Goods } from '../../kernel/goods.ts'
import { LANGS, type Lang } from '../../kernel/lang.ts'
import type { OrderView } from '../order.ts'

/** How a cell is written: user text (guarded against formulas), decimal text, ISO time, true or false. */
export type ColumnKind = 'text' | 'amount' | 'time' | 'flag'

type Column = { kind: ColumnKind; titles: readonly [string, string, string, string, string] }

/** Every field of an order has a column; the fields of its goods have one each. */
export type ColumnName = Exclude<keyof OrderView, 'goods'> | keyof Goods | Added
/** What the books and the chain add to an order. */
type Added =
  | 'companyId'
  | 'feeAmount'
  | 'transactionHash'
  | 'paidAmount'
  | 'overpaidAmount'
  | 'refundedExcessAmount'
  | 'lostAmount'

/** In the order of the file: the name in the API, and the titles in the order of LANGS. */
const BY_NAME: Readonly<Record<ColumnName, Column>> = {
  _id: { kind: 'text', titles: ['Id', 'Identifiant', 'Kennung', 'Identificador', 'Identificativo'] },
  companyId: { kind: 'text', titles: ['Company', 'Société', 'Firma', 'Empresa', 'Azienda'] },
  code: { kind: 'text', titles: ['Code', 'Code', 'Code', 'Código', 'Codice'] },
  shortCode: { kind: 'text', titles: ['Short code', 'Code court', 'Kurzcode', 'Código corto', 'Codice breve'] },
  alias: { kind: 'text', titles: ['Reference', 'Référence', 'Referenz', 'Referencia', 'Riferimento'] },
  status: { kind: 'text', titles: ['Status', 'État', 'Status', 'Estado', 'Stato'] },
  fromAmount: { kind: 'amount', titles: ['Amount', 'Montant', 'Betrag', 'Importe', 'Importo'] },
  fromAsset: { kind: 'text', titles: ['Currency', 'Devise', 'Währung', 'Divisa', 'Valuta'] },
  toAmount: {
    kind: 'amount',
    titles: ['Price in USDC', 'Prix en USDC', 'Preis in USDC', 'Precio en USDC', 'Prezzo in USDC'],
  },
  toAsset: {
    kind: 'text',
    titles: ['Settlement asset', 'Actif réglé', 'Auszahlungswert', 'Activo liquidado', 'Attivo liquidato'],
  },
  rate: { kind: 'amount', titles: ['Rate', 'Taux', 'Kurs', 'Tipo de cambio', 'Tasso'] },
  refundedAmount: {
    kind: 'amount',
    titles: ['Refunded', 'Remboursé', 'Erstattet', 'Reembolsado', 'Rimborsato'],
  },
  feeAmount: { kind: 'amount', titles: ['Fee', 'Frais', 'Gebühr', 'Comisión', 'Commissione'] },
  paymentChannel: { kind: 'text', titles: ['Channel', 'Canal', 'Kanal', 'Canal', 'Canale'] },
  transactionHash: {
    kind: 'text',
    titles: ['Transaction', 'Transaction', 'Transaktion', 'Transacción', 'Transazione'],
  },
  merchantIdentifier: { kind: 'text', titles: ['Till', 'Caisse', 'Kasse', 'Caja', 'Cassa'] },
  websiteUrl: { kind: 'text', titles: ['Website', 'Site web', 'Website', 'Sitio web', 'Sito web'] },
  goodsName: { kind: 'text', titles: ['Goods', 'Article', 'Ware', 'Artículo', 'Articolo'] },
  goodsType: { kind: 'text', titles: ['Goods type', 'Type d’article', 'Warenart', 'Tipo', 'Tipo'] },
  goodsCategory: {
    kind: 'text',
    titles: ['Goods category', 'Catégorie', 'Kategorie', 'Categoría', 'Categoria'],
  },
  goodsDetail: { kind: 'text', titles: ['Goods detail', 'Détail', 'Einzelheiten', 'Detalle', 'Dettaglio'] },
  goodsQuantity: { kind: 'text', titles: ['Quantity', 'Quantité', 'Menge', 'Cantidad', 'Quantità'] },
  anonymous: { kind: 'flag', titles: ['Anonymous', 'Anonyme', 'Anonym', 'Anónimo', 'Anonimo'] },
  createdAt: {
    kind: 'time',
    titles: ['Created (UTC)', 'Créé (UTC)', 'Erstellt (UTC)', 'Creado (UTC)', 'Creato (UTC)'],
  },
  updatedAt: {
    kind: 'time',
    titles: ['Changed (UTC)', 'Modifié (UTC)', 'Geändert (UTC)', 'Modificado (UTC)', 'Modificato (UTC)'],
  },
  expiresAt: {
    kind: 'time',
    titles: ['Expires (UTC)', 'Expire (UTC)', 'Läuft ab (UTC)', 'Caduca (UTC)', 'Scade (UTC)'],
  },
  paidAt: {
    kind: 'time',
    titles: ['Paid (UTC)', 'Payé (UTC)', 'Bezahlt (UTC)', 'Pagado (UTC)', 'Pagato (UTC)'],
  },
  paymentUrl: {
    kind: 'text',
    titles: ['Payment page', 'Page de paiement', 'Zahlseite', 'Página de pago', 'Pagina di pagamento'],
  },
  webhookUrl: { kind: 'text', titles: ['Webhook', 'Webhook', 'Webhook', 'Webhook', 'Webhook'] },
  returnUrl: {
    kind: 'text',
    titles: ['Return address', 'Adresse de retour', 'Rückkehradresse', 'URL de retorno', 'URL di ritorno'],
  },
  cancelUrl: {
    kind: 'text',
    titles: ['Cancel address', 'Adresse d’annulation', 'Abbruchadresse', 'URL de cancelación', 'URL di annullamento'],
  },
  paidAmount: {
    kind: 'amount',
    titles: ['Paid of the price', 'Payé du prix', 'Vom Preis bezahlt', 'Pagado del precio', 'Pagato del prezzo'],
  },
  overpaidAmount: {
    kind: 'amount',
    titles: ['Paid above the price', 'Payé en trop', 'Zu viel bezahlt', 'Pagado de más', 'Pagato in eccesso'],
  },
  refundedExcessAmount: {
    kind: 'amount',
    titles: [
      'Refunded of what was above the price',
      'Remboursé du trop-perçu',
      'Vom zu viel Bezahlten erstattet',
      'Reembolsado de lo pagado de más',
      'Rimborsato dell’eccesso',
    ],
  },
  lostAmount: {
    kind: 'amount',
    titles: ['Loss borne', 'Perte supportée', 'Getragener Verlust', 'Pérdida asumida', 'Perdita sostenuta'],
  },
  metadata: { kind: 'text', titles: ['Metadata', 'Métadonnées', 'Metadaten', 'Metadatos', 'Metadati'] },
}

export const COLUMNS = (Object.keys(BY_NAME) as ColumnName[]).map((name) => ({ name, ...BY_NAME[name] }))

/** First row of the file: the names of the API, or titles in a language. */
export const headersOf = (language: Lang | null): string[] =>
  COLUMNS.map((column) => (language === null ? column.name : (column.titles[LANGS.indexOf(language)] ?? '')))
