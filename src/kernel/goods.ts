/** What is sold, in the codes that exchanges use. */
export type Goods = {
  goodsName?: string
  goodsType?: string
  goodsCategory?: string
  goodsDetail?: string
  goodsQuantity?: string
}
