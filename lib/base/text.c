/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * text.c - text that is put together piece by piece in a buffer.
 */
#include "base/text.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* Bytes of the longest character. */
#define CPI_UTF8_MAX 4u

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

/* Where to cut a text that has more than `most` bytes. */
static size_t cut_of(const char *text, size_t most)
{
    size_t back = 0;

    while (back <= CPI_UTF8_MAX - 1 && ((unsigned char)text[most - back] & 0xc0) == 0x80)
        back++;
    return back < CPI_UTF8_MAX ? most - back : most;
}

void cpi_text_copy(char *copy, size_t size, const char *text)
{
    size_t length = text == NULL ? 0 : strlen(text);

    CPI_ASSERT(size > CPI_UTF8_MAX);
    if (length > size - 1)
        length = cut_of(text, size - 1);
    if (length > 0)
        memcpy(copy, text, length);
    copy[length] = '\0';
}

/*
 * The second byte tells characters from overlong forms, surrogates, and values beyond the
 * last one (Unicode, table 3-7).
 */
size_t cpi_text_character(const char *text)
{
    const unsigned char *c = (const unsigned char *)text;
    unsigned char low = c[0] == 0xe0 ? 0xa0 : c[0] == 0xf0 ? 0x90 : 0x80;
    unsigned char high = c[0] == 0xed ? 0x9f : c[0] == 0xf4 ? 0x8f : 0xbf;
    size_t length = c[0] < 0xe0 ? 2 : c[0] < 0xf0 ? 3 : 4;
    size_t i;

    if (c[0] < 0x80)
        return 1;
    if (c[0] < 0xc2 || c[0] > 0xf4 || c[1] < low || c[1] > high)
        return 0;
    for (i = 2; i < length; i++)
        if ((c[i] & 0xc0) != 0x80)
            return 0;
    return length;
}

/* A C0 control, DEL, or a C1 control, which takes two bytes. */
static bool is_control(const char *text)
{
    const unsigned char *c = (const unsigned char *)text;

    return c[0] < 0x20 || c[0] == 0x7f || (c[0] == 0xc2 && c[1] < 0xa0);
}

const char *cpi_text_show(char shown[CPI_SHOWN_SIZE], const char *name)
{
    struct cpi_text text;
    bool escaped;
    size_t length;

    cpi_text_init(&text, shown, CPI_SHOWN_SIZE);
    for (; *name != '\0'; name += length) {
        length = cpi_text_character(name);
        escaped = length == 0 || is_control(name);
        length = length == 0 ? 1 : length;
        for (size_t i = 0; escaped && i < length; i++)
            cpi_text_add(&text, "\\x%02x", (unsigned)(unsigned char)name[i]);
        if (!escaped)
            cpi_text_add(&text, "%.*s", (int)length, name);
    }
    return shown;
}
