/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_slotmap.c - the words of slots (lib/track/words.h), alone.
 *
 * Compiled a second time with generations of two bits, which come round.
 */
#include "support.h"

#include "track/words.h"

enum { SLOTS = 100 };

static struct cpi_slab slab;
static struct cpi_slotmap map;

static void make_map(uintptr_t slots)
{
    size_t size = SLOTS * CPI_SLOTMAP_SIZE;

    slab.slots = slots;
    slab.sides[CPI_SIDE_WORDS].size = CPI_SLOTMAP_SIZE;
    cpi_extent_init(&slab.sides[CPI_SIDE_WORDS].extent, support_lines(size), size, 1, size);
    cpi_slotmap_init(&map, &slab);
}

static uint64_t word_of(uintptr_t index)
{
    return atomic_load_explicit(&map.words[index], memory_order_relaxed);
}

TEST(take_and_give_alternate)
{
    make_map(SLOTS);
    for (uintptr_t i = 0; i < SLOTS; i++) {
        REQUIRE(cpi_slotmap_state(&map, i) == CPOOL_EUNUSED);
        REQUIRE(cpi_slotmap_give(&map, i) == CPOOL_EUNUSED);
        REQUIRE(word_of(i) == 0);
        for (int round = 0; round < 10; round++) {
            REQUIRE(cpi_slotmap_take(&map, i));
            REQUIRE(!cpi_slotmap_take(&map, i));
            REQUIRE(cpi_slotmap_state(&map, i) == 0);
            REQUIRE(cpi_slotmap_give(&map, i) == 0);
            REQUIRE(cpi_slotmap_state(&map, i) == CPOOL_EDOUBLEFREE);
            REQUIRE(cpi_slotmap_give(&map, i) == CPOOL_EDOUBLEFREE);
        }
    }
}

/* The longer way takes the mark off, too, which otherwise the next owner would find. */
TEST(give_live_leaves_a_retired_slot_to_give)
{
    make_map(SLOTS);
    REQUIRE(cpi_slotmap_take(&map, 0));
    REQUIRE_EQUAL(cpi_slotmap_step(&map, 0, CPOOL_CLIENT_OUT), 0);
    REQUIRE_EQUAL(cpi_slotmap_step(&map, 0, CPOOL_CLIENT_BACK), 0);
    REQUIRE(!cpi_slotmap_give_live(&map, 0));
    REQUIRE(cpi_slotmap_give(&map, 0) == 0);
    REQUIRE(cpi_slotmap_take(&map, 0));
}

TEST(clear_makes_free)
{
    uint64_t before;

    make_map(SLOTS);
    REQUIRE(cpi_slotmap_take(&map, 3));
    before = word_of(3);
    cpi_slotmap_clear(&map, 3);
    cpi_slotmap_clear(&map, 3);
    cpi_slotmap_clear(&map, 4);
    REQUIRE(cpi_slotmap_state(&map, 3) == CPOOL_EDOUBLEFREE);
    REQUIRE(cpi_slotmap_state(&map, 4) == CPOOL_EUNUSED);
    REQUIRE(cpi_slotmap_take(&map, 3));
    REQUIRE(word_of(3) != before);
}

/* The words of one slot differ from those of all others, and from its own of before,
 * until the generation comes round. */
TEST_TIMES(words_of_live_slots_are_unique, 6)
{
    static const uintptr_t sizes[] = { 1, 2, 3, 64, 65, UINT32_MAX };
    uintptr_t slots = sizes[_i];

    make_map(slots);
    for (uintptr_t i = 0; i < slots && i < SLOTS; i++) {
        uint64_t words[3];

        for (int round = 0; round < 3; round++) {
            REQUIRE(cpi_slotmap_take(&map, i));
            words[round] = word_of(i);
            REQUIRE(((words[round] & (map.step - 1)) >> CPI_SLOTMAP_INDEX) == i);
            REQUIRE(cpi_slotmap_give(&map, i) == 0);
        }
        REQUIRE(words[0] != words[1] && words[1] != words[2] && words[0] != words[2]);
    }
}

TEST(index_has_the_bits_it_needs)
{
    static const struct {
        uintptr_t slots;
        unsigned shift;
    } sizes[] = {
        { 1, 2 }, { 2, 3 }, { 3, 4 }, { 4, 4 }, { 5, 5 }, { 1u << 20, 22 },
        { (1u << 20) + 1, 23 }, { UINT32_MAX, 34 },
    };

    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        unsigned least = 64 - CPI_GENERATION_BITS;

        make_map(sizes[i].slots);
        REQUIRE(map.step == (uint64_t)1 << (sizes[i].shift > least ? sizes[i].shift : least));
    }
}

/* The last generation is followed by the second one: a word is never 0 again. */
TEST(generations_come_round)
{
    uint64_t generations = UINT64_MAX / ((uint64_t)1 << (64 - CPI_GENERATION_BITS)) + 1;
    uint64_t second;

    make_map(SLOTS);
    REQUIRE(cpi_slotmap_take(&map, 0));
    REQUIRE(cpi_slotmap_give(&map, 0) == 0);
    second = word_of(0);
    if (generations > 4) /* too many to see them all */
        atomic_store_explicit(&map.words[0], 0 - map.step, memory_order_relaxed);
    else
        for (uint64_t i = 2; i < generations; i++) {
            REQUIRE(cpi_slotmap_take(&map, 0));
            REQUIRE(cpi_slotmap_give(&map, 0) == 0);
            REQUIRE(word_of(0) != second);
        }
    REQUIRE(cpi_slotmap_take(&map, 0));
    REQUIRE(word_of(0) == ((0 - map.step) | CPI_SLOTMAP_LIVE));
    REQUIRE(cpi_slotmap_give(&map, 0) == 0);
    REQUIRE(word_of(0) == second);
    REQUIRE(cpi_slotmap_give(&map, 0) == CPOOL_EDOUBLEFREE);
}
