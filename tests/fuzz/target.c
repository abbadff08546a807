/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * target.c - from bytes to calls: the function that a fuzzer calls.
 */
#include "fuzz.h"

#include <pthread.h>

static void step(bool may_start);

static void *run(void *arg)
{
    for (size_t steps = *(const size_t *)arg; steps > 0 && input_left(); steps--)
        step(false);
    return NULL;
}

/* The next steps in a thread of its own, which ends then. */
static void step_elsewhere(void)
{
    size_t steps = 1 + input_below(20);
    pthread_t thread;

    fuzz_trace("thread, steps", steps);
    FUZZ_EQUAL(pthread_create(&thread, NULL, run, &steps), 0);
    FUZZ_EQUAL(pthread_join(thread, NULL), 0);
}

static void step(bool may_start)
{
    struct model *model = &models[input_below(POOLS)];
    size_t what;

    if (model->pool == NULL) {
        if (input_below(6) == 0)
            create_wrong();
        else
            create_any(model);
        return;
    }
    what = input_below(32);
    fuzz_trace("in pool", (size_t)(model - models));
    if (what == 0)
        destroy_any(model, input_below(4) != 0);
    else if (what == 1 && may_start)
        step_elsewhere();
    else if (what < 4)
        objects_any();
    else if (what == 31)
        blocks_any();
    else if (what == 30)
        ranks_any();
    else if (what < 8)
        wrong_any(model);
    else if (what < 14)
        extra_any(model);
    else
        call_any(model);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    input_begin(bytes, size);
    destroyed = NULL;
    while (input_left())
        step(true);
    for (size_t i = 0; i < POOLS; i++) {
        if (models[i].pool == NULL)
            continue;
        model_verify(&models[i]);
        destroy_any(&models[i], i % 2 == 0);
    }
    objects_end();
    blocks_end();
    ranks_end();
    return 0;
}
