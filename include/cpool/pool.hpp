/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cpool/pool.hpp - pools of objects of one type, for C++.
 *
 *     cpool::pool<job> jobs(100000);                   closed by its destructor
 *     job *one = jobs.create(7);                       nullptr when dry
 *     jobs.destroy(one);
 *
 * <cpool/owner.hpp> has owners of objects, and <cpool/live.hpp> handles of objects.
 */
#ifndef CPOOL_POOL_HPP
#define CPOOL_POOL_HPP

#include <cpool/debug.h>
#include <cpool/error.hpp>
#include <cpool/pools.h>
#include <cpool/track.h>

#include <type_traits>
#include <utility>

namespace cpool {

template <class T> class handle;
template <class T> class live_range;

namespace detail {

/* Its type is what make() returns.  Defined where <cpool/owner.hpp> is included. */
template <class T, class Deleter, class... Arguments> struct owner;

/* cpool_alloc and cpool_free do not test for NULL.  Here a pool that is not open is reported as
 * CPOOL_EPOOL. */
inline void *alloc_slot(cpool_t *pool) noexcept
{
    return pool != nullptr ? cpool_alloc(pool) : cpool_alloc_uncached(nullptr);
}

inline void free_slot(cpool_t *pool, void *slot) noexcept
{
    if (pool != nullptr)
        cpool_free(pool, slot);
    else
        cpool_free_uncached(nullptr, slot);
}

/* Constructs an object in a slot of From.  If the constructor throws, the slot goes back. */
template <class T, class From, class... Arguments>
T *construct(From &from, Arguments &&...arguments)
{
    void *slot = from.allocate();

    if (slot == nullptr)
        return nullptr;
    CPOOL_TRY_ {
        return ::new (slot) T(std::forward<Arguments>(arguments)...);
    }
    CPOOL_CATCH_ALL_ {
        from.deallocate(static_cast<T *>(slot));
        CPOOL_RETHROW_;
    }
    return nullptr;
}

/* Two sources of slots: a pool whose slots a thread waits for, and any pool. */
template <class T> struct waiter {
    void *allocate() noexcept { return cpool_alloc_wait(pool, timeout); }
    void deallocate(T *slot) noexcept { cpool_free(pool, static_cast<void *>(slot)); }
    cpool_t *pool;
    const struct timespec *timeout;
};

template <class T> void release(T *object) noexcept
{
    if (object == nullptr)
        return;
    object->~T();
    cpool_release(static_cast<void *>(object));
}

} // namespace detail

/*
 * ---- pool ------------------------------------------------------------------
 */

/*
 * A pool of objects of one type, which lasts as long as this object.
 *
 * If a tracked pool is closed with live objects, it destroys them first, in the order of their
 * indices; then each live slot must contain an object.  Other pools do not know their objects, and
 * call no destructors.
 *
 * A pool that is not open holds no pool: it is reported as CPOOL_EPOOL where it is used.  So is one
 * that has been moved from.  A move assignment closes the pool that it replaces.
 */
template <class T> class pool {
public:
    using value_type = T;

    /* Destroys an object, and frees its slot. */
    class deleter {
    public:
        deleter() noexcept : pool_(nullptr) {}
        explicit deleter(cpool_t *handle) noexcept : pool_(handle) {}
        void operator()(T *object) const noexcept
        {
            object->~T();
            detail::free_slot(pool_, static_cast<void *>(object));
        }

    private:
        cpool_t *pool_;
    };

    /* The configuration of a pool with this capacity, to be changed and passed to open. */
    static cpool_config_t configuration(std::size_t capacity) noexcept
    {
        cpool_config_t config = CPOOL_CONFIG_INIT;

        config.slot_size = sizeof(T);
        config.slot_align = alignof(T);
        config.capacity = capacity;
        return config;
    }

    pool() noexcept : handle_(nullptr), open_(false), tracked_(false) {}
    explicit pool(std::size_t capacity) : pool()
    {
        detail::require(open(configuration(capacity)));
    }
    explicit pool(const cpool_config_t &config) : pool()
    {
        detail::require(open(config));
    }
    pool(pool &&other) noexcept : pool() { swap(other); }
    pool &operator=(pool &&other) noexcept
    {
        pool taken(std::move(other));

        swap(taken);
        return *this;
    }
    pool(const pool &) = delete;
    pool &operator=(const pool &) = delete;
    ~pool() { close(); }

    /* Like cpool_create, and returns CPOOL_ESLOTSIZE or CPOOL_EALIGN if the slots are too small or
     * not aligned enough for the type, and CPOOL_EOPEN if the pool is open. */
    int open(const cpool_config_t &config) noexcept
    {
        if (open_)
            return CPOOL_EOPEN;
        if (config.slot_size < sizeof(T))
            return CPOOL_ESLOTSIZE;
        if (config.slot_align < alignof(T) || config.slot_offset % alignof(T) != 0)
            return CPOOL_EALIGN;
        int code = cpool_create(&handle_, &config);

        open_ = code == 0;
        tracked_ = open_ && (config.flags & (CPOOL_TRACKED | CPOOL_CHECKED)) != 0;
        return code;
    }

    /* Like cpool_destroy: CPOOL_ELIVE if objects were live.  The handle is kept, so that a later
     * use of the pool, for example after the end of a static one, is refused as in C. */
    int close() noexcept
    {
        if (!open_)
            return CPOOL_OK;
        destroy_live();
        open_ = tracked_ = false;
        return cpool_destroy(handle_);
    }

    bool is_open() const noexcept { return open_; }

    /* For use with all functions of <cpool.h>. */
    cpool_t *native_handle() const noexcept { return handle_; }

    /* Slots without objects: cpool_alloc and cpool_free, each also _uncached. */
    void *allocate() noexcept { return detail::alloc_slot(handle_); }
    void deallocate(T *slot) noexcept { detail::free_slot(handle_, static_cast<void *>(slot)); }
    void *allocate_uncached() noexcept { return cpool_alloc_uncached(handle_); }
    void deallocate_uncached(T *slot) noexcept
    {
        cpool_free_uncached(handle_, static_cast<void *>(slot));
    }

    /* cpool_alloc_bulk, cpool_free_bulk, cpool_alloc_or_notify and cpool_alloc_wait. */
    std::size_t allocate_bulk(T **slots, std::size_t n, std::size_t least = 0) noexcept
    {
        return cpool_alloc_bulk(handle_, reinterpret_cast<void **>(slots), n, least);
    }
    void deallocate_bulk(T *const *slots, std::size_t n) noexcept
    {
        cpool_free_bulk(handle_, reinterpret_cast<void *const *>(slots), n);
    }
    void *allocate_or_notify() noexcept { return cpool_alloc_or_notify(handle_); }
    void *allocate_wait(const struct timespec *timeout = nullptr) noexcept
    {
        return cpool_alloc_wait(handle_, timeout);
    }

    /* Constructs an object from these arguments, or returns nullptr when there is no slot. */
    template <class... Arguments> T *create(Arguments &&...arguments)
    {
        return detail::construct<T>(*this, std::forward<Arguments>(arguments)...);
    }

    /* Like create, in a slot of cpool_alloc_wait. */
    template <class... Arguments>
    T *create_wait(const struct timespec *timeout, Arguments &&...arguments)
    {
        detail::waiter<T> from{handle_, timeout};

        return detail::construct<T>(from, std::forward<Arguments>(arguments)...);
    }

    /* Destroys an object made by create. nullptr is a no-op. */
    void destroy(T *object) noexcept
    {
        if (object != nullptr)
            deleter{handle_}(object);
    }

    /* Destroys an object of any pool, like cpool_release. */
    static void release(T *object) noexcept { detail::release(object); }

    /* Like create, but returns an owner, from <cpool/owner.hpp>.  The pool must not be closed
     * before the owner ends.  It may be moved. */
    template <class... Arguments>
    typename detail::owner<T, deleter, Arguments...>::type make(Arguments &&...arguments)
    {
        return {create(std::forward<Arguments>(arguments)...), deleter(handle_)};
    }

    /* cpool_handle and cpool_resolve, for tracked pools, with <cpool/live.hpp>. */
    cpool::handle<T> handle_of(const T *object) const noexcept
    {
        return cpool::handle<T>(cpool_handle(handle_, object));
    }
    T *resolve(cpool::handle<T> handle) const noexcept
    {
        return static_cast<T *>(cpool_resolve(handle_, handle.value()));
    }

    /* The live objects of a tracked pool, in the order of their indices. */
    live_range<T> live(std::size_t first = 0,
                       std::size_t end = static_cast<std::size_t>(-1)) const noexcept
    {
        return live_range<T>(handle_, first, end);
    }

    /* The pool as a whole.  Each has the name of its C function after cpool_. */
    void flush() noexcept { cpool_flush(handle_); }
    std::size_t grow(std::size_t n) noexcept { return cpool_grow(handle_, n); }
    std::size_t shrink(std::size_t n) noexcept { return cpool_shrink(handle_, n); }
    std::size_t trim() noexcept { return cpool_trim(handle_); }
    int reserve(std::size_t n) noexcept { return cpool_reserve(handle_, n); }
    int set_ready(cpool_ready_t ready, void *arg) noexcept
    {
        return cpool_set_ready(handle_, ready, arg);
    }
    cpool_pressure_t set_pressure(cpool_pressure_t pressure) noexcept
    {
        return cpool_set_pressure(handle_, pressure);
    }
    std::size_t wait_close() noexcept { return cpool_wait_close(handle_); }
    void wait_open() noexcept { cpool_wait_open(handle_); }
    std::size_t wait_cancel() noexcept { return cpool_wait_cancel(handle_); }
    int verify(const T *slot = nullptr) noexcept { return cpool_verify(handle_, slot); }

    /* Like cpool_reset.  Before that it destroys live objects, as close does. */
    std::size_t reset() noexcept
    {
        destroy_live();
        return cpool_reset(handle_);
    }

    /* Slots and their indices. */
    bool owns(const void *address) const noexcept { return cpool_owns(handle_, address); }
    std::size_t span(void **first) const noexcept { return cpool_span(handle_, first); }
    std::size_t index(const T *slot) const noexcept { return cpool_index(handle_, slot); }
    T *at(std::size_t index) const noexcept { return static_cast<T *>(cpool_at(handle_, index)); }
    std::size_t index_limit() const noexcept { return cpool_index_limit(handle_); }

    /* cpool_read_stats and cpool_dump.  Of a pool that was never opened, or was moved from, all
     * figures are 0.  After close() either is reported. */
    cpool_stats_t stats() const noexcept
    {
        cpool_stats_t stats = CPOOL_STATS_INIT;

        (void)cpool_read_stats(handle_, &stats);
        return stats;
    }
    std::size_t dump(enum cpool_dump_form form, cpool_write_t write, void *arg) const
    {
        return handle_ != nullptr ? cpool_dump(handle_, form, write, arg) : 0;
    }

private:
    void destroy_live() noexcept
    {
        if (!tracked_ || std::is_trivially_destructible<T>::value)
            return;
        cpool_iter_t iter = CPOOL_ITER_INIT(handle_, 0, static_cast<std::size_t>(-1));

        while (void *each = cpool_iter_next(&iter))
            static_cast<T *>(each)->~T();
    }
    void swap(pool &other) noexcept
    {
        std::swap(handle_, other.handle_);
        std::swap(open_, other.open_);
        std::swap(tracked_, other.tracked_);
    }

    cpool_t *handle_;
    bool open_;
    bool tracked_;
};

/*
 * ---- static_pool -----------------------------------------------------------
 */

/*
 * CPOOL_STATIC_POOL - declares a typed pool (CPOOL_DECLARE) and `name`_tag, by which
 * cpool::static_pool and cpool::pooled find it.  CPOOL_DEFINE defines it, as in C.
 */
#define CPOOL_STATIC_POOL(name, type)                                                  \
    CPOOL_DECLARE(name, type);                                                         \
    struct name##_tag {                                                                \
        using value_type = type;                                                       \
        static void *allocate() noexcept { return name##_alloc(); }                    \
        static void deallocate(void *slot) noexcept                                    \
        {                                                                              \
            name##_free(static_cast<type *>(slot));                                    \
        }                                                                              \
        static cpool_t *native_handle() noexcept { return name##_pool(); }             \
        static int open(const cpool_config_t *config) noexcept { return name##_open(config); } \
        static int close() noexcept { return name##_close(); }                         \
    }

/* Objects of a typed pool.  All members are static, and the deleter has no state. */
template <class T, class Tag> class static_pool {
    static_assert(std::is_same<T, typename Tag::value_type>::value,
                  "cpool: the tag's pool has slots of another type");

public:
    using value_type = T;

    struct deleter {
        void operator()(T *object) const noexcept
        {
            object->~T();
            Tag::deallocate(object);
        }
    };

    static void *allocate() noexcept { return Tag::allocate(); }
    static void deallocate(T *slot) noexcept { Tag::deallocate(slot); }

    /* As in pool.  Returns no slots if the pool cannot be created. */
    static void *allocate_uncached() noexcept
    {
        cpool_t *pool = native_handle();

        return pool != nullptr ? cpool_alloc_uncached(pool) : nullptr;
    }
    static void deallocate_uncached(T *slot) noexcept
    {
        if (slot != nullptr)
            cpool_free_uncached(native_handle(), static_cast<void *>(slot));
    }
    static std::size_t allocate_bulk(T **slots, std::size_t n, std::size_t least = 0) noexcept
    {
        cpool_t *pool = native_handle();
        void **any = reinterpret_cast<void **>(slots);

        return pool != nullptr ? cpool_alloc_bulk(pool, any, n, least) : 0;
    }
    static void deallocate_bulk(T *const *slots, std::size_t n) noexcept
    {
        if (n > 0)
            cpool_free_bulk(native_handle(), reinterpret_cast<void *const *>(slots), n);
    }
    static void *allocate_or_notify() noexcept
    {
        cpool_t *pool = native_handle();

        return pool != nullptr ? cpool_alloc_or_notify(pool) : nullptr;
    }
    static void *allocate_wait(const struct timespec *timeout = nullptr) noexcept
    {
        cpool_t *pool = native_handle();

        return pool != nullptr ? cpool_alloc_wait(pool, timeout) : nullptr;
    }
    template <class... Arguments>
    static T *create_wait(const struct timespec *timeout, Arguments &&...arguments)
    {
        detail::waiter<T> from{native_handle(), timeout};

        if (from.pool == nullptr)
            return nullptr;
        return detail::construct<T>(from, std::forward<Arguments>(arguments)...);
    }
    template <class... Arguments> static T *create(Arguments &&...arguments)
    {
        static_pool self;

        return detail::construct<T>(self, std::forward<Arguments>(arguments)...);
    }
    static void destroy(T *object) noexcept
    {
        if (object != nullptr)
            deleter()(object);
    }
    static void release(T *object) noexcept { detail::release(object); }
    template <class... Arguments>
    static typename detail::owner<T, deleter, Arguments...>::type make(Arguments &&...arguments)
    {
        return {create(std::forward<Arguments>(arguments)...), deleter()};
    }

    static cpool::handle<T> handle_of(const T *object) noexcept
    {
        cpool_t *pool = native_handle();

        return cpool::handle<T>(pool != nullptr ? cpool_handle(pool, object) : CPOOL_HANDLE_NONE);
    }
    static T *resolve(cpool::handle<T> handle) noexcept
    {
        cpool_t *pool = native_handle();

        return static_cast<T *>(pool != nullptr ? cpool_resolve(pool, handle.value()) : nullptr);
    }
    static live_range<T> live(std::size_t first = 0,
                              std::size_t end = static_cast<std::size_t>(-1)) noexcept
    {
        return live_range<T>(native_handle(), first, end);
    }

    /* For use with all functions of <cpool.h>, such as those that act on a pool as a whole. */
    static cpool_t *native_handle() noexcept { return Tag::native_handle(); }

    /* <name>_open and <name>_close.  Without a configuration: the settings of the definition. */
    static int open(const cpool_config_t *config = nullptr) noexcept { return Tag::open(config); }
    static int close() noexcept { return Tag::close(); }
};

} // namespace cpool

#endif /* CPOOL_POOL_HPP */
