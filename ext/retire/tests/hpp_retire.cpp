// SPDX-License-Identifier: BSD-2-Clause
/*
 * hpp_retire.cpp - <cpool/cpool.hpp>: sections and retired objects.  A part of check_hpp.
 */
#include "../../../tests/public/hpp.h"

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>
#include <type_traits>
#include <utility>

void check_retire();

namespace {

struct entry {
    entry(int k, int v) noexcept : key(k), value(v) {}
    int key, value;
};

using retired = std::unique_ptr<entry, cpool::retire_deleter<entry>>;

static_assert(!std::is_copy_constructible<cpool::read_section>::value &&
                  !std::is_move_constructible<cpool::read_section>::value &&
                  !std::is_copy_assignable<cpool::read_section>::value,
              "a section has one end");
static_assert(!std::is_copy_constructible<cpool::domain>::value, "a domain has one owner");

std::size_t live(const cpool::pool<entry> &entries)
{
    return entries.stats().live;
}

retired own(const cpool::domain &domain, cpool::pool<entry> &entries, int key)
{
    return retired(entries.create(key, 10 * key), cpool::retire_deleter<entry>(domain, entries));
}

// The object stays until the outer one of two sections has ended.
void sections_keep_retired_objects()
{
    cpool::pool<entry> entries(100);
    cpool::domain domain(2, 8);
    cpool_reader_t *other = domain.create_reader(CPOOL_READER_UNOWNED);
    retired one = own(domain, entries, 7);
    const entry *seen = one.get();

    REQUIRE(other != nullptr && domain.create_reader() != other);
    {
        cpool::read_section outer(other);
        {
            cpool::read_section inner(other);
            one.reset();
        }
        REQUIRE(cpool_retire_flush(domain.create_reader(), 0) == 1 && domain.stats().held == 1);
        REQUIRE(live(entries) == 1 && seen->key == 7 && seen->value == 70);
    }
    REQUIRE(cpool_retire_flush(domain.create_reader(), 0) == 0 && domain.stats().held == 0);
    cpool_reader_destroy(other);
    REQUIRE(live(entries) == 0);
}

// More than may be held back, by threads that end.
void owners_retire_in_any_thread()
{
    cpool::pool<entry> entries(1000);
    cpool::domain domain(4, 8);

    for (int i = 0; i < 3; i++) {
        retired moved = own(domain, entries, i);

        std::thread([&](retired taken) {
            REQUIRE(taken->value == 10 * i);
            taken.reset();
            for (int k = 0; k < 100; k++)
                own(domain, entries, k);
        }, std::move(moved)).join();
    }
    REQUIRE(cpool_retire_flush(domain.create_reader(), CPOOL_FLUSH_WAIT) == 0);
    REQUIRE(domain.stats().held == 0 && live(entries) == 0);
}

// A deleter that would wait for its own section reports it, and the slot stays live.
void deleters_do_not_wait_for_themselves()
{
    cpool::pool<entry> entries(100);
    cpool::domain domain(1, 4);
    entry *more = entries.create(5, 50);
    int code = 0;

    {
        cpool::read_section section(domain);

        for (int k = 0; k < 4; k++)
            own(domain, entries, k);
        REQUIRE(domain.stats().held == 4);
        cpool_set_error_handler({[](const cpool_error_t *error, void *context) {
            *static_cast<int *>(context) = error->code;
        }, &code});
        retired(more, cpool::retire_deleter<entry>(domain, entries)).reset();
        cpool_set_error_handler({nullptr, nullptr});
        REQUIRE(code == CPOOL_EREADER && domain.stats().held == 4 && live(entries) == 5);
    }
    REQUIRE(cpool_retire_flush(domain.create_reader(), CPOOL_FLUSH_WAIT) == 0);
    REQUIRE(live(entries) == 1);
    entries.destroy(more);
}

void domains_move()
{
    cpool::domain first(2, 8);
    cpool::domain second(std::move(first));
    cpool::domain third;

    REQUIRE(!first.is_open() && second.is_open() && !third.is_open());
    REQUIRE(second.open(2, 8) == CPOOL_EOPEN && third.open(0, 8) == CPOOL_ECAPACITY);
    third = std::move(second);
    REQUIRE(third.is_open() && !second.is_open() && third.create_reader() != nullptr);
    REQUIRE(second.create_reader() == nullptr && second.stats().held == 0);
    cpool_set_error_handler({[](const cpool_error_t *, void *) {}, nullptr});
    {
        cpool::read_section section(third);

        REQUIRE(third.close() == CPOOL_EREADER && third.is_open());
    }
    cpool_set_error_handler({nullptr, nullptr});
    REQUIRE(third.close() == 0 && third.close() == 0);
}

// What the bags have no room for goes in once another thread's section has ended.
void deleters_try_again_when_readers_are_slow()
{
    cpool::pool<entry> entries(100);
    cpool::domain domain(2, 4);
    cpool_reader_t *other = domain.create_reader(CPOOL_READER_UNOWNED);
    std::atomic<bool> retires(false);

    cpool_read_begin(other);
    for (int k = 0; k < 4; k++)
        own(domain, entries, k);
    REQUIRE(domain.stats().held == 4);
    std::thread ender([&] {
        while (!retires)
            std::this_thread::yield();
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
        cpool_read_end(other);
    });
    retired last = own(domain, entries, 4);
    retires = true;
    last.reset();
    ender.join();
    REQUIRE(cpool_retire_flush(domain.create_reader(), CPOOL_FLUSH_WAIT) == 0);
    REQUIRE(live(entries) == 0);
}

} // namespace

void check_retire()
{
    sections_keep_retired_objects();
    owners_retire_in_any_thread();
    deleters_do_not_wait_for_themselves();
    domains_move();
    deleters_try_again_when_readers_are_slow();
}
