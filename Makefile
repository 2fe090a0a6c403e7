# For those who expect make, PGXN's client among them: `make && sudo make install`, with PG_CONFIG=… if it is not in the path. Cargo does the
# work (scripts/install).
PG_CONFIG ?= pg_config

all:
	./scripts/install --build $(PG_CONFIG)

install:
	./scripts/install --copy $(PG_CONFIG)

.PHONY: all install
