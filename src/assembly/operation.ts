import type { FastifyInstance } from 'fastify'
import { auditRoutes } from '../audit/audit-routes.ts'
import { differenceRoutes } from '../ledger/difference-routes.ts'
import { booksRoutes } from '../ledger/overview/books-routes.ts'
import { ledgerRoutes } from '../ledger/overview/ledger-routes.ts'
import { settlementRoutes } from '../ledger/settlements/settlement-routes.ts'
import { operatorChainRoutes } from '../operator/chain-routes.ts'
import { type OperatorDeps, operatorRoutes } from '../operator/operator-routes.ts'
import type { Commerce } from './commerce.ts'
import type { ServiceBase } from './service-base.ts'

type Watched = Pick<Commerce, 'settlements' | 'chains' | 'chainHealth'> & Pick<OperatorDeps, 'audit' | 'examine'>

/** The books, and the operator's screens. */
export async function registerOperation(
  scope: FastifyInstance,
  { config, db, clock }: Pick<ServiceBase, 'config' | 'db' | 'clock'>,
  { settlements, chains, chainHealth, audit, examine }: Watched,
): Promise<void> {
  await scope.register(settlementRoutes, settlements)
  await scope.register(differenceRoutes, settlements)
  await scope.register(booksRoutes, settlements)
  await scope.register(ledgerRoutes, settlements)
  await scope.register(auditRoutes, { db })
  await scope.register(operatorRoutes, { db, clock, audit, examine })
  const dustUnits = BigInt(config.orders.chainDustUnits)
  await scope.register(operatorChainRoutes, {
    ...{ db, clock, chains, chainHealth, dustUnits },
    limits: config.settlements,
  })
}
