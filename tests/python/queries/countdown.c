/* The server's countdown of CHECK_FOR_INTERRUPTS() (count_interrupts in scripts/lib/source.sh). */
#include "postgres.h"

#include "fmgr.h"
#include "miscadmin.h"

PG_MODULE_MAGIC;

PG_FUNCTION_INFO_V1(interrupt_after);

/* interrupt_after(int) RETURNS int: sets it, and returns what was left. */
Datum
interrupt_after(PG_FUNCTION_ARGS)
{
	int			left = interrupt_countdown;

	interrupt_countdown = PG_GETARG_INT32(0);
	PG_RETURN_INT32(left);
}
