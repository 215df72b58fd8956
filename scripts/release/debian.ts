/*
 * The texts of the Debian package: what dpkg reads, what its users read, and what lintian is told.
 */
type Build = { version: string; architecture: string; kilobytes: number; node: string; dateMs: number; help: string }

const { DEBFULLNAME = 'The operator of this machine', DEBEMAIL = 'root@localhost' } = process.env
/** The builder, as Debian's own tools name him (dch(1)). */
const MAINTAINER = `${DEBFULLNAME} <${DEBEMAIL}>`

export const controlOf = ({ version, architecture, kilobytes }: Build): string => `Package: comptoir
Version: ${version}
Architecture: ${architecture}
Maintainer: ${MAINTAINER}
Installed-Size: ${kilobytes}
Depends: libc6 (>= 2.28), libstdc++6, adduser
Section: net
Priority: optional
Description: crypto payments for merchants, settled in USDC
 Comptoir with its own Node and PostgreSQL. Set it up with "comptoir init",
 as docs/going-live.md says.
`

const postinstOf = (node: string): string => `#!/bin/sh
set -e
if ! getent passwd comptoir >/dev/null; then
  adduser --system --group --home /var/lib/comptoir --no-create-home --quiet comptoir
fi
install -d -m 0700 -o comptoir -g comptoir /etc/comptoir
# the service may put a link there: one to a file of root must not give that file away
if [ -e /etc/comptoir/env ]; then
  find /etc/comptoir/env -maxdepth 0 -type f -links 1 -exec chown -h comptoir:comptoir {} +
fi
install -d -m 0700 -o comptoir -g comptoir /var/lib/comptoir
# compiled once, by root: the service may not write beside its code, and would compile it at every start
(umask 022 && NODE_COMPILE_CACHE=/opt/comptoir/node_modules/.cache/comptoir \\
  /opt/comptoir/${node}/bin/node --input-type=module \\
  -e "await import('/opt/comptoir/src/commands/serve/serve-command.ts'); process.exit()") || true
if [ -d /opt/comptoir/node_modules/.cache ]; then
  find /opt/comptoir/node_modules/.cache -type d -exec chmod 0755 {} +
  find /opt/comptoir/node_modules/.cache -type f -exec chmod 0644 {} +
fi
if [ -d /run/systemd/system ]; then systemctl daemon-reload; systemctl try-restart comptoir || true; fi
`

/** Configuration and data stay, also on purge: the master key and the books are among them. */
const PRERM = `#!/bin/sh
set -e
rm -rf /opt/comptoir/node_modules/.cache
if [ "$1" = remove ] && [ -d /run/systemd/system ]; then systemctl disable --now comptoir || true; fi
`

const POSTRM = `#!/bin/sh
set -e
if [ -d /run/systemd/system ]; then systemctl daemon-reload || true; fi
`

/** By name, below `DEBIAN`. */
export const scriptsOf = ({ node }: Build): Record<string, string> => ({
  postinst: postinstOf(node),
  prerm: PRERM,
  postrm: POSTRM,
})

/** Its commands look at the settings of the service, in whatever folder they are run. */
export const commandOf = ({ node }: Build): string => `#!/bin/sh
export COMPTOIR_ENV_FILE="\${COMPTOIR_ENV_FILE:-/etc/comptoir/env}"
exec /opt/comptoir/${node}/bin/node /opt/comptoir/bin/comptoir.cjs "$@"
`

/** Debian's format (deb-changelog(5)); what changed is in the project's own changelog. */
export const changelogOf = ({ version, dateMs }: Build): string => `comptoir (${version}) unstable; urgency=medium

  * What changed is in /opt/comptoir/CHANGELOG.md.

 -- ${MAINTAINER}  ${new Date(dateMs).toUTCString().replace('GMT', '+0000')}
`

export const COPYRIGHT = `Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: Comptoir

Files: *
Copyright: 2026 the authors of Comptoir
License: Apache-2.0
 On Debian systems the text of this licence is in
 /usr/share/common-licenses/Apache-2.0.
Comment:
 Each package below /opt/comptoir/node_modules has its own licence, in its
 own folder. The release's comptoir-<version>.cdx.json lists them all.
`

const escapeRoff = (text: string): string => text.replaceAll('\\', '\\\\').replaceAll('-', '\\-')

/** comptoir(1): what `comptoir --help` prints, as a manual page. */
export const manualOf = ({ version, help, dateMs }: Build): string => `.TH COMPTOIR 1 "${new Date(dateMs)
  .toISOString()
  .slice(0, 10)}" "comptoir ${version}"
.SH NAME
comptoir \\- crypto payments for merchants, settled in USDC
.SH DESCRIPTION
.nf
${escapeRoff(help.trim()).replaceAll(/^([.'])/gm, '\\&$1')}
.fi
.SH FILES
/etc/comptoir/env: the settings
.br
/var/lib/comptoir: the embedded database and files
.br
/opt/comptoir/docs: the documentation; the service serves it at /docs
`

/** What lintian finds and stays, with the reason. */
export const OVERRIDES = `# The program and its packages in the versions they were tested with: all below /opt.
comptoir: dir-or-file-in-opt *
comptoir: script-not-executable *
comptoir: executable-not-elf-or-script *
comptoir: wrong-path-for-interpreter *
comptoir: privacy-breach-generic *
# Node writes its compiled code for root alone; below the package's own folder everyone may read it.
comptoir: recursive-privilege-change *
# The command starts them with the Node that the package brings.
comptoir: missing-dep-for-interpreter node *
# Node, PostgreSQL and the image library as their projects publish them, byte for byte.
comptoir: unstripped-binary-or-object *
comptoir: embedded-library *
comptoir: custom-library-search-path *
comptoir: shared-library-lacks-prerequisites *
comptoir: shared-library-is-executable *
comptoir: library-not-linked-against-libc *
comptoir: statically-linked-binary *
comptoir: hardening-no-pie *
`
