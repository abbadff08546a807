/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cpool/print.h - prints figures to a stream of <stdio.h>.
 *
 * <cpool.h> does not include it.
 *
 * OVERVIEW
 *
 *     #include <cpool/print.h>
 *
 *     cpool_print(NULL, CPOOL_DUMP_TEXT, stderr);     all pools of the process
 */
#ifndef CPOOL_PRINT_H
#define CPOOL_PRINT_H

#include <stdio.h>

#include <cpool.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * ---- Printing (cpool_print.3) -------------------------------------------------
 */

/*
 * cpool_print - cpool_dump to a stream.
 *
 * out   a stream of the program's own C library, open for writing
 *
 * Returns what cpool_dump returns.  Any thread.  It may block, and does what the stream does.
 */
CPOOL_LOCAL_ size_t cpool_print(const cpool_t *pool, enum cpool_dump_form form, FILE *out)
    CPOOL_NONNULL_(3);

CPOOL_LOCAL_ void cpool_print_part_(const char *text, size_t length, void *out)
{
    fwrite(text, 1, length, CPOOL_CAST_(FILE *, out));
}

CPOOL_LOCAL_ size_t cpool_print(const cpool_t *pool, enum cpool_dump_form form, FILE *out)
{
    return cpool_dump(pool, form, cpool_print_part_, out);
}

#ifdef __cplusplus
}
#endif

#endif /* CPOOL_PRINT_H */
