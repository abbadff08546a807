/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * handler.c - reports callers' mistakes (base/error.h) to the error handler.
 *
 * A handler and its context belong together, so both are read and written with the lock held.  The
 * handler is called without the lock.
 */
#include "base/error.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/tools.h"
#include "host/options.h"
#include "process/thread.h"

struct pair {
    cpool_error_handler_t handler;
    void *context;
};

/* Running out of resources is not a mistake of the program, so the default handler returns then. */
static void default_handler(const cpool_error_t *error, void *context)
{
    (void)context;
    cpi_tell("%s", error->text);
    cpi_write_error(error->details, strlen(error->details));
    cpi_tools_print_stack();
    if (error->code > CPOOL_ENOMEM && cpi_options()->goes_on == 0)
        abort();
}

static struct pair current = {default_handler, NULL}; /* guarded by the lock */

/* Returns the previous pair.  The caller may hold the lock. */
static struct pair exchange_pair(const struct pair *next)
{
    bool locked;
    struct pair before;

    locked = cpi_lock_unless_held();
    before = current;
    if (next != NULL)
        current = *next;
    if (locked)
        cpi_unlock();
    return before;
}

void cpool_set_error_handler(cpool_error_handler_t handler, void *context)
{
    struct pair pair = {handler != NULL ? handler : default_handler, context};

    (void)exchange_pair(&pair);
}

void cpi_report(cpool_error_t *error, const char *format, ...)
{
    char text[CPI_REPORT_MAX];
    struct pair pair;
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
    pair = exchange_pair(NULL);
    pair.handler(error, pair.context);
}
