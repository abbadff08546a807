/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * absent.h - functions that no thread of a model with caches comes to: those of threads with
 * tables, of figures and reports, and of a refused barrier.
 *
 * Included by caches.h and pool.h.
 */
#ifndef MODEL_ABSENT_H
#define MODEL_ABSENT_H

/* A function with these parameters that returns a value of this type. */
#define MODEL_ABSENT(type, name, ...)                                                  \
    type name(__VA_ARGS__)                                                             \
    {                                                                                  \
        abort();                                                                       \
    }

MODEL_ABSENT(void, cpi_guard_bumped, const struct cpi_slab *slab, uintptr_t first, uintptr_t n)
MODEL_ABSENT(bool, cpi_lock_is_held, void)
MODEL_ABSENT(bool, cpi_thread_may_ask, void)
MODEL_ABSENT(void, cpi_thread_pause_asking, void)
MODEL_ABSENT(struct cpi_thread *, cpi_thread_self, void)
MODEL_ABSENT(void, cpi_tell, const char *format, ...)

#endif /* MODEL_ABSENT_H */
