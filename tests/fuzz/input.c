/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * input.c - the bytes of a run, failures, and the reports that the library makes.
 */
#include "fuzz.h"

#include <stdio.h>
#include <stdlib.h>

static const uint8_t *next;
static const uint8_t *end;

static size_t reports;
static int reported; /* the code of the first one */
static bool mixed;   /* there were others */

static void note(const cpool_error_t *error, void *context)
{
    (void)context;
    FUZZ_REQUIRE(error->code < 0 && error->text[0] != '\0' && error->function[0] != '\0');
    if (reports == 0)
        reported = error->code;
    else if (reported != error->code)
        mixed = true;
    reports++;
    fuzz_trace(error->text, 0);
}

void input_begin(const uint8_t *bytes, size_t size)
{
    next = bytes;
    end = bytes + size;
    cpool_set_error_handler((cpool_error_handler_t){ note, NULL });
    reports_begin();
}

bool input_left(void)
{
    return next < end;
}

unsigned input_byte(void)
{
    return next < end ? *next++ : 0;
}

size_t input_below(size_t bound)
{
    return input_byte() % bound;
}

size_t input_number(size_t bound)
{
    unsigned high = input_byte();

    return (high << 8 | input_byte()) % bound;
}

void reports_begin(void)
{
    reports = 0;
    mixed = false;
}

size_t reports_with(int code)
{
    size_t n = reports;

    if (n > 0 && (mixed || reported != code)) {
        fprintf(stderr, "fuzz: %s was reported, not %s\n", cpool_strerror(reported),
                cpool_strerror(code));
        fuzz_fail(__FILE__, __LINE__, "the code of the report");
    }
    reports_begin();
    return n;
}

_Noreturn void fuzz_fail(const char *file, int line, const char *what)
{
    fprintf(stderr, "%s:%d: violated: %s\n", file, line, what);
    abort();
}

void fuzz_equal(long long a, long long b, const char *file, int line, const char *what)
{
    if (a == b)
        return;
    fprintf(stderr, "%s:%d: violated: %s: %lld and %lld\n", file, line, what, a, b);
    abort();
}

void fuzz_trace(const char *what, size_t number)
{
    static int traces = -1;

    if (traces < 0)
        traces = getenv("FUZZ_TRACE") != NULL;
    if (traces)
        fprintf(stderr, "  %s %zu\n", what, number);
}
