/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * retire_sections.c - a thread reads a list of one node in two sections.  Meanwhile another one
 * replaces the node twice, retires each and gives back those that it may.  A slot that is free
 * again is used again.
 *
 * Holds: nobody writes to a slot that a section reads, and all slots go back in the end.
 */
#define MODEL_COINS 1
#include "barrier.h"
#include "model.h"

#include "retire/retire.c"
#include "retire/retire_inline.c"

enum { NODES = 3, ROUNDS = 2 };

static _Alignas(CPI_LINE) char memory[1 << 14];
static cpool_reader_t *readers[2];
static int nodes[NODES]; /* plain: a section reads them */
static bool is_free[NODES];
static _Atomic(int *) list;

bool cpi_mark_has_barrier;

void cpi_os_barrier(void)
{
    model_barrier();
}

void *cpi_os_map_at(uintptr_t wish, size_t size)
{
    assert(wish == 0 && size <= sizeof memory);
    return memory;
}

size_t cpi_os_page_size(void)
{
    return CPI_LINE;
}

void cpool_free_bulk(cpool_t *pool, void *const *slots, size_t n)
{
    size_t i;

    (void)pool;
    for (i = 0; i < n; i++) {
        int *node = slots[i];

        assert(node >= nodes && node < nodes + NODES && !is_free[node - nodes]);
        is_free[node - nodes] = true;
        *node = -1;
    }
}

bool cpi_registry_startup(void)
{
    return true;
}

unsigned cpi_thread_forks(void)
{
    return 0;
}

/* Not called here. */
void cpi_os_back_off(unsigned times)
{
    (void)times;
    assert(0);
}

void cpi_os_release(void *memory_of_old, size_t size)
{
    (void)memory_of_old, (void)size;
    assert(0);
}

void cpi_report(cpool_error_t *error, const char *format, ...)
{
    (void)error, (void)format;
    assert(0);
}

const char *cpool_strerror(int code)
{
    (void)code;
    return "";
}

static int *take(void)
{
    int i;

    for (i = 0; i < NODES; i++)
        if (is_free[i]) {
            is_free[i] = false;
            return &nodes[i];
        }
    return NULL;
}

static void *reader(void *number)
{
    int round;

    model_begin(number);
    for (round = 0; round < ROUNDS; round++) {
        int *node;

        cpool_read_begin(readers[0]);
        node = cpi_load(&list, acquire);
        if (node != NULL)
            assert(*node > 0);
        cpool_read_end(readers[0]);
    }
    model_barrier_end();
    return NULL;
}

static void *writer(void *number)
{
    int round;

    model_begin(number);
    for (round = 0; round < ROUNDS; round++) {
        int *old = cpi_load(&list, relaxed);
        int *node = take();

        if (node != NULL)
            *node = 2 + round;
        cpi_store(&list, node, release);
        if (cpool_retire(readers[1], NULL, old) == 0)
            (void)cpool_retire_flush(readers[1]);
    }
    return NULL;
}

int main(void)
{
    static model_thread *const bodies[] = {reader, writer};
    cpool_domain_t *domain;
    int i;

#if !defined(MODEL_SYMMETRIC)
    cpi_mark_has_barrier = true;
#endif
    for (i = 0; i < NODES; i++)
        is_free[i] = true;
    assert(cpool_domain_create(&domain, 2, CPI_BAGS) == 0);
    readers[0] = cpool_reader_create(domain);
    readers[1] = cpool_reader_create(domain);
    assert(readers[0] != NULL && readers[1] != NULL);
    cpi_store(&list, take(), relaxed);
    *cpi_load(&list, relaxed) = 1;
    model_run(2, bodies);
    assert(cpool_retire_flush(readers[1]) == 0 && cpool_domain_held(domain) == 0);
    return 0;
}
