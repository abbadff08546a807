/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * text.c - text that is put together piece by piece in a buffer.
 */
#include "base/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

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
