/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * absent.h - functions that no thread of a model of pools comes to: those of
 * figures and reports.
 *
 * Included by pool.h.
 */
#ifndef MODEL_ABSENT_H
#define MODEL_ABSENT_H

/* A function with these parameters that returns a value of this type. */
#define MODEL_ABSENT(type, name, ...)                                                  \
    type name(__VA_ARGS__)                                                             \
    {                                                                                  \
        abort();                                                                       \
    }

MODEL_ABSENT(void, cpi_pool_report_address, int code, const char *function,
             const struct cpi_pool *pool, const void *address, uintptr_t index)
MODEL_ABSENT(void, cpi_pool_report, int code, const char *function, const struct cpi_pool *pool)
MODEL_ABSENT(void, cpi_pool_report_slot, int code, const char *function,
             const struct cpi_pool *pool, uintptr_t index)
MODEL_ABSENT(void, cpi_pool_count_at_exchange, struct cpi_pool *pool, struct cpi_cache *cache)

#endif /* MODEL_ABSENT_H */
