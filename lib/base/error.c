/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * error.c - codes, their texts, lines on standard error, and text in a buffer.
 */
#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    int code;
    const char *text;
} code_texts[] = {
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
    {CPOOL_EWAITABLE, "the object pool was not created with CPOOL_OBJECT_WAITABLE"},
    {CPOOL_EFREED, "the slot was written while it was free"},
    {CPOOL_EOPEN, "it is open already"},
    {CPOOL_EINACTIVE, "the object is not active"},
    {CPOOL_EHOOK, "a hook of the pool's type was left without returning"},
    {CPOOL_ETRACKED, "the pool was not created with CPOOL_TRACKED"},
    {CPOOL_EREADER, "a reader is inside a section"},
    {CPOOL_ESTALLED, "a reader stays inside a section, and retired slots are held back"},
    {CPOOL_ERETIRED, "the slot is retired already"},
    {CPOOL_EFRAME, "not an open frame, or a frame of another pool"},
    {CPOOL_EFRAMED, "the slot goes back with its frame"},
    {CPOOL_EFRAMES, "too many frames of the pool are open"},
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

void cpi_tell(const char *format, ...)
{
    char line[CPI_REPORT_MAX + 8] = "cpool: ";
    size_t start = strlen(line);
    size_t length;
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(line + start, CPI_REPORT_MAX, format, arguments);
    va_end(arguments);
    length = strlen(line);
    line[length] = '\n';
    cpi_write_error(line, length + 1);
}

#if defined(CPI_DEBUG) || defined(CPI_ATOMIC_HEADER) /* for tests that link explored sources */
CPI_COLD void cpi_assert_failed(const char *claim, const char *file, int line)
{
    char text[CPI_REPORT_MAX];
    int length;

    length = snprintf(text, sizeof text, "cpool: %s:%d: untrue: %s\n", file, line, claim);
    cpi_write_error(text, length < CPI_REPORT_MAX ? (size_t)length : CPI_REPORT_MAX - 1);
    abort();
}
#endif

void cpi_text_init(struct cpi_text *text, char *buffer, size_t size)
{
    text->start = buffer;
    text->size = size;
    text->length = 0;
    buffer[0] = '\0';
}

void cpi_text_add(struct cpi_text *text, const char *format, ...)
{
    size_t room = text->size - text->length;
    va_list arguments;
    int length;

    va_start(arguments, format);
    length = vsnprintf(text->start + text->length, room, format, arguments);
    va_end(arguments);
    if (length > 0)
        text->length += (size_t)length < room ? (size_t)length : room - 1;
}

void cpi_text_copy(char *copy, size_t size, const char *name)
{
    size_t i = 0;

    for (; name != NULL && name[i] != '\0' && i + 1 < size; i++)
        copy[i] = name[i] < ' ' || name[i] > '~' || strchr("\"\\", name[i]) != NULL ? '?' : name[i];
    copy[i] = '\0';
}
