#!/bin/bash
# The extension in the database that the entrypoint made, and in those made later.
set -euo pipefail

for database in template1 "${POSTGRES_DB:-$POSTGRES_USER}"; do
    psql -qX -v ON_ERROR_STOP=1 --username "$POSTGRES_USER" --dbname "$database" -c 'CREATE EXTENSION IF NOT EXISTS amax'
done
