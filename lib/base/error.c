/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * error.c - codes, their texts, and the reporter.
 *
 * ORDERING TABLE
 *   install | current pair store | release | consult | the pair's two members
 *   consult | current pair load  | acquire | install | the pair's two members
 *   add     | all pairs CAS      | release | look    | the pair's members
 *   look    | all pairs load, CAS failure | acquire | add | the pairs' members
 *   draw    | static pairs used, fetch-and-add | relaxed | - | -
 *
 * A handler and its context belong together, and are read by threads that must not
 * wait.  So each pair, once made, is never changed and never freed, and changing the
 * handler is one store of a pointer.  A pair that was used before is found again, so
 * their number does not grow while a program goes back and forth between handlers.
 * (Threads that add the same pair at the same moment add one each.)
 *
 * There is no lock, because a pair may have to be allocated: malloc may be made
 * of a pool, and a fork must not find a lock held.
 */
#include "base/error.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/atomic.h"
#include "base/probes.h"
#include "base/tools.h"

/* Pairs that need no memory. */
#define CPI_STATIC_PAIRS 16u

struct pair {
    cpool_error_handler_t handler;
    void *context;
    struct pair *next; /* of all pairs */
};

static struct pair static_pairs[CPI_STATIC_PAIRS];
static _Atomic unsigned static_used; /* counts on when there are none left */
static _Atomic(struct pair *) all_pairs;
static _Atomic(const struct pair *) current_pair; /* NULL: the default handler */

struct code_text {
    int code;
    const char *text;
};

static const struct code_text code_texts[] = {
    {CPOOL_OK, "success"},
    {CPOOL_ESTRUCT,
     "the structure's size is wrong: start from its initialiser, as CPOOL_CONFIG_INIT"},
    {CPOOL_ETAIL, "the structure has a setting that this library lacks"},
    {CPOOL_ESLOTSIZE, "slot_size is 0, or not that of the type"},
    {CPOOL_EALIGN, "slot_align is not a power of two, or above 2097152, or below the type's"},
    {CPOOL_EOFFSET, "slot_offset is larger than slot_size"},
    {CPOOL_ECAPACITY, "capacity is 0, or above 4294967295"},
    {CPOOL_EMAXCAPACITY, "max_capacity is below capacity, or above 4294967295"},
    {CPOOL_EOVERFLOW, "the pool would not fit into the address space"},
    {CPOOL_EROUNDS, "magazine_rounds is above capacity or 65535, or too few for max_capacity"},
    {CPOOL_ECACHES, "thread_caches is above 65535"},
    {CPOOL_EFLAGS, "bits in flags that are unknown, or refused on this system"},
    {CPOOL_EMEMORY, "memory_size is given without memory"},
    {CPOOL_EMEMSIZE, "memory_size is less than cpool_memory_required says"},
    {CPOOL_EMEMALIGN, "memory is not aligned to 64 bytes (CPOOL_MEMORY_ALIGN)"},
    {CPOOL_ECLASSES, "the sizes of classes are none, or there is no such class"},
    {CPOOL_ECOPIES, "another copy of the library answers for some names of this one"},
    {CPOOL_ESTATE, "the bytes are no state of such lanes, or too few for one"},
    {CPOOL_ENULL, "a required pointer is NULL"},
    {CPOOL_EPOOL,
     "not a pool: NULL, never created, destroyed, or made by another copy of the library"},
    {CPOOL_EFOREIGN, "the address lies outside the pool"},
    {CPOOL_EMISALIGNED, "the address lies inside a slot, not at its start"},
    {CPOOL_EUNUSED, "the slot has never been handed out"},
    {CPOOL_EDOUBLEFREE, "the slot is free already"},
    {CPOOL_EGUARD, "bytes around the slot were overwritten"},
    {CPOOL_EOWNER, "the cache belongs to another thread"},
    {CPOOL_EWAITABLE, "the pool was not created with CPOOL_WAITABLE"},
    {CPOOL_EFREED, "the slot was written while it was free"},
    {CPOOL_EOPEN, "it is open already"},
    {CPOOL_EINACTIVE, "the object is not active"},
    {CPOOL_EHOOK, "a hook of the pool's type was left without returning"},
    {CPOOL_ETRACKED, "the pool was not created with CPOOL_TRACKED"},
    {CPOOL_EREADER, "a reader is inside a section"},
    {CPOOL_ESTALLED, "a reader stays inside a section, and retired slots are held back"},
    {CPOOL_ERETIRED, "the slot is retired already"},
    {CPOOL_ELIVE, "slots were still live"},
    {CPOOL_ENOMEM, "the operating system refused memory"},
    {CPOOL_ESYSTEM, "the operating system refused a thread key or fork handler"},
    {CPOOL_EPOOLS, "as many pools exist as the library can have at once"},
    {CPOOL_EDRY, "fewer slots are free than were asked for"},
    {CPOOL_EHELD, "as many slots are held back for readers as may be"},
};

const char *cpool_strerror(int code)
{
    size_t i;

    for (i = 0; i < sizeof code_texts / sizeof code_texts[0]; i++)
        if (code_texts[i].code == code)
            return code_texts[i].text;
    return "unknown error code";
}

static struct pair *make_pair(void)
{
    unsigned number = cpi_fetch_add(&static_used, 1u, relaxed); /* [draw] */

    return number < CPI_STATIC_PAIRS ? &static_pairs[number] : malloc(sizeof(struct pair));
}

/* The pair of these two, or NULL if it would be a new one and there is no memory. */
static const struct pair *find_pair(cpool_error_handler_t handler, void *context)
{
    struct pair *first = cpi_load(&all_pairs, acquire); /* [look] */
    struct pair *pair;

    for (pair = first; pair != NULL; pair = pair->next)
        if (pair->handler == handler && pair->context == context)
            return pair;
    pair = make_pair();
    if (pair == NULL)
        return NULL;
    pair->handler = handler;
    pair->context = context;
    do
        pair->next = first;
    while (!cpi_cas_weak(&all_pairs, &first, pair, release, acquire)); /* [add] [look] */
    return pair;
}

void cpool_set_error_handler(cpool_error_handler_t handler, void *context)
{
    const struct pair *pair = handler != NULL ? find_pair(handler, context) : NULL;

    cpi_store(&current_pair, pair, release); /* [install] */
}

static void write_line(const char *text)
{
    char line[CPI_REPORT_MAX + 16];
    int length = snprintf(line, sizeof line, "cpool: %s\n", text);

    cpi_write_error(line, (size_t)length);
}

void cpi_tell(const char *format, ...)
{
    char text[CPI_REPORT_MAX];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    write_line(text);
}

bool (*cpi_report_goes_on)(void);

static void default_handler(const cpool_error_t *error)
{
    write_line(error->text);
    cpi_write_error(error->details, strlen(error->details));
    cpi_tools_print_stack();
    if (error->code <= CPOOL_ENOMEM)
        return;
    if (cpi_report_goes_on == NULL || !cpi_report_goes_on())
        abort();
}

void cpi_report(cpool_error_t *error, const char *format, ...)
{
    char text[CPI_REPORT_MAX];
    const struct pair *pair;
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    error->size = sizeof *error;
    error->text = text;
    CPI_PROBE2(report, error->code, text);
    if (error->details == NULL)
        error->details = "";
    pair = cpi_load(&current_pair, acquire); /* [consult] */
    if (pair == NULL) {
        default_handler(error);
        return;
    }
    cpi_tools_wrote(error, sizeof *error);
    cpi_tools_wrote(text, sizeof text);
    cpi_tools_wrote(error->details, strlen(error->details) + 1);
    cpi_tools_call(2);
    pair->handler(error, pair->context);
}

#if defined(CPI_DEBUG) || defined(CPI_ATOMIC_HEADER) /* for tests that link explored sources */
void (*cpi_assert_catch)(const char *claim);

CPI_COLD void cpi_assert_failed(const char *claim, const char *file, int line)
{
    char text[CPI_REPORT_MAX];
    int length;

    if (cpi_assert_catch != NULL)
        cpi_assert_catch(claim);
    length = snprintf(text, sizeof text, "cpool: %s:%d: untrue: %s\n", file, line, claim);
    cpi_write_error(text, length < CPI_REPORT_MAX ? (size_t)length : CPI_REPORT_MAX - 1);
    abort();
}
#endif
