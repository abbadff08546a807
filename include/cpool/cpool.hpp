/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cpool/cpool.hpp - libcpool for C++11 and later, over the functions of <cpool.h>,
 * <cpool/sized.h>, <cpool/track.h> and <cpool/object.h>.
 *
 * OVERVIEW
 *
 *     cpool::pool<job> jobs(100000);                   closed by its destructor
 *     cpool::pool<job>::pointer one = jobs.make(7);    a unique_ptr; empty when dry
 *
 *     CPOOL_STATIC_POOL(jobs, job);                    in a header, at global scope
 *     CPOOL_DEFINE(jobs, job, .capacity = 100000);     in one source file
 *     using all_jobs = cpool::static_pool<job, jobs_tag>;
 *     all_jobs::pointer two = all_jobs::make(7);       as large as a plain pointer
 *
 *     for (job &each : jobs.live()) ...                tracked pools
 *
 *     std::list<int, cpool::allocator<int>> numbers;   nodes from pools by their size
 *     class task : public cpool::pooled<> { ... };     new and delete of one class
 *     cpool::pool_resource frames(4096, 16, 100);      a std::pmr::memory_resource
 *     cpool::object_pool<buffer, cpool::reset_member> buffers(8);    stay constructed
 *
 * NOTES
 *
 * Nothing here throws by itself but allocators, memory resources, operators new, and the
 * constructors that take a configuration.  Where exceptions are disabled these end the
 * program instead (std::terminate).  An exception of an object's constructor passes, and
 * its slot is given back before.
 *
 * The thread-safety and the progress of each member are those of the function of the same
 * name in C.  Construction, destruction and moves of pools are for one thread.
 *
 * Names in cpool::detail are not for use.
 */
#ifndef CPOOL_HPP
#define CPOOL_HPP

#ifndef __cplusplus
#error "<cpool/cpool.hpp> is for C++; include <cpool.h>"
#endif

#include <cstddef>
#include <exception>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

#include <cpool.h>
#include <cpool/sized.h>

#if defined(__has_include) && __cplusplus >= 201703L
#if __has_include(<memory_resource>)
#include <memory_resource>
#endif
#endif

#if defined(__cpp_lib_memory_resource) && __cpp_lib_memory_resource >= 201603L
#define CPOOL_HAS_PMR_ 1
#else
#define CPOOL_HAS_PMR_ 0
#endif

#if defined(__cpp_exceptions) || defined(__EXCEPTIONS)
#define CPOOL_THROW_(exception) throw exception
#define CPOOL_TRY_ try
#define CPOOL_CATCH_ALL_ catch (...)
#define CPOOL_RETHROW_ throw
#else
#define CPOOL_THROW_(exception) std::terminate()
#define CPOOL_TRY_ if (true)
#define CPOOL_CATCH_ALL_ else
#define CPOOL_RETHROW_ ((void)0)
#endif

namespace cpool {

/* A code of <cpool.h> as an exception. */
class error : public std::exception {
public:
    explicit error(int code) noexcept : code_(code) {}
    const char *what() const noexcept override { return cpool_strerror(code_); }
    int code() const noexcept { return code_; }

private:
    int code_;
};

namespace detail {

inline void require(int code)
{
    if (code != 0)
        CPOOL_THROW_(error(code));
}

inline void *required(void *memory)
{
    if (memory == nullptr)
        CPOOL_THROW_(std::bad_alloc());
    return memory;
}

/* An object in a slot of From's, which has the slot back if the constructor throws. */
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

} // namespace detail

} // namespace cpool

#include <cpool/live.hpp>

namespace cpool {

/*
 * ---- pool ------------------------------------------------------------------
 */

/*
 * A pool of objects of one type, which lasts as long as this object.
 *
 * A pool that is closed with objects still live does not call their destructors.  A pool
 * that has been moved from is closed.
 */
template <class T> class pool {
public:
    using value_type = T;

    /* Destroys an object, and gives its slot back. */
    class deleter {
    public:
        deleter() noexcept : pool_(nullptr) {}
        explicit deleter(cpool_t *handle) noexcept : pool_(handle) {}
        void operator()(T *object) const noexcept
        {
            object->~T();
            cpool_free(pool_, static_cast<void *>(object));
        }

    private:
        cpool_t *pool_;
    };

    using pointer = std::unique_ptr<T, deleter>;

    /* The configuration of a pool with this capacity, to be changed and opened. */
    static cpool_config_t configuration(std::size_t capacity) noexcept
    {
        cpool_config_t config = CPOOL_CONFIG_INIT;

        config.slot_size = sizeof(T);
        config.slot_align = alignof(T);
        config.capacity = capacity;
        return config;
    }

    pool() noexcept : handle_(nullptr) {}
    explicit pool(std::size_t capacity) : handle_(nullptr)
    {
        detail::require(open(configuration(capacity)));
    }
    explicit pool(const cpool_config_t &config) : handle_(nullptr)
    {
        detail::require(open(config));
    }
    pool(pool &&other) noexcept : handle_(other.handle_) { other.handle_ = nullptr; }
    pool &operator=(pool &&other) noexcept
    {
        std::swap(handle_, other.handle_);
        return *this;
    }
    pool(const pool &) = delete;
    pool &operator=(const pool &) = delete;
    ~pool() { close(); }

    /* As cpool_create, which slots too small for the type or aligned to less are no
     * settings for: CPOOL_ESLOTSIZE, CPOOL_EALIGN.  CPOOL_EOPEN if it is open. */
    int open(const cpool_config_t &config) noexcept
    {
        if (handle_ != nullptr)
            return CPOOL_EOPEN;
        if (config.slot_size < sizeof(T))
            return CPOOL_ESLOTSIZE;
        if (config.slot_align < alignof(T) || config.slot_offset % alignof(T) != 0)
            return CPOOL_EALIGN;
        return cpool_create(&handle_, &config);
    }

    /* As cpool_destroy. */
    int close() noexcept
    {
        cpool_t *handle = handle_;

        handle_ = nullptr;
        return cpool_destroy(handle);
    }

    bool is_open() const noexcept { return handle_ != nullptr; }

    /* For all functions of <cpool.h>. */
    cpool_t *native_handle() const noexcept { return handle_; }

    /* Slots without objects: cpool_alloc and cpool_free. */
    void *allocate() noexcept { return cpool_alloc(handle_); }
    void deallocate(T *slot) noexcept { cpool_free(handle_, static_cast<void *>(slot)); }

    /* An object from these arguments, or nullptr when no slot can be had. */
    template <class... Arguments> T *create(Arguments &&...arguments)
    {
        return detail::construct<T>(*this, std::forward<Arguments>(arguments)...);
    }

    /* Ends an object of create's.  nullptr is a no-op. */
    void destroy(T *object) noexcept
    {
        if (object != nullptr)
            deleter{handle_}(object);
    }

    /* The same with an owner.  The pool must not be closed or moved before it ends. */
    template <class... Arguments> pointer make(Arguments &&...arguments)
    {
        return pointer(create(std::forward<Arguments>(arguments)...), deleter(handle_));
    }

    /* As cpool_handle and cpool_resolve, in tracked pools. */
    cpool::handle<T> handle_of(const T *object) const noexcept
    {
        return cpool::handle<T>(cpool_handle(handle_, object));
    }
    T *resolve(cpool::handle<T> handle) const noexcept
    {
        return static_cast<T *>(cpool_resolve(handle_, handle.value()));
    }

    /* Live objects of tracked pools, in the order of the indices. */
    live_range<T> live(std::size_t first = 0,
                       std::size_t end = static_cast<std::size_t>(-1)) const noexcept
    {
        return live_range<T>(handle_, first, end);
    }

    cpool_stats_t stats() const noexcept
    {
        cpool_stats_t stats = CPOOL_STATS_INIT;

        (void)cpool_stats(handle_, &stats);
        return stats;
    }

private:
    cpool_t *handle_;
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

    using pointer = std::unique_ptr<T, deleter>;

    static void *allocate() noexcept { return Tag::allocate(); }
    static void deallocate(T *slot) noexcept { Tag::deallocate(slot); }

    /* As of pool. */
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
    template <class... Arguments> static pointer make(Arguments &&...arguments)
    {
        return pointer(create(std::forward<Arguments>(arguments)...));
    }

    static cpool::handle<T> handle_of(const T *object) noexcept
    {
        return cpool::handle<T>(cpool_handle(native_handle(), object));
    }
    static T *resolve(cpool::handle<T> handle) noexcept
    {
        return static_cast<T *>(cpool_resolve(native_handle(), handle.value()));
    }
    static live_range<T> live(std::size_t first = 0,
                              std::size_t end = static_cast<std::size_t>(-1)) noexcept
    {
        return live_range<T>(native_handle(), first, end);
    }

    static cpool_t *native_handle() noexcept { return Tag::native_handle(); }
    static int close() noexcept { return Tag::close(); }
};

/*
 * ---- Blocks of many sizes ----------------------------------------------------
 */

/* A cpool_sized_t that lasts as long as this object. */
class sized {
public:
    sized() noexcept : handle_(nullptr) {}
    explicit sized(const cpool_sized_config_t &config) : handle_(nullptr)
    {
        detail::require(open(config));
    }
    sized(sized &&other) noexcept : handle_(other.handle_) { other.handle_ = nullptr; }
    sized &operator=(sized &&other) noexcept
    {
        std::swap(handle_, other.handle_);
        return *this;
    }
    sized(const sized &) = delete;
    sized &operator=(const sized &) = delete;
    ~sized() { close(); }

    /* As cpool_sized_create.  CPOOL_EOPEN if it is open. */
    int open(const cpool_sized_config_t &config) noexcept
    {
        return handle_ != nullptr ? CPOOL_EOPEN : cpool_sized_create(&handle_, &config);
    }
    int close() noexcept
    {
        cpool_sized_t *handle = handle_;

        handle_ = nullptr;
        return cpool_sized_destroy(handle);
    }
    bool is_open() const noexcept { return handle_ != nullptr; }
    cpool_sized_t *native_handle() const noexcept { return handle_; }

private:
    cpool_sized_t *handle_;
};

/*
 * The blocks of the whole program, with the default configuration.  They are made on first
 * use, and never ended, because objects may outlive all others.  nullptr if they cannot be
 * made.  The symbol is visible whatever -fvisibility says, because one module may end
 * what another one has made.
 */
CPOOL_API inline cpool_sized_t *shared_blocks() noexcept
{
    struct maker {
        static cpool_sized_t *make() noexcept
        {
            cpool_sized_config_t config = CPOOL_SIZED_CONFIG_INIT;
            cpool_sized_t *blocks;

            config.name = "c++";
            return cpool_sized_create(&blocks, &config) == 0 ? blocks : nullptr;
        }
    };
    static cpool_sized_t *const blocks = maker::make();

    return blocks;
}

namespace detail {

inline void *alloc_shared(std::size_t size, std::size_t align) noexcept
{
    cpool_sized_t *blocks = shared_blocks();

    if (blocks == nullptr)
        return nullptr;
    return align <= alignof(std::max_align_t) ? cpool_sized_alloc(blocks, size)
                                              : cpool_sized_alloc_aligned(blocks, size, align);
}

inline void free_shared(void *block) noexcept
{
    if (block != nullptr)
        cpool_sized_free(shared_blocks(), block);
}

} // namespace detail

/*
 * An allocator for the standard library's containers, most of all those of nodes.
 *
 * Copies, and allocators of other types made from one, take from the same blocks and
 * compare equal.  A container hands its allocator on when it is moved or swapped, and
 * keeps its own when another one is assigned to it.  The blocks must outlive the
 * container.  The default constructor takes from shared_blocks().
 */
template <class T> class allocator {
public:
    using value_type = T;
    using propagate_on_container_copy_assignment = std::false_type;
    using propagate_on_container_move_assignment = std::true_type;
    using propagate_on_container_swap = std::true_type;
    using is_always_equal = std::false_type;

    allocator() : allocator(shared_blocks()) {}
    allocator(const sized &blocks) : allocator(blocks.native_handle()) {}
    explicit allocator(cpool_sized_t *blocks) : blocks_(blocks), pool_(nullptr)
    {
        cpool_sized_class_t description = CPOOL_SIZED_CLASS_INIT;

        if (blocks == nullptr)
            CPOOL_THROW_(std::bad_alloc());
        if (cpool_sized_class(blocks, cpool_sized_class_of(blocks, sizeof(T)), &description) == 0 &&
            description.block_size % alignof(T) == 0)
            pool_ = description.pool;
    }
    template <class U>
    allocator(const allocator<U> &other) noexcept : allocator(other.native_handle())
    {
    }

    T *allocate(std::size_t count)
    {
        void *block = nullptr;

        if (count == 1 && pool_ != nullptr)
            block = cpool_alloc(pool_);
        if (block == nullptr)
            block = detail::required(many(count));
        return static_cast<T *>(block);
    }
    void deallocate(T *block, std::size_t) noexcept { cpool_sized_free(blocks_, block); }

    cpool_sized_t *native_handle() const noexcept { return blocks_; }

private:
    void *many(std::size_t count) const noexcept
    {
        if (count > static_cast<std::size_t>(-1) / sizeof(T))
            return nullptr;
        return cpool_sized_alloc_aligned(blocks_, count * sizeof(T), alignof(T));
    }

    cpool_sized_t *blocks_;
    cpool_t *pool_; /* of single objects: the class that holds them, if it is aligned */
};

template <class T, class U>
bool operator==(const allocator<T> &a, const allocator<U> &b) noexcept
{
    return a.native_handle() == b.native_handle();
}

template <class T, class U>
bool operator!=(const allocator<T> &a, const allocator<U> &b) noexcept
{
    return !(a == b);
}

/*
 * ---- new and delete of one class ---------------------------------------------
 */

/* The tag of shared_blocks(). */
struct by_size {};

template <class Tag = by_size> class pooled;

namespace detail {

template <class Tag> struct source {
    using type = typename Tag::value_type;

    /* An align of 0 is not told.  The slots are aligned for their own type.  Another type
     * may be aligned to as much as its size allows. */
    static bool fits(std::size_t size, std::size_t align) noexcept
    {
        if (size > sizeof(type))
            return false;
        if (align == 0 && (size != sizeof(type) || !std::is_base_of<pooled<Tag>, type>::value))
            align = natural_align(size);
        return align <= alignof(type);
    }
    /* The most that operator new without an alignment is called for: the size of a type is
     * a multiple of its alignment. */
    static std::size_t natural_align(std::size_t size) noexcept
    {
        std::size_t lowest = size & (0 - size);

        return lowest < alignof(std::max_align_t) ? lowest : alignof(std::max_align_t);
    }
    static void *alloc(std::size_t size, std::size_t align) noexcept
    {
        return fits(size, align) ? Tag::allocate() : alloc_shared(size, align);
    }
    static void free(void *block, std::size_t size, std::size_t align) noexcept
    {
        if (fits(size, align))
            Tag::deallocate(block);
        else
            free_shared(block);
    }
    /* After a constructor threw, where the language does not tell the size. */
    static void free(void *block) noexcept
    {
        if (cpool_owns(Tag::native_handle(), block))
            Tag::deallocate(block);
        else
            free_shared(block);
    }
};

template <> struct source<by_size> {
    static void *alloc(std::size_t size, std::size_t align) noexcept
    {
        return alloc_shared(size, align);
    }
    static void free(void *block, std::size_t, std::size_t) noexcept { free_shared(block); }
    static void free(void *block) noexcept { free_shared(block); }
};

} // namespace detail

/*
 * A base class with operators new and delete that take from pools.  (The idea of replacing
 * them is Kenwright's, 2012.)
 *
 *     class task : public cpool::pooled<> { ... };            blocks by size
 *     class job : public cpool::pooled<jobs_tag> { ... };     a typed pool's slots
 *
 * Classes derived further that are larger than the typed pool's slots get blocks by size,
 * and so do those that may be aligned to more.  One that is as large as the pool's own type,
 * which has this base, must not be aligned to more.
 * They need a virtual destructor, as for any delete by a base.  Arrays are not affected.
 *
 * It is a base of coroutines' promises, too: their frames then are blocks by size.
 */
template <class Tag> class pooled {
public:
    static void *operator new(std::size_t size)
    {
        return detail::required(detail::source<Tag>::alloc(size, untold));
    }
    static void *operator new(std::size_t size, const std::nothrow_t &) noexcept
    {
        return detail::source<Tag>::alloc(size, untold);
    }
    static void *operator new(std::size_t, void *place) noexcept { return place; }
    static void operator delete(void *block, std::size_t size) noexcept
    {
        detail::source<Tag>::free(block, size, untold);
    }
    static void operator delete(void *block, const std::nothrow_t &) noexcept
    {
        detail::source<Tag>::free(block);
    }
    static void operator delete(void *, void *) noexcept {}
#if defined(__cpp_aligned_new)
    static void *operator new(std::size_t size, std::align_val_t align,
                              const std::nothrow_t &) noexcept
    {
        return detail::source<Tag>::alloc(size, static_cast<std::size_t>(align));
    }
    static void operator delete(void *block, std::align_val_t, const std::nothrow_t &) noexcept
    {
        detail::source<Tag>::free(block);
    }
    static void *operator new(std::size_t size, std::align_val_t align)
    {
        return detail::required(
            detail::source<Tag>::alloc(size, static_cast<std::size_t>(align)));
    }
    static void operator delete(void *block, std::size_t size, std::align_val_t align) noexcept
    {
        detail::source<Tag>::free(block, size, static_cast<std::size_t>(align));
    }
#endif

protected:
    pooled() = default;
    ~pooled() = default;

private:
    /* The type's alignment is not told to operators without one. */
    enum : std::size_t { untold = 0 };
};

#if CPOOL_HAS_PMR_

/*
 * ---- Memory resources (C++17) --------------------------------------------------
 */

/*
 * Blocks of up to one size and alignment from a pool of its own, all others, and those for
 * which the pool is dry, from another resource.  As thread-safe as the other resource.
 */
class pool_resource : public std::pmr::memory_resource {
public:
    pool_resource(std::size_t size, std::size_t align, std::size_t capacity,
                  std::pmr::memory_resource *upstream = std::pmr::get_default_resource())
        : handle_(nullptr), size_(size), align_(align), upstream_(upstream)
    {
        cpool_config_t config = CPOOL_CONFIG_INIT;

        config.slot_size = size;
        config.slot_align = align;
        config.capacity = capacity;
        detail::require(cpool_create(&handle_, &config));
    }
    pool_resource(const pool_resource &) = delete;
    pool_resource &operator=(const pool_resource &) = delete;
    ~pool_resource() override { cpool_destroy(handle_); }

    std::pmr::memory_resource *upstream_resource() const noexcept { return upstream_; }
    cpool_t *native_handle() const noexcept { return handle_; }

protected:
    void *do_allocate(std::size_t bytes, std::size_t align) override
    {
        void *slot = bytes <= size_ && align <= align_ ? cpool_alloc(handle_) : nullptr;

        return slot != nullptr ? slot : upstream_->allocate(bytes, align);
    }
    void do_deallocate(void *block, std::size_t bytes, std::size_t align) override
    {
        if (bytes <= size_ && align <= align_ && cpool_owns(handle_, block))
            cpool_free(handle_, block);
        else
            upstream_->deallocate(block, bytes, align);
    }
    bool do_is_equal(const std::pmr::memory_resource &other) const noexcept override
    {
        return this == &other;
    }

private:
    cpool_t *handle_;
    std::size_t size_;
    std::size_t align_;
    std::pmr::memory_resource *upstream_;
};

/*
 * Blocks of many sizes from classes of its own.  Those larger than all classes, and those
 * of dry classes, come from another resource.  As thread-safe as the other resource.
 */
class sized_resource : public std::pmr::memory_resource {
public:
    explicit sized_resource(
        std::pmr::memory_resource *upstream = std::pmr::get_default_resource())
        : sized_resource(initial(), upstream)
    {
    }
    explicit sized_resource(
        const cpool_sized_config_t &config,
        std::pmr::memory_resource *upstream = std::pmr::get_default_resource())
        : upstream_(upstream)
    {
        cpool_sized_fallback_t fallback = {sizeof(fallback), upstream, &take, &give, nullptr};
        cpool_sized_config_t own = config;

        own.fallback = &fallback;
        detail::require(blocks_.open(own));
    }
    sized_resource(const sized_resource &) = delete;
    sized_resource &operator=(const sized_resource &) = delete;
    ~sized_resource() override = default;

    std::pmr::memory_resource *upstream_resource() const noexcept { return upstream_; }
    cpool_sized_t *native_handle() const noexcept { return blocks_.native_handle(); }

protected:
    void *do_allocate(std::size_t bytes, std::size_t align) override
    {
        return detail::required(
            cpool_sized_alloc_aligned(blocks_.native_handle(), bytes, align));
    }
    void do_deallocate(void *block, std::size_t, std::size_t) override
    {
        cpool_sized_free(blocks_.native_handle(), block);
    }
    bool do_is_equal(const std::pmr::memory_resource &other) const noexcept override
    {
        return this == &other;
    }

private:
    static cpool_sized_config_t initial() noexcept
    {
        cpool_sized_config_t config = CPOOL_SIZED_CONFIG_INIT;

        return config;
    }
    /* An exception must not pass through C. */
    static void *take(std::size_t bytes, std::size_t align, void *upstream) noexcept
    {
        CPOOL_TRY_ {
            return static_cast<std::pmr::memory_resource *>(upstream)->allocate(bytes, align);
        }
        CPOOL_CATCH_ALL_ {
            return nullptr;
        }
        return nullptr;
    }
    static void give(void *block, std::size_t bytes, std::size_t align, void *upstream) noexcept
    {
        static_cast<std::pmr::memory_resource *>(upstream)->deallocate(block, bytes, align);
    }

    std::pmr::memory_resource *upstream_;
    sized blocks_;
};

#endif /* CPOOL_HAS_PMR_ */

} // namespace cpool

#include <cpool/object.hpp>

#endif /* CPOOL_HPP */
