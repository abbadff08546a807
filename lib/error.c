/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * error.c - codes, their texts, and the reporter.
 *
 * ORDERING TABLE
 *   seq-enter | version, odd  | seq_cst | seq-check | a change is under way
 *   pair      | handler, context store | seq_cst | pair-read | the new pair
 *   seq-leave | version, even | seq_cst | seq-check | the change is complete
 *   seq-check | load version, twice | seq_cst | seq-enter seq-leave | nothing changed between
 *   pair-read | handler, context load | seq_cst | pair | -
 *
 * The pair is a sequence lock.  It is read on errors only, so the single total
 * order of seq_cst is bought where it costs nothing, instead of an argument
 * with weaker ones.
 */
#include "error.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdlib.h>
#include <unistd.h>

#include "atomic.h"

/* Reads of the pair before the default serves: a signal handler may have
 * interrupted, in this very thread, the change that it waits for. */
#define CPI_PAIR_TRIES 1000

static pthread_mutex_t handler_writers = PTHREAD_MUTEX_INITIALIZER;
static _Atomic unsigned handler_version;
static _Atomic(cpool_error_handler_t) handler_function;
static _Atomic(void *) handler_context;

struct code_text {
    int code;
    const char *text;
};

static const struct code_text code_texts[] = {
    {CPOOL_OK, "success"},
    {CPOOL_ENULL, "a required pointer is NULL"},
    {CPOOL_ESTRUCT, "the structure's size is not one this library knows"},
    {CPOOL_ESLOTSIZE, "slot_size is zero"},
    {CPOOL_EALIGN, "slot_align is no power of two, or too large"},
    {CPOOL_EOFFSET, "slot_offset is larger than slot_size"},
    {CPOOL_ECAPACITY, "capacity is zero or too large"},
    {CPOOL_EOVERFLOW, "the pool would not fit into the address space"},
    {CPOOL_EROUNDS, "magazine_rounds is out of range for this capacity"},
    {CPOOL_EFLAGS, "unknown bits in flags"},
    {CPOOL_ECACHES, "thread_caches is too large"},
    {CPOOL_EMEMSIZE, "memory_size is less than the pool requires"},
    {CPOOL_EMEMALIGN, "memory is not aligned to CPOOL_MEMORY_ALIGN"},
    {CPOOL_EMEMORY, "memory_size is given without memory"},
    {CPOOL_ENOMEM, "the operating system refused memory"},
    {CPOOL_ESYSTEM, "the operating system refused a thread key or fork handler"},
    {CPOOL_EDRY, "fewer slots are free than were asked for"},
    {CPOOL_EPOOL, "not a pool: NULL, never created, or destroyed"},
    {CPOOL_EFOREIGN, "the address lies outside the pool"},
    {CPOOL_EMISALIGNED, "the address lies inside a slot, not at its start"},
    {CPOOL_EUNUSED, "the slot has never been handed out"},
    {CPOOL_EDOUBLEFREE, "the slot is free already"},
    {CPOOL_EGUARD, "bytes around the slot were overwritten"},
    {CPOOL_EOWNER, "the cache belongs to another thread"},
    {CPOOL_EMAXCAPACITY, "max_capacity is below capacity or too large"},
    {CPOOL_EWAITABLE, "the pool was not created with CPOOL_WAITABLE"},
    {CPOOL_ENOTQUIET, "something happened that a quiet scope traps"},
};

const char *cpool_strerror(int code)
{
    size_t i;

    for (i = 0; i < sizeof code_texts / sizeof code_texts[0]; i++)
        if (code_texts[i].code == code)
            return code_texts[i].text;
    return "unknown error code";
}

void cpi_error_lock(void)
{
    pthread_mutex_lock(&handler_writers);
}

void cpi_error_unlock(void)
{
    pthread_mutex_unlock(&handler_writers);
}

void cpool_set_error_handler(cpool_error_handler_t handler, void *context)
{
    cpi_error_lock();
    cpi_fetch_add(&handler_version, 1u, seq_cst);     /* [seq-enter] */
    cpi_store(&handler_function, handler, seq_cst);   /* [pair] */
    cpi_store(&handler_context, context, seq_cst);    /* [pair] */
    cpi_fetch_add(&handler_version, 1u, seq_cst);     /* [seq-leave] */
    cpi_error_unlock();
}

static cpool_error_handler_t current_handler(void **context)
{
    unsigned tries;

    for (tries = 0; tries < CPI_PAIR_TRIES; tries++) {
        unsigned before = cpi_load(&handler_version, seq_cst); /* [seq-check] */
        cpool_error_handler_t handler = cpi_load(&handler_function, seq_cst); /* [pair-read] */

        *context = cpi_load(&handler_context, seq_cst); /* [pair-read] */
        if (before % 2 == 0 && cpi_load(&handler_version, seq_cst) == before) /* [seq-check] */
            return handler;
    }
    return NULL;
}

void cpi_write_error(const char *text, size_t length)
{
    int saved = errno;
    int cancel;

    /* write is a point of cancellation, which would lose the report. */
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
    while (length > 0) {
        ssize_t written = write(STDERR_FILENO, text, length);

        if (written <= 0 && errno != EINTR)
            break;
        if (written > 0) {
            text += written;
            length -= (size_t)written;
        }
    }
    pthread_setcancelstate(cancel, NULL);
    errno = saved;
}

static void default_handler(const cpool_error_t *error)
{
    char line[CPI_REPORT_MAX + 16];
    int length = snprintf(line, sizeof line, "cpool: %s\n", error->text);

    cpi_write_error(line, (size_t)length);
    abort();
}

void cpi_report(cpool_error_t *error, const char *format, ...)
{
    char text[CPI_REPORT_MAX];
    cpool_error_handler_t handler;
    void *context;
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    error->size = sizeof *error;
    error->text = text;
    handler = current_handler(&context);
    if (handler == NULL)
        default_handler(error);
    else
        handler(error, context);
}
