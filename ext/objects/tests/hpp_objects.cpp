// SPDX-License-Identifier: BSD-2-Clause
/*
 * hpp_objects.cpp - <cpool/cpool.hpp>: pools of objects that stay constructed, handles
 * of tracked pools, frames, and frames of coroutines.  A part of check_hpp.
 */
#include "../../../tests/public/hpp.h"

#include <cstdlib>
#include <string>
#include <unordered_set>
#include <vector>

#if !defined(_WIN32)
#include <sys/wait.h>
#include <unistd.h>
#endif

#if defined(__cpp_impl_coroutine) && defined(__has_include)
#if __has_include(<coroutine>)
#include <coroutine>
#define HAS_COROUTINES 1
#endif
#endif

void check_objects();

namespace {

/*
 * ---- object_pool -------------------------------------------------------------------
 */

int buffers_made;
int buffers_living;

#if THROWS
int refusals; // that are to come
#endif

// Grows, and can be cleared.  Making and clearing it throw when told to.
struct buffer {
    buffer() : bytes()
    {
        require_allowed();
        buffers_made++;
        buffers_living++;
    }
    buffer(const buffer &) = delete;
    ~buffer() { buffers_living--; }
    void reset()
    {
        require_allowed();
        bytes.clear();
    }
    static void require_allowed()
    {
#if THROWS
        if (refusals > 0) {
            refusals--;
            throw 5;
        }
#endif
    }

    std::vector<int> bytes;
};

// Of one object: how often it is made in two uses, and the bytes that the second finds.
template <class Reset> void require_uses(int made, std::size_t bytes, unsigned flags)
{
    cpool_objects_config_t config = cpool::object_pool<buffer, Reset>::configuration(1);
    cpool::object_pool<buffer, Reset> pool;
    int before = buffers_made;

    config.flags = flags;
    REQUIRE(pool.open(config) == 0 && pool.open(config) == CPOOL_EOPEN);
    {
        auto one = pool.get();
        REQUIRE(one && !pool.get() && pool.stats().active == 1);
        one->bytes.assign(3, 1);
    }
    REQUIRE(pool.stats().active == 0);
    REQUIRE(pool.get()->bytes.size() == bytes);
    REQUIRE(buffers_made == before + made);
    REQUIRE(pool.close() == 0 && buffers_living == 0);
}

template <class Reset> void require_thrown(bool in_second_use)
{
#if THROWS
    cpool::object_pool<buffer, Reset> pool(2);
    int caught = 0;

    if (in_second_use)
        REQUIRE(pool.get());
    refusals = 1000;
    for (int i = 0; i < 3; i++) {
        try {
            pool.get();
        } catch (int number) {
            caught += number;
        }
    }
    refusals = 0;
    REQUIRE(caught == 15 && pool.stats().active == 0);
    {
        auto one = pool.get();
        auto two = pool.get();
        REQUIRE(one && two && pool.stats().active == 2);
    }
    // The caller of get has the exception of one attempt, and the next attempt is the next get's.
    if (std::is_same<Reset, cpool::rebuild>::value) {
        refusals = 1;
        caught = 0;
        try {
            pool.get();
        } catch (int number) {
            caught = number;
        }
        REQUIRE(caught == 5 && refusals == 0 && pool.get());
    }
    pool.close();
    REQUIRE(buffers_living == 0);
#else
    (void)in_second_use;
#endif
}

void object_pools_wait_and_visit()
{
    cpool_grant_t grant = CPOOL_GRANT_INIT;
    cpool_objects_config_t config = cpool::object_pool<buffer>::configuration(2);
    cpool::object_pool<buffer> pool;

    config.flags |= CPOOL_OBJECT_WAITABLE;
    REQUIRE(pool.open(config) == 0);
    {
        cpool::object_pool<buffer>::pointer one, two, three;
        std::size_t visits = 0;

        grant.wait_ns = 1000;
        REQUIRE(pool.get_with(one, &grant) == 0 && pool.get_with(two, &grant) == 0);
        REQUIRE(pool.get_with(three, &grant) == CPOOL_EDRY && one && two && !three);
        for (buffer &object : pool.active())
            visits += &object == one.get() || &object == two.get();
        REQUIRE(visits == 2);
        auto at = pool.active().begin();
        buffer &first = *at++;
        REQUIRE(at.info().uses == 1 && &*at != &first && ++at == pool.active().end());
    }
    REQUIRE(pool.stats().inactive == 2);
}

// A loop over the active objects of a pool that is closed in it ends.
void loops_end_with_their_pool()
{
    cpool::object_pool<buffer> pool(2);
    int reports = 0, visits = 0;

    REQUIRE(pool.get().release() != nullptr && pool.get().release() != nullptr);
    cpool_set_error_handler({[](const cpool_error_t *, void *count) {
                                 ++*static_cast<int *>(count);
                             }, &reports});
    for (buffer &object : pool.active()) {
        (void)object;
        visits++;
        REQUIRE(pool.close() == CPOOL_ELIVE);
    }
    cpool_set_error_handler({nullptr, nullptr});
    REQUIRE(visits == 1 && reports >= 1);
}

void object_pools_keep_their_objects()
{
    require_uses<cpool::keep>(1, 3, 0);
    require_uses<cpool::reset_member>(1, 0, 0);
    require_uses<cpool::reset_member>(1, 0, CPOOL_OBJECT_EAGER);
    require_uses<cpool::rebuild>(2, 0, 0);
    require_thrown<cpool::keep>(false);
    require_thrown<cpool::reset_member>(true);
    require_thrown<cpool::rebuild>(false);
    require_thrown<cpool::rebuild>(true);
}

#if THROWS
struct innocent {
    int number = 5;
};
#endif

// An exception of one pool's maker is not thrown by another pool, and a pool that its constructor
// could not fill is gone.
void object_pools_throw_their_own_exceptions()
{
#if THROWS
    cpool_objects_config_t config = cpool::object_pool<buffer>::configuration(8);
    cpool_objects_config_t others = cpool::object_pool<innocent>::configuration(8);
    cpool::object_pool<buffer> pool;
    int caught = 0;

    config.populate = others.populate = 4;
    refusals = 1;
    REQUIRE(pool.open(config) != 0 && refusals == 0);
    REQUIRE(!cpool::detail::is_pending());
    cpool::object_pool<innocent> other(others);
    REQUIRE(other.get()->number == 5);
    refusals = 1;
    try {
        cpool::object_pool<buffer> refused(config);
    } catch (int number) {
        caught += number;
    }
    REQUIRE(caught == 5 && !cpool::detail::is_pending() && buffers_living == 0);
#endif
}

// A reset in a pointer's destructor that throws ends the program.
void object_pools_end_at_eager_exceptions()
{
#if THROWS && !defined(_WIN32) /* which has no fork */
    pid_t child = fork();
    int status = 0;

    if (child == 0) {
        cpool_objects_config_t config = cpool::object_pool<buffer>::configuration(8);
        cpool::object_pool<buffer, cpool::reset_member> pool;

        std::set_terminate([]() { _exit(7); });
        config.flags = CPOOL_OBJECT_EAGER;
        REQUIRE(pool.open(config) == 0);
        auto one = pool.get();
        refusals = 1;
        one.reset();
        _exit(0);
    }
    REQUIRE(child > 0 && waitpid(child, &status, 0) == child);
    REQUIRE(WIFEXITED(status) && WEXITSTATUS(status) == 7);
#endif
}

// The object is destroyed with its pool, so its pointer is refused, and a closed pool has none.
void object_pools_are_refused_after_their_end()
{
    int reports = 0;

    cpool_set_error_handler({[](const cpool_error_t *error, void *context) {
        *static_cast<int *>(context) += error->code == CPOOL_EPOOL;
    }, &reports});
    {
        cpool::object_pool<buffer>::pointer late;
        cpool::object_pool<buffer> pool(8);

        late = pool.get();
        REQUIRE(late != nullptr && pool.close() == CPOOL_ELIVE && buffers_living == 0);
        REQUIRE(!pool.is_open() && pool.get() == nullptr && reports == 1 && pool.close() == 0);
    }
    REQUIRE(reports == 2);
    cpool_set_error_handler({nullptr, nullptr});
}

#ifndef _WIN32
struct late_user {
    ~late_user()
    {
        pool->deallocate(slot);
        _exit(1);
    }
    cpool::pool<int> *pool;
    int *slot;
};

// Ends before its user, which was there before it.
void use_static_pool()
{
    static late_user user;
    static cpool::pool<int> pool(8);

    user.pool = &pool;
    user.slot = pool.create(5);
    cpool_set_error_handler({[](const cpool_error_t *error, void *) {
        if (error->code == CPOOL_EPOOL)
            _exit(7);
    }, nullptr});
    std::exit(2);
}
#endif

void static_pools_that_end_first_are_refused()
{
#ifndef _WIN32
    pid_t child = fork();
    int status = 0;

    if (child == 0)
        use_static_pool();
    REQUIRE(child > 0 && waitpid(child, &status, 0) == child);
    REQUIRE(WIFEXITED(status) && WEXITSTATUS(status) == 7);
#endif
}

struct numbered_maker {
    void operator()(void *place) const { ::new (place) std::string(std::to_string(number)); }
    int number;
};

void object_pools_construct_by_their_maker()
{
    cpool::object_pool<std::string, cpool::keep, numbered_maker> pool(3, numbered_maker{42});

    REQUIRE(*pool.get() == "42");
}

/*
 * ---- Tracked pools -----------------------------------------------------------------
 */

struct body {
    explicit body(int a) : number(a) {}
    int number;
};

} // namespace

CPOOL_STATIC_POOL(bodies, body);
CPOOL_DEFINE(bodies, body, .capacity = 100, .flags = CPOOL_TRACKED);

namespace {

// The sum of the numbers of a pool's live objects.
template <class Range> int sum_of(const Range &range)
{
    int sum = 0;

    for (body &each : range)
        sum += each.number;
    return sum;
}

// Handles have the order of their values.
void require_in_order(cpool::handle<body> one, cpool::handle<body> other)
{
    REQUIRE((one < other) == (one.value() < other.value()));
    REQUIRE((other < one) == (other.value() < one.value()));
    REQUIRE((one < other) != (other < one) && !(one < one) && cpool::handle<body>() < one);
    REQUIRE(one != other && !(one == other) && one == one);
}

template <class Pool> void require_tracked(Pool &pool)
{
    std::unordered_set<cpool::handle<body>> handles;
    body *held[10];

    REQUIRE(sum_of(pool.live()) == 0 && pool.live().begin() == pool.live().end());
    for (int i = 0; i < 10; i++) {
        held[i] = pool.create(1 << i);
        handles.insert(pool.handle_of(held[i]));
        REQUIRE(pool.resolve(pool.handle_of(held[i])) == held[i]);
    }
    REQUIRE(handles.size() == 10 && sum_of(pool.live()) == 1023);
    cpool::handle<body> last = pool.handle_of(held[9]);
    pool.destroy(held[9]);
    REQUIRE(last && pool.resolve(last) == nullptr && !pool.handle_of(held[9]));
    REQUIRE(sum_of(pool.live()) == 511);
    std::size_t third = cpool_index(pool.native_handle(), held[3]);
    REQUIRE(sum_of(pool.live(third, third + 1)) == 8);
    for (auto at = pool.live().begin(); at != pool.live().end(); ++at)
        REQUIRE(handles.count(at.handle()) == 1 && pool.resolve(at.handle()) == &*at);
    auto first = pool.live().begin();
    auto before = first++;
    REQUIRE(before->number == 1 && first->number == 2 && before != first);
    require_in_order(before.handle(), first.handle());
    for (body &each : pool.live())
        pool.destroy(&each);
    REQUIRE(sum_of(pool.live()) == 0 && !cpool::handle<body>());
}

void tracked_pools_know_their_objects()
{
    cpool_config_t config = cpool::pool<body>::configuration(100);
    cpool::pool<body> pool;
    cpool::static_pool<body, bodies_tag> statically;

    config.flags = CPOOL_TRACKED;
    REQUIRE(pool.open(config) == 0);
    require_tracked(pool);
    require_tracked(statically);
    REQUIRE(pool.close() == 0 && statically.close() == 0);
}

int named_living;

// Its constructor may throw, and its destructor counts.
struct named {
    explicit named(const char *name) : text(name)
    {
        buffer::require_allowed();
        named_living++;
    }
    named(const named &) = delete;
    ~named() { named_living--; }

    std::string text;
};

// At the end of a tracked pool its objects end.
void tracked_pools_end_their_objects()
{
    cpool_config_t config = cpool::pool<named>::configuration(10);

    config.flags = CPOOL_TRACKED;
    {
        cpool::pool<named> first(config);

        REQUIRE(first.create("one") != nullptr && first.create("two") != nullptr);
        first.destroy(first.create("three"));
        cpool::pool<named> second(std::move(first));
        REQUIRE(first.close() == 0 && named_living == 2);
    }
    REQUIRE(named_living == 0);
    cpool::pool<named> pool(config);
    REQUIRE(pool.create("four") != nullptr);
    REQUIRE(pool.close() == CPOOL_ELIVE && named_living == 0 && !pool.is_open());
    REQUIRE(pool.open(cpool::pool<named>::configuration(1)) == 0 && pool.close() == 0);
}

/*
 * ---- Coroutines --------------------------------------------------------------------
 */

/*
 * ---- Frames ------------------------------------------------------------------------
 */

template <class Reset> void require_frames()
{
    using objects = cpool::object_pool<buffer, Reset>;
    objects pool(3);

    for (int i = 0; i < 2; i++) {
        typename objects::frame frame(pool), other(pool);

        REQUIRE(frame.is_open() && frame.native_handle() != nullptr);
        REQUIRE(frame.get() != nullptr && frame.get() != nullptr);
        REQUIRE(other.get() != nullptr && other.get() == nullptr && !pool.get());
        other = std::move(frame); // which gives back the third one
        REQUIRE(!frame.is_open() && frame.get() == nullptr);
        frame.end();
        REQUIRE(pool.get()); // one of those that `other` had
        REQUIRE(pool.stats().active == 2);
        other.end();
        REQUIRE(!other.is_open() && pool.stats().active == 0);
        other = typename objects::frame(pool);
        REQUIRE(other.get() != nullptr && other.get() != nullptr && pool.stats().active == 2);
        typename objects::frame last(std::move(other));
        REQUIRE(!other.is_open() && last.is_open());
    }
    REQUIRE(pool.stats().active == 0);
    pool.close();
    REQUIRE(buffers_living == 0);
}

// Its constructor may throw.
struct marked {
    explicit marked(char name) : mark(name) { buffer::require_allowed(); }
    char mark;
};

struct dot {
    dot(int across, int down) noexcept : x(across), y(down) {}
    int x, y;
};

std::size_t live_slots(cpool_t *pool)
{
    cpool_stats_t stats = CPOOL_STATS_INIT;

    REQUIRE(cpool_read_stats(pool, &stats) == 0);
    return stats.live;
}

void frames_give_their_objects_back()
{
    cpool::pool<dot> pool(1000);
    dot *kept = pool.create(1, 2), *given = pool.create(3, 4);
    cpool::frame<dot> first(pool), second;
    cpool_frame_t *handle = first.native_handle();
    int sum = 0;

    for (int i = 0; i < 300; i++)
        sum += first.create(i, 1)->y;
    REQUIRE(sum == 300 && first.is_open() && first.adopt(given) == 0);
    REQUIRE(second.create(1, 1) == nullptr && second.adopt(kept) == CPOOL_EFRAME);
    second = std::move(first);
    REQUIRE(second.native_handle() == handle && !first.is_open());
    REQUIRE(live_slots(pool.native_handle()) == 302);
    second.reset();
    REQUIRE(live_slots(pool.native_handle()) == 1 && second.create(5, 6)->y == 6);
    second = cpool::frame<dot>(pool.native_handle()); // which ends the first one
    REQUIRE(live_slots(pool.native_handle()) == 1 && second.is_open());
    second.end();
    second.end();
    pool.destroy(kept);
    REQUIRE(!second.is_open() && pool.close() == 0);
}

#if THROWS
void frames_keep_no_slot_of_a_constructor_that_throws()
{
    cpool::pool<marked> pool(4);
    cpool::frame<marked> frame(pool);

    for (int i = 0; i < 10; i++) {
        refusals = 1;
        try {
            (void)frame.create('r');
            REQUIRE(false);
        } catch (int code) {
            REQUIRE(code == 5);
        }
    }
    for (int i = 0; i < 4; i++)
        REQUIRE(frame.create('o')->mark == 'o');
    frame.end();
    REQUIRE(live_slots(pool.native_handle()) == 0);
}
#endif

#if defined(HAS_COROUTINES)

std::size_t shared_live()
{
    cpool_sized_stats_t stats = CPOOL_SIZED_STATS_INIT;

    REQUIRE(cpool_sized_read_stats(cpool::shared_blocks(), &stats) == 0);
    return stats.live;
}

// A coroutine that adds up what it is resumed for.
struct adder {
    struct promise_type : cpool::pooled<> {
        adder get_return_object()
        {
            return adder{std::coroutine_handle<promise_type>::from_promise(*this)};
        }
        std::suspend_never initial_suspend() noexcept { return {}; }
        std::suspend_always final_suspend() noexcept { return {}; }
        std::suspend_always yield_value(int value) noexcept
        {
            sum = value;
            return {};
        }
        void return_void() noexcept {}
        void unhandled_exception() noexcept {}

        int sum = 0;
    };

    std::coroutine_handle<promise_type> handle;
};

// Not inlined: a compiler that sees the frame's whole life may take no memory for it.
#if defined(__GNUC__)
__attribute__((noinline))
#endif
adder add(int step)
{
    int sum = 0;

    for (int i = 0; i < 3; i++)
        co_yield sum += step;
}

void coroutines_have_their_frames_in_blocks()
{
    std::size_t before = shared_live();
    adder two = add(2);
    adder five = add(5);

    REQUIRE(shared_live() == before + 2);
    REQUIRE(cpool_of(two.handle.address(), nullptr) != nullptr);
    two.handle.resume();
    five.handle.resume();
    REQUIRE(two.handle.promise().sum == 4 && five.handle.promise().sum == 10);
    two.handle.destroy();
    five.handle.destroy();
    REQUIRE(shared_live() == before);
}

#endif

} // namespace

void check_objects()
{
    object_pools_keep_their_objects();
    loops_end_with_their_pool();
    object_pools_wait_and_visit();
    object_pools_throw_their_own_exceptions();
    object_pools_end_at_eager_exceptions();
    object_pools_are_refused_after_their_end();
    static_pools_that_end_first_are_refused();
    object_pools_construct_by_their_maker();
    tracked_pools_know_their_objects();
    tracked_pools_end_their_objects();
    require_frames<cpool::keep>();
    require_frames<cpool::reset_member>();
    require_frames<cpool::rebuild>();
    frames_give_their_objects_back();
#if THROWS
    frames_keep_no_slot_of_a_constructor_that_throws();
#endif
#if defined(HAS_COROUTINES)
    coroutines_have_their_frames_in_blocks();
#endif
}
