import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { zipFile } from '../src/orders/export/export-zip.ts'

/*
 * npm run plugins      release/comptoir-woocommerce.zip and release/comptoir-prestashop.zip, ready to be uploaded
 */

const ROOT = join(import.meta.dirname, '..')
const SHARED = {
  // not Comptoir.php, which is comptoir.php of the WooCommerce module where names know no case
  'ComptoirClient.php': 'sdk/php/Comptoir.php',
  'ShopOrder.php': 'plugins/shared/ShopOrder.php',
  'ShopPayment.php': 'plugins/shared/ShopPayment.php',
  'ShopPayments.php': 'plugins/shared/ShopPayments.php',
  'ShopPlace.php': 'plugins/shared/ShopPlace.php',
  'ShopRound.php': 'plugins/shared/ShopRound.php',
}
const FRONT = 'controllers/front'

type Pack = { folder: string; namespace: string; files: Record<string, string> }
const PACKS: Record<string, Pack> = {
  'comptoir-woocommerce.zip': {
    folder: 'comptoir',
    namespace: 'ComptoirForWooCommerce',
    files: {
      'comptoir.php': 'plugins/woocommerce/comptoir.php',
      'gateway.php': 'plugins/woocommerce/gateway.php',
      'journal.php': 'plugins/woocommerce/journal.php',
      'kept.php': 'plugins/woocommerce/kept.php',
      'orders.php': 'plugins/woocommerce/orders.php',
      'blocks.php': 'plugins/woocommerce/blocks.php',
      'uninstall.php': 'plugins/woocommerce/uninstall.php',
      'blocks.js': 'plugins/woocommerce/blocks.js',
    },
  },
  'comptoir-prestashop.zip': {
    folder: 'comptoirpay',
    namespace: 'ComptoirForPrestaShop',
    files: {
      'comptoirpay.php': 'plugins/prestashop/comptoirpay.php',
      'ComptoirLog.php': 'plugins/prestashop/ComptoirLog.php',
      'ComptoirOrders.php': 'plugins/prestashop/ComptoirOrders.php',
      'ComptoirPlaces.php': 'plugins/prestashop/ComptoirPlaces.php',
      'ComptoirSlip.php': 'plugins/prestashop/ComptoirSlip.php',
      'ComptoirStates.php': 'plugins/prestashop/ComptoirStates.php',
      'ComptoirUpgrade.php': 'plugins/prestashop/ComptoirUpgrade.php',
      [`${FRONT}/validation.php`]: `plugins/prestashop/${FRONT}/validation.php`,
      [`${FRONT}/webhook.php`]: `plugins/prestashop/${FRONT}/webhook.php`,
      [`${FRONT}/news.php`]: `plugins/prestashop/${FRONT}/news.php`,
      'upgrade/upgrade-0.2.0.php': 'plugins/prestashop/upgrade/upgrade-0.2.0.php',
      'upgrade/upgrade-0.3.0.php': 'plugins/prestashop/upgrade/upgrade-0.3.0.php',
      'upgrade/upgrade-0.4.0.php': 'plugins/prestashop/upgrade/upgrade-0.4.0.php',
      'upgrade/upgrade-0.5.0.php': 'plugins/prestashop/upgrade/upgrade-0.5.0.php',
    },
  },
}

const CLASSES = [
  ...['Comptoir', 'ComptoirError', 'WebhookVerificationError'],
  ...['ShopOrder', 'ShopPayment', 'ShopPayments', 'ShopPlace', 'ShopRound'],
]
const STRICT = 'declare(strict_types=1);\n'

/**
 * The shared classes in the module's own namespace: a shop may load another copy of the client, of any version, into
 * the same process.
 * @throws Error for a file of PHP without a place for it
 */
function packed(file: string, { namespace }: Pack): string {
  const text = readFileSync(join(ROOT, file), 'utf8')
  if (!file.endsWith('.php')) return text
  const uses = CLASSES.filter((name) => new RegExp(`\\b${name}\\b`).test(text)).map(
    (name) => `use ${namespace}\\${name};\n`,
  )
  const lines = Object.values(SHARED).includes(file) ? `namespace ${namespace};\n` : uses.join('')
  if (lines === '') return text
  if (!text.includes(STRICT)) throw new Error(`${file} does not begin with ${STRICT.trim()}`)
  return text.replace(STRICT, () => `${STRICT}\n${lines}`)
}

/** Writes both zips into a folder. @returns their names */
export async function packPlugins(target: string): Promise<string[]> {
  mkdirSync(target, { recursive: true })
  for (const [name, pack] of Object.entries(PACKS)) {
    const entries = Object.entries({ ...pack.files, ...SHARED, 'LICENSE.txt': 'LICENSE' }).map(([file, source]) => ({
      name: `${pack.folder}/${file}`,
      content: packed(source, pack),
    }))
    const parts: Buffer[] = []
    for await (const part of zipFile(entries, new Date())) parts.push(part)
    writeFileSync(join(target, name), Buffer.concat(parts))
  }
  return Object.keys(PACKS)
}

if (process.argv[1] === import.meta.filename) {
  for (const name of await packPlugins(join(ROOT, 'release'))) process.stdout.write(`release/${name}\n`)
}
