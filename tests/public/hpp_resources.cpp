// SPDX-License-Identifier: BSD-2-Clause
/*
 * hpp_resources.cpp - <cpool/cpool.hpp>: memory resources.  A part of check_hpp.
 */
#include "hpp.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

void check_resources();

#if !CPOOL_HAS_PMR_

void check_resources()
{
}

#else

namespace {

// Counts its blocks, and refuses when told to.
struct counting_resource : std::pmr::memory_resource {
    std::size_t live = 0;
    bool refuses = false;

    void *do_allocate(std::size_t bytes, std::size_t align) override
    {
#if THROWS
        if (refuses)
            throw std::bad_alloc();
#endif
        live++;
        return std::pmr::new_delete_resource()->allocate(bytes, align);
    }
    void do_deallocate(void *block, std::size_t bytes, std::size_t align) override
    {
        live--;
        std::pmr::new_delete_resource()->deallocate(block, bytes, align);
    }
    bool do_is_equal(const memory_resource &other) const noexcept override
    {
        return this == &other;
    }
};

void pool_resources_hand_the_rest_upstream()
{
    counting_resource upstream;
    cpool::pool_resource resource(64, 16, 10, &upstream);
    std::vector<void *> held;

    REQUIRE(resource.upstream_resource() == &upstream);
    void *large = resource.allocate(65, 8);
    void *aligned = resource.allocate(64, 32);
    REQUIRE(upstream.live == 2);
    resource.deallocate(large, 65, 8);
    resource.deallocate(aligned, 64, 32);
    for (int i = 0; i < 10; i++)
        held.push_back(resource.allocate(64, 16));
    REQUIRE(upstream.live == 0 && live(resource.native_handle()) == 10);
    while (upstream.live == 0)
        held.push_back(resource.allocate(64, 16));
    REQUIRE(live(resource.native_handle()) >= 10 && held.size() < 100000);
    for (void *block : held)
        resource.deallocate(block, 64, 16);
    REQUIRE(upstream.live == 0 && live(resource.native_handle()) == 0);
    REQUIRE(resource.is_equal(resource) && !resource.is_equal(upstream));
}

#if THROWS
/* The standard library's resource rounds the size up to a multiple of the alignment. */
void sized_resources_refuse_what_no_object_has()
{
    cpool::sized_resource resource(std::pmr::new_delete_resource());
    cpool_sized_config_t config = small_blocks();
    volatile std::size_t none = 0; // compilers refuse sizes that they see

    for (std::size_t less = 1; less < 200; less++)
        try {
            (void)resource.allocate(none - less, 64);
            REQUIRE(false);
        } catch (const std::bad_alloc &) {
        }
    config.flags = CPOOL_SIZED_BOUNDED;
    try {
        cpool::sized_resource bounded(config);
        REQUIRE(false);
    } catch (const cpool::error &error) {
        REQUIRE(error.code() == CPOOL_EFLAGS);
    }
    try {
        cpool::pool_resource unaligned(64, 0, 10);
        REQUIRE(false);
    } catch (const cpool::error &error) {
        REQUIRE(error.code() == CPOOL_EALIGN);
    }
}
#endif

void sized_resources_serve_all_sizes()
{
    counting_resource upstream;
    cpool::sized_resource resource(small_blocks(), &upstream);

    {
        std::pmr::map<int, std::pmr::string> names(&resource);

        for (int i = 0; i < 1000; i++)
            names[i] = std::pmr::string(static_cast<std::size_t>(i), 'x', &resource);
        REQUIRE(upstream.live == 0 && live(resource.native_handle()) >= 1900);
        void *large = resource.allocate(100000, 64);
        REQUIRE(upstream.live == 1 && reinterpret_cast<std::uintptr_t>(large) % 64 == 0);
        resource.deallocate(large, 100000, 64);
    }
    REQUIRE(upstream.live == 0 && live(resource.native_handle()) == 0);
#if THROWS
    upstream.refuses = true;
    try {
        (void)resource.allocate(100000);
        REQUIRE(false);
    } catch (const std::bad_alloc &) {
    }
    sized_resources_refuse_what_no_object_has();
#endif
    cpool::sized_resource plain;
    plain.deallocate(plain.allocate(10), 10);
}

} // namespace

void check_resources()
{
    pool_resources_hand_the_rest_upstream();
    sized_resources_serve_all_sizes();
}

#endif
