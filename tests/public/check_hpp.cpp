// SPDX-License-Identifier: BSD-2-Clause
/*
 * check_hpp.cpp - <cpool/cpool.hpp>: pools with owners, exceptions of constructors, allocators in
 * containers, and operators new.  Builds as C++11 to C++23, with and without exceptions and type
 * information (tests/scripts/check-cxx.sh).  Includes the public API only, and does without Check.
 */
#include "hpp.h"

#include <cstdint>
#include <cstdlib>
#include <functional>
#include <list>
#include <map>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

namespace {

int living;

// Counts itself, and refuses to be made from a negative number.
struct job {
    explicit job(int a, const std::string &b = std::string(40, 'x')) : number(a), text(b)
    {
#if THROWS
        if (a < 0)
            throw a;
#endif
        living++;
    }
    job(const job &) = delete;
    ~job() { living--; }

    int number;
    std::string text;
};

} // namespace

CPOOL_STATIC_POOL(jobs, job);
CPOOL_DEFINE(jobs, job, .capacity = 1000);

namespace {

/* --- pool and static_pool --- */

void pools_own_their_objects()
{
    cpool::pool<job> pool(100);
    cpool::pointer<cpool::pool<job>> one = pool.make(7);
    cpool::pointer<cpool::pool<job>> two;

    REQUIRE(one && one->number == 7 && one->text.size() == 40 && living == 1);
    REQUIRE(pool.stats().live == 1 && pool.stats().slot_size == sizeof(job));
    two = std::move(one);
    REQUIRE(!one && two->number == 7 && living == 1);
    two = pool.make(8, "eight");
    REQUIRE(two->text == "eight" && living == 1 && live(pool.native_handle()) == 1);
    two.reset();
    REQUIRE(living == 0 && pool.stats().live == 0);

    job *plain = pool.create(9);
    REQUIRE(plain != nullptr && cpool_owns(pool.native_handle(), plain));
    pool.destroy(plain);
    pool.destroy(nullptr);
    REQUIRE(living == 0 && pool.close() == 0);
    REQUIRE(!pool.is_open() && pool.close() == 0);
}

void dry_pools_make_nothing()
{
    cpool_config_t config = cpool::pool<job>::configuration(3);
    cpool::pool<job> pool;
    std::vector<cpool::pointer<cpool::pool<job>>> held;

    REQUIRE(pool.open(config) == 0 && pool.open(config) == CPOOL_EOPEN);
    for (int i = 0; i < 3; i++)
        held.push_back(pool.make(i));
    REQUIRE(held.back() && living == 3);
    REQUIRE(!pool.make(4) && pool.create(4) == nullptr && living == 3);
    held.clear();
    REQUIRE(living == 0 && pool.make(5));
}

// A pool that is moved from is closed, and so is the one that is replaced.  A move to
// itself changes nothing.
template <class Pool, class Settings> void moves_hand_over(const Settings &settings)
{
    Pool from(settings);
    auto handle = from.native_handle();
    Pool to(std::move(from));
    Pool other(settings);
    Pool &same = other;

    REQUIRE(to.native_handle() == handle && !from.is_open());
    other = std::move(to);
    REQUIRE(other.native_handle() == handle && !to.is_open());
    other = std::move(same);
    REQUIRE(other.native_handle() == handle);
    REQUIRE(to.open(settings) == 0);
    other = Pool();
    REQUIRE(!other.is_open() && other.close() == 0);
}

void checked_pools_end_live_objects()
{
    cpool_config_t config = cpool::pool<job>::configuration(10);

    config.flags = CPOOL_CHECKED;
    cpool::pool<job> pool(config);
    REQUIRE(pool.create(1) != nullptr && living == 1);
    REQUIRE(pool.close() == CPOOL_ELIVE && living == 0);
}

void pools_move()
{
    cpool_visit_t any = [](const cpool_view_t *, void *) { return true; };
    std::size_t before = cpool_each(any, nullptr);

    moves_hand_over<cpool::pool<job>>(cpool::pool<job>::configuration(10));
    moves_hand_over<cpool::sized>(small_blocks());
    REQUIRE(cpool_each(any, nullptr) == before);
}

void wrong_settings_are_refused()
{
    struct alignas(64) wide {
        char bytes[64];
    };
    cpool::pool<job> pool;
    cpool::pool<wide> aligned;
    cpool_config_t config = cpool::pool<job>::configuration(10);

    config.slot_size = sizeof(job) - 1;
    REQUIRE(pool.open(config) == CPOOL_ESLOTSIZE);
    config = cpool::pool<wide>::configuration(10);
    config.slot_align = 32;
    REQUIRE(aligned.open(config) == CPOOL_EALIGN);
    config.slot_align = 64;
    config.slot_offset = 8;
    REQUIRE(aligned.open(config) == CPOOL_EALIGN);
    config.slot_offset = 0;
    REQUIRE(aligned.open(config) == 0);
    REQUIRE(reinterpret_cast<std::uintptr_t>(aligned.make().get()) % 64 == 0);
#if THROWS
    try {
        cpool::pool<job> none(0);
        REQUIRE(false);
    } catch (const cpool::error &error) {
        REQUIRE(error.code() == CPOOL_ECAPACITY);
        REQUIRE(std::string(error.what()) == cpool_strerror(CPOOL_ECAPACITY));
    }
#endif
}

using all_jobs = cpool::static_pool<job, jobs_tag>;

static_assert(sizeof(cpool::pointer<all_jobs>) == sizeof(job *), "the deleter takes room");
static_assert(!std::is_copy_constructible<cpool::pool<job>>::value, "a pool has one owner");
static_assert(std::is_nothrow_move_constructible<cpool::pool<job>>::value, "moves may fail");

void work_statically()
{
    std::vector<cpool::pointer<all_jobs>> held;

    for (int i = 0; i < 100; i++)
        held.push_back(all_jobs::make(i));
    for (int i = 0; i < 100; i++)
        REQUIRE(held[static_cast<std::size_t>(i)]->number == i);
}

void static_pools_own_their_objects()
{
    work_statically();
    std::thread(work_statically).join();
    job *plain = all_jobs::create(1);
    REQUIRE(cpool_owns(all_jobs::native_handle(), plain));
    all_jobs::destroy(plain);
    all_jobs::destroy(nullptr);
    REQUIRE(living == 0 && live(all_jobs::native_handle()) == 0);
    REQUIRE(all_jobs::close() == 0);
}

// Whether making an object that refuses to be made throws its number, and keeps no slot.
template <class Pool> void require_slot_back(Pool &pool)
{
#if THROWS
    for (int i = 0; i < 5; i++) {
        try {
            pool.make(-1);
            REQUIRE(false);
        } catch (int number) {
            REQUIRE(number == -1);
        }
    }
    REQUIRE(living == 0 && live(pool.native_handle()) == 0);
#else
    (void)pool;
#endif
}

void constructors_that_throw_keep_no_slot()
{
    cpool::pool<job> pool(3);
    all_jobs statically;

    require_slot_back(pool);
    require_slot_back(statically);
}

/* --- Allocators --- */

template <class T> using allocator = cpool::allocator<T>;
using list = std::list<int, allocator<int>>;
using map = std::map<int, std::string, std::less<int>,
                     allocator<std::pair<const int, std::string>>>;
using hashed = std::unordered_map<int, int, std::hash<int>, std::equal_to<int>,
                                  allocator<std::pair<const int, int>>>;

void containers_take_nodes_from_classes()
{
    cpool::sized blocks(small_blocks());

    {
        list numbers{allocator<int>(blocks)};
        map names{allocator<int>(blocks)};
        hashed table{allocator<int>(blocks)};

        for (int i = 0; i < 1000; i++) {
            numbers.push_back(i);
            names[i] = std::to_string(i);
            table[i] = i;
        }
        REQUIRE(live(blocks.native_handle()) >= 3000);
        for (int i = 0; i < 1000; i += 2) {
            names.erase(i);
            table.erase(i);
            numbers.remove(i);
        }
        REQUIRE(names.size() == 500 && names[501] == "501" && table[501] == 501);
    }
    REQUIRE(live(blocks.native_handle()) == 0 && blocks.close() == 0);
}

void allocators_propagate_as_they_say()
{
    cpool::sized one(small_blocks());
    cpool::sized two(small_blocks());

    {
        list a{allocator<int>(one)};
        list b{allocator<int>(two)};

        REQUIRE(a.get_allocator() != b.get_allocator());
        REQUIRE(allocator<char>(a.get_allocator()) == a.get_allocator());
        a.assign(10, 1);
        b.assign(10, 2);
        const int *first = &a.front();
        b = std::move(a);
        REQUIRE(&b.front() == first && b.get_allocator() == allocator<int>(one));
        REQUIRE(live(two.native_handle()) <= 1); // a library's list may keep a node of its own
        list c(b);
        REQUIRE(c.get_allocator() == b.get_allocator() && &c.front() != first);
        list d{allocator<int>(two)};
        d = b;
        REQUIRE(d.get_allocator() == allocator<int>(two) && d.front() == 1);
        swap(b, d);
        REQUIRE(&d.front() == first && b.get_allocator() == allocator<int>(two));
    }
    REQUIRE(live(one.native_handle()) == 0 && live(two.native_handle()) == 0);
}

void allocators_serve_any_type()
{
    struct alignas(256) wide {
        char bytes[300];
    };
    cpool::sized blocks(small_blocks());

    {
        std::vector<wide, allocator<wide>> several{allocator<wide>(blocks)};
        std::list<wide, allocator<wide>> nodes{allocator<wide>(blocks)};

        for (int i = 0; i < 200; i++) {
            several.emplace_back();
            nodes.emplace_back();
            REQUIRE(reinterpret_cast<std::uintptr_t>(&several[0]) % 256 == 0);
            REQUIRE(reinterpret_cast<std::uintptr_t>(&nodes.back()) % 256 == 0);
        }
    }
    REQUIRE(live(blocks.native_handle()) == 0);
    // The smallest class that holds these is not aligned to them.
    struct alignas(16) odd {
        char bytes[16];
    };
    const std::size_t sizes[] = {24, 64};
    cpool_sized_config_t config = small_blocks();
    config.classes = sizes;
    config.class_count = 2;
    cpool::sized few(config);
    {
        std::vector<std::unique_ptr<odd, std::function<void(odd *)>>> held;
        allocator<odd> from(few);

        for (int i = 0; i < 5; i++) {
            held.emplace_back(from.allocate(1),
                              [from](odd *one) mutable { from.deallocate(one, 1); });
            REQUIRE(reinterpret_cast<std::uintptr_t>(held.back().get()) % 16 == 0);
        }
    }
    REQUIRE(live(few.native_handle()) == 0);
#if THROWS
    try {
        (void)allocator<wide>(blocks).allocate(static_cast<std::size_t>(-1) / 2);
        REQUIRE(false);
    } catch (const std::bad_alloc &) {
    }
#endif
}

void default_allocators_share_blocks()
{
    std::size_t before = live(cpool::shared_blocks());
    std::list<int, allocator<int>> numbers(10, 1);

    REQUIRE(numbers.get_allocator() == allocator<int>());
    REQUIRE(live(cpool::shared_blocks()) >= before + 10);
    std::thread([&numbers]() { numbers.clear(); }).join();
    REQUIRE(live(cpool::shared_blocks()) <= before + 1);
}

} // namespace

/* --- new and delete --- */

struct tasks_tag;

namespace {

struct task : cpool::pooled<tasks_tag> {
    explicit task(int a = 0) : number(a)
    {
#if THROWS
        if (a < 0)
            throw a;
#endif
    }
    virtual ~task() {}

    int number;
};

struct large_task : task {
    char more[100] = {};
};

struct free_task : cpool::pooled<> {
    int number = 5;
};

#if defined(__cpp_aligned_new)
struct alignas(128) wide_task : cpool::pooled<> {
    char bytes[128] = {};
};
#endif

} // namespace

struct room {
    char bytes[36];
};

CPOOL_STATIC_POOL(rooms, room);
CPOOL_DEFINE(rooms, room, .capacity = 100);
CPOOL_STATIC_POOL(tasks, task);
CPOOL_DEFINE(tasks, task, .capacity = 100);

namespace {

void classes_take_from_their_pool()
{
    std::size_t before = live(cpool::shared_blocks());
    task *small = new task(3);
    task *large = new large_task;
    free_task *any = new free_task;
    alignas(task) char room[sizeof(task)];

    REQUIRE(small->number == 3 && cpool_owns(tasks_pool(), small));
    REQUIRE(!cpool_owns(tasks_pool(), large));
    REQUIRE(live(tasks_pool()) == 1 && live(cpool::shared_blocks()) == before + 2);
    delete small;
    delete large;
    delete any;
    delete static_cast<task *>(nullptr);
    task *there = new (room) task(4);
    REQUIRE(static_cast<void *>(there) == room);
    there->~task();
    task *careful = new (std::nothrow) task(5);
    REQUIRE(cpool_owns(tasks_pool(), careful));
    delete careful;
#if defined(__cpp_aligned_new)
    wide_task *wide = new wide_task;
    REQUIRE(reinterpret_cast<std::uintptr_t>(wide) % 128 == 0);
    delete wide;
#endif
#if THROWS
    try {
        delete new task(-1);
        REQUIRE(false);
    } catch (int) {
    }
    try {
        delete new (std::nothrow) task(-1);
        REQUIRE(false);
    } catch (int) {
    }
#endif
    REQUIRE(live(tasks_pool()) == 0 && live(cpool::shared_blocks()) == before);
    REQUIRE(tasks_close() == 0);
}

template <std::size_t Size> struct text : cpool::pooled<rooms_tag> {
    char bytes[Size] = {};
};

struct aligned_guest : cpool::pooled<rooms_tag> {
    long double number = 0;
};

// Slots for characters serve what is no more aligned.
void classes_are_aligned_in_any_pool()
{
    std::size_t before = live(cpool::shared_blocks());
    aligned_guest *guests[8];
    text<35> *odd = new text<35>;
    text<36> *even = new text<36>;

    REQUIRE(cpool_owns(rooms_pool(), odd) && !cpool_owns(rooms_pool(), even));
    for (aligned_guest *&guest : guests) {
        guest = new aligned_guest;
        REQUIRE(reinterpret_cast<std::uintptr_t>(guest) % alignof(aligned_guest) == 0);
    }
    for (aligned_guest *guest : guests)
        delete guest;
    delete odd;
    delete even;
    REQUIRE(live(rooms_pool()) == 0 && live(cpool::shared_blocks()) == before);
    REQUIRE(rooms_close() == 0);
}

struct alignas(256) wide {
    char bytes[256];
};

// All objects, and no more, are obtained from memory inside the pool.
template <class T, std::size_t Capacity, std::size_t Caches> void require_inplace()
{
    using pool_type = cpool::inplace_pool<T, Capacity, Caches>;
    static pool_type objects;
    std::uintptr_t from = reinterpret_cast<std::uintptr_t>(&objects);
    std::vector<T *> all;

    while (T *one = objects->create())
        all.push_back(one);
    REQUIRE(all.size() == Capacity);
    for (T *one : all) {
        std::uintptr_t at = reinterpret_cast<std::uintptr_t>(one);

        REQUIRE(at >= from && at + sizeof(T) <= from + sizeof(objects));
        REQUIRE(at % alignof(T) == 0);
        objects->destroy(one);
    }
    REQUIRE(live((*objects).native_handle()) == 0);
    REQUIRE(sizeof(objects) >= pool_type::memory_bytes());
}

void pools_have_their_memory_inside()
{
    require_inplace<char, 1, 1>();
    require_inplace<int, 15, 1>();
    require_inplace<long double, 256, 2>();
    require_inplace<wide, 130, 3>();
}

} // namespace

void check_forms();     // of hpp_forms.cpp
void check_objects();   // of hpp_objects.cpp
void check_resources(); // of hpp_resources.cpp
void check_retire();    // of hpp_retire.cpp

int main()
{
    check_resources(); // first: its child reads CPOOL_OPTIONS
    check_forms();
    check_objects();
    check_retire();
    pools_own_their_objects();
    dry_pools_make_nothing();
    checked_pools_end_live_objects();
    pools_move();
    pools_have_their_memory_inside();
    wrong_settings_are_refused();
    static_pools_own_their_objects();
    constructors_that_throw_keep_no_slot();
    containers_take_nodes_from_classes();
    allocators_propagate_as_they_say();
    allocators_serve_any_type();
    default_allocators_share_blocks();
    classes_take_from_their_pool();
    classes_are_aligned_in_any_pool();
    return EXIT_SUCCESS;
}
