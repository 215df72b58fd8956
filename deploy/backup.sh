#!/usr/bin/env bash
# Dumps the database every EVERY_MINUTES and keeps the newest KEEP. A dump appears under its name when it is whole.
#   bash /backup.sh          on and on; a restart makes none before it is due, so that it pushes no older one out
#   bash /backup.sh now      one, at once
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

seconds_left() {
  local newest
  newest=$(names | tail -n 1)
  if [ -z "$newest" ]; then echo 0; else echo $((EVERY_MINUTES * 60 - $(date +%s) + $(stat -c %Y "$newest"))); fi
}

if [ "${1:-}" = now ]; then take; exit; fi
# as the first process of a container it would not hear a signal otherwise
trap 'exit 0' TERM INT
while true; do
  left=$(seconds_left)
  # it cannot be further away, unless the newest was touched while the clock was wrong
  if [ "$left" -le 0 ] || [ "$left" -gt $((EVERY_MINUTES * 60)) ]; then
    # what a stop broke off
    find "$backups" -maxdepth 1 -name 'comptoir-*.dump.part' -delete
    left=60
    # one that fails is tried again after ten minutes
    take || left=600
  fi
  sleep "$left" &
  wait $!
done
