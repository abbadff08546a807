/* SPDX-License-Identifier: BSD-2-Clause */
/* part.c - an SDK or a plug-in of a user's that has libcpool inside.  PART(name): its names. */
#include <cpool.h>

struct row {
    struct row *next;
    unsigned number;
};

/* Another pool in each part. */
#define rows_typed_ PART(rows_typed_)
#define rows_entry_ PART(rows_entry_)
#define rows_none_ PART(rows_none_)
CPOOL_DECLARE(rows, struct row);
CPOOL_DEFINE(rows, struct row, .capacity = 1000);

__attribute__((__visibility__("default"))) unsigned PART(work)(void);
__attribute__((__visibility__("default"))) int PART(close)(void);

static cpool_t *cells;

/* One slot after another of both pools, and back again.  Returns how many slots were right. */
unsigned PART(work)(void)
{
    cpool_config_t config = CPOOL_CONFIG_INIT;
    struct row *all = NULL;
    unsigned right = 0;

    config.slot_size = sizeof(struct row);
    config.capacity = 1000;
    if (cells == NULL && cpool_create(&cells, &config) != 0)
        return 0;
    for (unsigned i = 0; i < 200; i++) {
        struct row *row = i % 2 == 0 ? rows_alloc() : (struct row *)cpool_alloc(cells);
        if (row == NULL)
            return 0;
        row->number = i;
        row->next = all;
        all = row;
    }
    for (unsigned i = 200; i-- > 0;) {
        struct row *row = all;
        all = row->next;
        cpool_t *pool = i % 2 == 0 ? rows_pool() : cells;
        right += row->number == i && cpool_of(row, NULL) == pool &&
                 cpool_at(pool, cpool_index(pool, row)) == row;
        if (i % 2 == 0)
            rows_free(row);
        else
            cpool_free(cells, row);
    }
    return right;
}

int PART(close)(void)
{
    int code = cells != NULL ? cpool_destroy(cells) : 0;

    cells = NULL;
    return code != 0 ? code : rows_close();
}
