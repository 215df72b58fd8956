#!/usr/bin/env bash
# Dumps the database every EVERY_SECONDS and keeps the newest KEEP. A dump appears under its name when it is whole.
set -euo pipefail
umask 077
backups=${BACKUPS:-/backups}
PGPASSWORD=$(cat "${PGPASSWORD_FILE:-/run/secrets/postgres_password}")
export PGPASSWORD
while true; do
  name="comptoir-$(date -u +%Y%m%dT%H%M%SZ).dump"
  # what cannot be read back is not kept, and the next one is taken in its time
  if pg_dump --format=custom --file="$backups/$name.part" && pg_restore --list "$backups/$name.part" > /dev/null; then
    mv "$backups/$name.part" "$backups/$name"
    echo "backed up: $name"
    find "$backups" -name 'comptoir-*.dump' | sort | head -n "-$KEEP" | xargs -r rm --
  else
    echo "the backup failed" >&2
    rm -f "$backups/$name.part"
  fi
  sleep "$EVERY_SECONDS"
done
