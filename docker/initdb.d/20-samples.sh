#!/bin/bash
# The sample documents, where AMAX_SAMPLES is set: tables crates and npm.
set -euo pipefail

[ -n "${AMAX_SAMPLES:-}" ] || exit 0
for kind in crates npm; do
    xz -dc "/usr/local/share/amax/data/$kind.jsonl.xz" |
        psql -qX -v ON_ERROR_STOP=1 --username "$POSTGRES_USER" --dbname "${POSTGRES_DB:-$POSTGRES_USER}" \
            -c "CREATE TABLE $kind (doc jsonb) USING amax" \
            -c "COPY $kind FROM STDIN WITH (FORMAT csv, DELIMITER E'\x01', QUOTE E'\x02')" \
            -c "ANALYZE $kind"
done
