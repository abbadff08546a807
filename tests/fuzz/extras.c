/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * extras.c - explicit caches.
 */
#include "fuzz.h"

static void use_cache(struct model *model)
{
    cpool_cache_t **cache = &model->caches[input_below(CACHES)];
    int code;

    if (*cache == NULL) {
        code = cpool_cache_create(cache, model->pool);
        FUZZ_REQUIRE(code == 0 || code == CPOOL_ENOMEM);
        FUZZ_EQUAL(*cache != NULL, code == 0);
        FUZZ_REQUIRE(code == 0 || model->config.thread_caches != 0 ||
                     model->config.memory != NULL);
    } else {
        cpool_cache_destroy(*cache);
        *cache = NULL;
    }
    cpool_cache_destroy(NULL);
}

void extra_any(struct model *model)
{
    fuzz_trace("extra", 0);
    use_cache(model);
    REPORTS_EQUAL(0, 0);
}
