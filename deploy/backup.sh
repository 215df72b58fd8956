#!/usr/bin/env bash
# Dumps the database every EVERY_MINUTES and keeps the newest KEEP. A dump appears under its name when it is whole.
#   bash /backup.sh          on and on; a restart makes none before it is due, so that it pushes no older one out
#   bash /backup.sh now      one, at once
# It writes only where a file .comptoir-dumps or a dump is: else the disk that should be mounted there may not be.
set -euo pipefail
umask 077
backups=${BACKUPS:-/backups}
# names are compared as text with those that find prints
while [[ $backups == ?*/ ]]; do backups=${backups%/}; done
PGPASSWORD=$(cat "${PGPASSWORD_FILE:-/run/secrets/postgres_password}")
export PGPASSWORD

present_name() { echo "comptoir-$(date -u +%Y%m%dT%H%M%SZ).dump"; }

# oldest first; one from the future was made while the clock was wrong: it is neither the newest nor one of those to keep
names() {
  local now
  now="$backups/$(present_name)"
  find "$backups" -maxdepth 1 -name 'comptoir-*.dump' | sort | while read -r file; do
    if [[ ! "$file" > "$now" ]]; then echo "$file"; fi
  done
}

is_there() {
  if [ -e "$backups/.comptoir-dumps" ] || [ -n "$(names)" ]; then return; fi
  echo "$backups holds neither a dump nor the file .comptoir-dumps: is its disk mounted? On a new one make that file." >&2
  return 1
}

take() {
  local name file
  name=$(present_name)
  file="$backups/$name"
  # read back to its end: the list of contents alone stands at the beginning
  if pg_dump --format=custom --file="$file.part" && pg_restore --file=/dev/null "$file.part" && sync "$file.part"; then
    mv "$file.part" "$file"
    echo "backed up: $name"
    names | head -n "-$KEEP" | xargs -r rm --
  else
    echo "the backup failed" >&2
    rm -f "$file.part"
    return 1
  fi
}

# by its name, which this machine's clock wrote; the time of the file is that of the disk's own clock
seconds_left() {
  local newest at
  newest=$(names | tail -n 1)
  if [ -z "$newest" ]; then echo 0; return; fi
  at=$(sed -E 's/^.*comptoir-(.{4})(..)(..)T(..)(..)(..)Z\.dump$/\1-\2-\3 \4:\5:\6 UTC/' <<<"$newest")
  echo $((EVERY_MINUTES * 60 - $(date +%s) + $(date -d "$at" +%s)))
}

if [ "${1:-}" = now ]; then is_there && take; exit; fi
# as the first process of a container it would not hear a signal otherwise
trap 'exit 0' TERM INT
while true; do
  left=$(seconds_left)
  if [ "$left" -le 0 ]; then
    # a container that starts anew looks at what is mounted by then
    if ! is_there; then sleep 60 & wait $!; exit 1; fi
    # what a stop broke off
    find "$backups" -maxdepth 1 -name 'comptoir-*.dump.part' -delete
    left=60
    # one that fails is tried again after ten minutes
    take || left=600
  fi
  sleep "$left" &
  wait $!
done
