import javaScript from '../../../../../sdk/examples/verify.js?raw'
import php from '../../../../../sdk/examples/verify.php?raw'
import python from '../../../../../sdk/examples/verify.py?raw'

import { aboveCommandLine } from './above-command-line.ts'

/**
 * How a receiver verifies a webhook, by the language of the sample above it: programs that
 * tests try with forgeries, whole and pasted into a receiver.
 */
export const VERIFY: Record<string, string> = Object.fromEntries(
  Object.entries({ curl: javaScript, JavaScript: javaScript, PHP: php, Python: python }).map(([language, program]) => [
    language,
    aboveCommandLine(program),
  ]),
)
