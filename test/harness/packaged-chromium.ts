import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { inflate } from '@sparticuz/chromium'

const require = createRequire(import.meta.url)
const ROOT = join(import.meta.dirname, '../..')

export type PackagedChromium = { executablePath: string; env: Record<string, string> }

/** Open Sans comes with the package; the machine's own fonts add what it lacks (a monospaced one). */
const fontsConfig = (folder: string): string => `<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig>
  <dir>${folder}/fonts</dir><dir>/usr/share/fonts</dir><cachedir>${folder}-fonts</cachedir>
  <alias binding="same"><family>sans-serif</family><prefer><family>Open Sans</family></prefer></alias>
  <alias binding="same"><family>system-ui</family><prefer><family>Open Sans</family></prefer></alias>
</fontconfig>
`

/** The package inflates into the temporary folder, which is looked up when it is called. */
async function inflateInto(folder: string, archives: readonly string[]): Promise<void> {
  const before = process.env.TMPDIR
  process.env.TMPDIR = folder
  const running = archives.map((archive) => inflate(archive))
  if (before === undefined) delete process.env.TMPDIR
  else process.env.TMPDIR = before
  await Promise.all(running)
}

/**
 * Chromium out of the npm package `@sparticuz/chromium` (x64 Linux), with the libraries that bare machines lack (NSS,
 * from the package's archive for Amazon Linux). Unpacked once, beside the modules; two that unpack at the same time do
 * not disturb each other.
 * @throws Error on machines that the package has no build for
 */
export async function unpackChromium(): Promise<PackagedChromium> {
  if (process.platform !== 'linux' || process.arch !== 'x64') {
    throw new Error(`the packaged Chromium is for Linux on x64, not ${process.platform} on ${process.arch}`)
  }
  const home = dirname(dirname(require.resolve('@sparticuz/chromium')))
  const { version } = JSON.parse(readFileSync(join(home, 'package.json'), 'utf8')) as { version: string }
  const cache = join(ROOT, 'node_modules/.cache')
  const folder = join(cache, `chromium-${version}`)
  if (!existsSync(folder)) {
    mkdirSync(cache, { recursive: true })
    const fresh = mkdtempSync(join(cache, 'chromium-new-'))
    try {
      await inflateInto(
        fresh,
        ['chromium.br', 'al2023.tar.br', 'fonts.tar.br'].map((name) => join(home, 'bin', name)),
      )
      writeFileSync(join(fresh, 'fonts.xml'), fontsConfig(folder))
      // whoever runs the tests next may be another user
      for (const path of [fresh, join(fresh, 'chromium')]) chmodSync(path, 0o755)
      renameSync(fresh, folder)
    } catch (error) {
      rmSync(fresh, { recursive: true, force: true })
      if (!existsSync(folder)) throw error
    }
  }
  return {
    executablePath: join(folder, 'chromium'),
    env: { LD_LIBRARY_PATH: join(folder, 'al2023/lib'), FONTCONFIG_FILE: join(folder, 'fonts.xml') },
  }
}
