/* pg_parquet's switch, without the rest of it. */
#include "postgres.h"

#include "fmgr.h"
#include "utils/guc.h"

PG_MODULE_MAGIC;

static bool takes_copy = true;

void		_PG_init(void);

void
_PG_init(void)
{
	DefineCustomBoolVariable("pg_parquet.enable_copy_hooks", "Whether COPY is taken.", NULL, &takes_copy, true,
							 PGC_USERSET, 0, NULL, NULL, NULL);
}
