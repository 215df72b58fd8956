/**
 * THROW-AWAY KEYS. They are public: derived from the public test phrase "test test test test test test test test test
 * test test junk" that every local chain uses. They may own test money on the local chain only; anything sent to them
 * elsewhere is lost.
 */
export const PAYER = {
  address: '0x70997970C51812dc3A010C7d01b50e0d17dc79C8',
  privateKey: '0x59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d',
} as const

/**
 * Deploys the token with its first transaction, so that the token's address is always the same; owns the token and
 * mints it.
 */
export const DEPLOYER = '0xa0Ee7A142d267C1f36714E4a8F75612F20a79720'

/** Address of the first contract that DEPLOYER creates. */
export const USDC_ADDRESS = '0x700b6A60ce7EaaEA56F065753d8dcB9653dbAD35'

/** Owns the sanctions oracle and creates it with its first transaction, so that its address is always the same. */
export const ORACLE_OWNER = '0x23618e81E3f5cdF7f54C3d65f7FBc0aBf5B21E8f'

/** Address of the first contract that ORACLE_OWNER creates. */
export const ORACLE_ADDRESS = '0x95bD8D42f30351685e96C62EDdc0d0613bf9a87A'

/** Account m/44'/60'/1' of the same phrase, for a demo merchant: its wallet can be opened to see the money arrive. */
export const DEMO_MERCHANT_XPUB =
  'xpub6Ce9NcJvTk372KjsGfWqbcex5DumjpNquQLApoeQUavSCjEc823BV1tb4rXUuPuht8h2hSxkg2EXUaKUJmniJvRZAELxypsCzBFdtosmV76'
