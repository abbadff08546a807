/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_bits.c - arithmetic on sizes and addresses (lib/base/bits.h).
 */
#include "support.h"

#include "base/bits.h"

/* Numbers at which something could change. */
static const size_t numbers[] = { 0, 1, 2, 3, 4, 5, 7, 8, 63, 64, 65, 4095, 4096, 4097,
                                  UINT32_MAX, (size_t)UINT32_MAX + 1, SIZE_MAX / 2,
                                  SIZE_MAX / 2 + 1, SIZE_MAX - 1, SIZE_MAX };

#define NUMBERS (sizeof(numbers) / sizeof(numbers[0]))

TEST(is_power_of_two_counts_bits)
{
    for (size_t i = 0; i < NUMBERS; i++) {
        int bits = 0;

        for (size_t n = numbers[i]; n != 0; n >>= 1)
            bits += (int)(n & 1);
        REQUIRE(cpi_is_power_of_two(numbers[i]) == (bits == 1));
    }
    for (unsigned log = 0; log < sizeof(size_t) * 8; log++) {
        REQUIRE(cpi_is_power_of_two((size_t)1 << log));
        REQUIRE_EQUAL(cpi_log2((size_t)1 << log), log);
    }
}

TEST(align_agrees_with_division)
{
    for (size_t align = 1; align <= 4096; align *= 2)
        for (size_t n = 0; n < 10000; n++) {
            REQUIRE(cpi_align_down(n, align) == n / align * align);
            REQUIRE(cpi_align_up(n, align) == (n + align - 1) / align * align);
        }
}

TEST(align_up_checked_beyond_range_refused)
{
    size_t result = 4711;

    REQUIRE(cpi_align_up_checked(SIZE_MAX, 1, &result));
    REQUIRE(result == SIZE_MAX);
    REQUIRE(cpi_align_up_checked(SIZE_MAX - 4095, 4096, &result));
    REQUIRE(result == SIZE_MAX - 4095);
    REQUIRE(!cpi_align_up_checked(SIZE_MAX - 4094, 4096, &result));
    REQUIRE(!cpi_align_up_checked(SIZE_MAX, 2, &result));
    REQUIRE(result == SIZE_MAX - 4095);
    REQUIRE(cpi_align_up_checked(0, 4096, &result));
    REQUIRE_EQUAL(result, 0);
}

TEST(add_beyond_range_refused)
{
    for (size_t i = 0; i < NUMBERS; i++)
        for (size_t j = 0; j < NUMBERS; j++) {
            size_t result = 4711;
            size_t sum = numbers[i] + numbers[j];

            REQUIRE(cpi_add(numbers[i], numbers[j], &result) == (sum >= numbers[i]));
            REQUIRE(result == (sum >= numbers[i] ? sum : 4711));
        }
}

TEST(multiply_beyond_range_refused)
{
    for (size_t i = 0; i < NUMBERS; i++)
        for (size_t j = 0; j < NUMBERS; j++) {
            size_t a = numbers[i];
            size_t b = numbers[j];
            size_t result = 4711;
            size_t product = a * b;
            bool fits = a == 0 || product / a == b;

            REQUIRE(cpi_multiply(a, b, &result) == fits);
            REQUIRE(result == (fits ? product : 4711));
        }
}

TEST(lowest_bit_divides)
{
    for (size_t n = 1; n < 100000; n++) {
        size_t bit = cpi_lowest_bit(n);

        REQUIRE(cpi_is_power_of_two(bit));
        REQUIRE(n % bit == 0);
        REQUIRE(n / bit % 2 == 1);
    }
    REQUIRE(cpi_lowest_bit(SIZE_MAX / 2 + 1) == SIZE_MAX / 2 + 1);
}

TEST(inverse_of_every_odd_number_multiplies_to_one)
{
    uint64_t state = 0x853C49E6748FEA9Bu;

    for (uintptr_t odd = 1; odd < 1000000; odd += 2)
        REQUIRE(odd * cpi_inverse(odd) == 1);
    for (int i = 0; i < 1000000; i++) {
        uintptr_t odd = (uintptr_t)random_next(&state) | 1;

        REQUIRE(odd * cpi_inverse(odd) == 1);
    }
    REQUIRE(cpi_inverse(UINTPTR_MAX) == UINTPTR_MAX);
}

/* Against the same done bit by bit. */
TEST(bitmap_finds_what_a_walk_finds)
{
    uint64_t state = 0x2545F4914F6CDD1Du;

    for (int round = 0; round < 200; round++) {
        uint64_t bitmap[4] = {0};
        uintptr_t n;

        for (int i = 0; i < round; i++)
            cpi_bitmap_set(bitmap, (uintptr_t)(random_next(&state) % 256));
        for (uintptr_t above = 0; above <= 256; above++)
            for (int set = 0; set < 2; set++) {
                for (n = above; n > 0 && cpi_bitmap_is_set(bitmap, n - 1) != (set != 0); n--)
                    ;
                REQUIRE_EQUAL(cpi_bitmap_find_down(bitmap, above, set != 0), n);
            }
    }
}
