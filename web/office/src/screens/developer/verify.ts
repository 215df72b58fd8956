import javaScript from '../../../../../sdk/examples/verify.js?raw'
import php from '../../../../../sdk/examples/verify.php?raw'
import python from '../../../../../sdk/examples/verify.py?raw'

/**
 * How a receiver verifies a webhook, by the language of the sample above it: the programs that the reference prints and
 * that a test tries with forgeries.
 */
export const VERIFY: Record<string, string> = { curl: javaScript, JavaScript: javaScript, PHP: php, Python: python }
