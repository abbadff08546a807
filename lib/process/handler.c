/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * handler.c - reports callers' mistakes (base/error.h) to the error handler.
 *
 * A handler and its argument belong together, so both are read and written with the lock held.  The
 * handler is called without the lock.
 */
#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/tools.h"
#include "host/options.h"
#include "process/thread.h"

/* Running out of resources is not a mistake of the program, so the default handler returns then.
 * An access that has trapped goes on to the program's handler of the signal. */
static void report_by_default(const cpool_error_t *error)
{
    cpi_tell("%s", error->text);
    cpi_write_error(error->details, strlen(error->details));
    cpi_tools_print_stack();
    if (error->code > CPOOL_ENOMEM && cpi_options()->goes_on == 0 &&
        error->code != CPOOL_ETRAP)
        abort();
}

static cpool_error_handler_t current; /* guarded by the lock */

/* Returns the handler before, and sets another one unless that is NULL.  The caller may hold the
 * lock. */
static cpool_error_handler_t exchange_handler(const cpool_error_handler_t *next)
{
    bool locked = cpi_lock_unless_held();
    cpool_error_handler_t before = current;

    if (next != NULL)
        current = *next;
    cpi_unlock_if(locked);
    return before;
}

cpool_error_handler_t cpool_set_error_handler(cpool_error_handler_t handler)
{
    return exchange_handler(&handler);
}

CPI_COLD void cpool_client_report(cpool_error_t *error, const char *format, ...)
{
    char text[CPI_REPORT_MAX];
    cpool_error_handler_t handler;
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    error->size = sizeof *error;
    error->text = text;
    if (error->details == NULL)
        error->details = "";
    cpi_tools_wrote(error, sizeof *error);
    cpi_tools_wrote(text, sizeof text);
    cpi_tools_wrote(error->details, strlen(error->details) + 1);
    cpi_tools_call(2);
    handler = exchange_handler(NULL);
    if (handler.report != NULL)
        handler.report(error, handler.arg);
    else
        report_by_default(error);
}
