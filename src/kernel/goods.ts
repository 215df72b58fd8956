/** What is sold, in the codes that exchanges use (interface 2.3). */
export type Goods = {
  goodsName?: string
  goodsType?: string
  goodsCategory?: string
  goodsDetail?: string
  goodsQuantity?: string
}
