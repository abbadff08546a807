/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * error.c - codes, their texts, lines on standard error, and text in a buffer.
 */
#include "base/error.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CPI_CODES(CODE) \
    CODE(CPOOL_OK, "success") \
    CODE(CPOOL_ESTRUCT, "a structure has a wrong size, or settings or bytes that are unknown: " \
                        "start from its initialiser, as CPOOL_CONFIG_INIT") \
    CODE(CPOOL_ESLOTSIZE, "the size of slots is 0, or not that of the type or of a class") \
    CODE(CPOOL_EALIGN, "alignment is not a power of two, or above 2097152, or below the " \
                       "type's, or slot_offset is above slot_size") \
    CODE(CPOOL_ECAPACITY, "capacity is 0, or above 4294967295 or max_capacity, or too large for " \
                          "the address space") \
    CODE(CPOOL_EROUNDS, \
         "magazine_rounds is above capacity or 65535, or too few for max_capacity") \
    CODE(CPOOL_ECACHES, "thread_caches is above 65535") \
    CODE(CPOOL_EFLAGS, "a flag is unknown, or refused here") \
    CODE(CPOOL_EMEMORY, "memory is missing, or not aligned to 64 bytes (CPOOL_MEMORY_ALIGN)") \
    CODE(CPOOL_EMEMSIZE, "memory_size is less than cpool_memory_required says") \
    CODE(CPOOL_ECOPIES, "another copy of the library answers for some names of this one") \
    CODE(CPOOL_ENULL, "a required pointer is NULL") \
    CODE(CPOOL_EPOOL, \
         "not a pool: NULL, never created, destroyed, or made by another copy of the library") \
    CODE(CPOOL_EFOREIGN, "the address lies outside the pool") \
    CODE(CPOOL_EMISALIGNED, "the address lies inside a slot, not at its start") \
    CODE(CPOOL_EUNUSED, "the slot has never been handed out") \
    CODE(CPOOL_EDOUBLEFREE, "the slot is free already") \
    CODE(CPOOL_EGUARD, "bytes around the slot were overwritten") \
    CODE(CPOOL_ELIVE, "slots were still live") \
    CODE(CPOOL_EOPEN, "it is open already") \
    CODE(CPOOL_EINACTIVE, "the object is not active") \
    CODE(CPOOL_EHOOK, "a hook of the pool's type was left without returning") \
    CODE(CPOOL_EREADER, "a reader is inside a section") \
    CODE(CPOOL_ESTALLED, "a reader stays inside a section, and retired slots are held back") \
    CODE(CPOOL_ERETIRED, "the slot is retired already") \
    CODE(CPOOL_EFRAME, "not an open frame, or a frame of another pool") \
    CODE(CPOOL_EFRAMED, "the slot goes back with its frame") \
    CODE(CPOOL_EKIND, \
         "the pool was created without CPOOL_TRACKED or, to wait, CPOOL_OBJECT_WAITABLE") \
    CODE(CPOOL_ETRAP, "a slot was used after its free, or beyond one of its ends") \
    CODE(CPOOL_ENOMEM, "the operating system refused memory, or another resource") \
    CODE(CPOOL_ELIMIT, "no more pools, caches, frames or readers can exist") \
    CODE(CPOOL_EDRY, "fewer slots are free than were asked for") \
    CODE(CPOOL_EHELD, "readers hold back as many slots as they may")

/* The codes, and their texts in one array, so that no pointer needs a relocation. */
#define CPI_CODE_NUMBER(code, text) code,
#define CPI_CODE_TEXT(code, text) text "\0"
static const short code_numbers[] = {CPI_CODES(CPI_CODE_NUMBER)};
static const char code_texts[] = CPI_CODES(CPI_CODE_TEXT);

CPI_COLD const char *cpool_strerror(int code)
{
    const char *text = code_texts;

    for (size_t i = 0; i < sizeof code_numbers / sizeof code_numbers[0]; i++) {
        if (code_numbers[i] == code)
            return text;
        text += strlen(text) + 1;
    }
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

#if defined(CPI_DEBUG) || defined(CPI_ATOMIC_HEADER) /* also for tests that link explored sources */
CPI_COLD void cpi_assert_failed(const char *claim, const char *file, int line)
{
    cpi_tell("%s:%d: untrue: %s", file, line, claim);
    abort();
}
#endif

CPI_COLD void cpi_text_init(struct cpi_text *text, char *buffer, size_t size)
{
    *text = (struct cpi_text){buffer, size, 0};
    buffer[0] = '\0';
}

CPI_COLD void cpi_text_add(struct cpi_text *text, const char *format, ...)
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

    for (; name != NULL && name[i] != '\0' && i + 1 < size; i++) {
        bool is_plain = name[i] >= ' ' && name[i] <= '~' && name[i] != '"' && name[i] != '\\';

        copy[i] = is_plain ? name[i] : '?';
    }
    copy[i] = '\0';
}
