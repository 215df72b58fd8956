/** Orders that share an address are told apart by their amounts: each is less than this above its price. */
export const OWN_AMOUNTS_UNITS = 1000n
