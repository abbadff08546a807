/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cpool/object.hpp - pools of objects that stay constructed, for C++.
 *
 *     struct connection { connection(); void reset(); ... };
 *
 *     cpool::object_pool<connection, cpool::reset_member> connections(8);
 *     cpool::object_pool<connection, cpool::reset_member>::pointer one = connections.get();
 *
 * The policy decides what happens to an object between two uses:
 *
 *   keep           nothing
 *   reset_member   its member function reset() is called
 *   rebuild        it is destroyed when it is put back, and constructed when it is got
 *
 * A policy of one's own has a template<class T> static void reset(T &).
 *
 * An exception of a maker or of a reset in get() passes to the caller of get(), and the
 * object does not.  With CPOOL_OBJECT_EAGER resets happen in the pointer's destructor, where
 * an exception ends the program.
 */
#ifndef CPOOL_OBJECT_HPP
#define CPOOL_OBJECT_HPP

#include <cpool/error.hpp>
#include <cpool/object_frame.h>

#include <cstddef>
#include <exception>
#include <iterator>
#include <memory>
#include <type_traits>
#include <utility>

namespace cpool {

struct keep {
    template <class T> static void reset(T &) noexcept {}
};

struct reset_member {
    template <class T> static void reset(T &object) { object.reset(); }
};

struct rebuild : keep {};

/* The maker of objects that have a constructor without arguments. */
template <class T> struct default_maker {
    void operator()(void *place) const { ::new (place) T(); }
};

namespace detail {

#if defined(__cpp_exceptions) || defined(__EXCEPTIONS)

/* The exception that a hook must not let through C, until get() throws it again. */
CPOOL_API inline std::exception_ptr &pending() noexcept
{
    static thread_local std::exception_ptr exception;

    return exception;
}

inline bool is_pending() noexcept { return pending() != nullptr; }

inline void rethrow_pending()
{
    std::exception_ptr exception = pending();

    pending() = nullptr;
    std::rethrow_exception(exception);
}

inline void keep_pending() noexcept { pending() = std::current_exception(); }
inline void drop_pending() noexcept { pending() = nullptr; }

/* Keeps an exception while code of an object runs, which may use pools and so drop it. */
class aside {
public:
    aside() noexcept : before_() { std::swap(before_, pending()); }
    aside(const aside &) = delete;
    aside &operator=(const aside &) = delete;
    ~aside()
    {
        if (!is_pending())
            std::swap(before_, pending());
    }

private:
    std::exception_ptr before_;
};

#else

inline bool is_pending() noexcept { return false; }
inline void rethrow_pending() noexcept {}
inline void keep_pending() noexcept {}
inline void drop_pending() noexcept {}

class aside {
public:
    aside() noexcept {}
};

#endif

} // namespace detail

/* The active objects of a pool, for a loop.  Each begin() starts anew. */
template <class T> class active_range {
public:
    class iterator {
    public:
        using iterator_category = std::input_iterator_tag;
        using value_type = T;
        using difference_type = std::ptrdiff_t;
        using pointer = T *;
        using reference = T &;

        iterator() noexcept : iterator(nullptr) {}
        explicit iterator(const cpool_objects_t *pool) noexcept
            : pool_(pool), info_(CPOOL_OBJECT_INFO_INIT)
        {
            if (pool_ != nullptr)
                ++*this;
        }
        T &operator*() const noexcept { return *static_cast<T *>(info_.object); }
        T *operator->() const noexcept { return static_cast<T *>(info_.object); }
        iterator &operator++() noexcept
        {
            info_.object = cpool_objects_next(pool_, &info_); /* nullptr, too, of a closed pool */
            return *this;
        }
        iterator operator++(int) noexcept
        {
            iterator before(*this);

            ++*this;
            return before;
        }
        const cpool_object_info_t &info() const noexcept { return info_; }

        friend bool operator==(const iterator &a, const iterator &b) noexcept
        {
            return a.info_.object == b.info_.object;
        }
        friend bool operator!=(const iterator &a, const iterator &b) noexcept { return !(a == b); }

    private:
        const cpool_objects_t *pool_;
        cpool_object_info_t info_;
    };

    explicit active_range(const cpool_objects_t *pool) noexcept : pool_(pool) {}
    iterator begin() const noexcept { return iterator(pool_); }
    iterator end() const noexcept { return iterator(); }

private:
    const cpool_objects_t *pool_;
};

/*
 * A pool of objects that make(place) constructs, which lasts as long as this object.  It
 * neither moves nor copies, because its hooks lead to it.
 */
template <class T, class Reset = keep, class Make = default_maker<T>> class object_pool {
public:
    using value_type = T;

    /* Puts an object back. */
    class deleter {
    public:
        deleter() noexcept : objects_(nullptr) {}
        explicit deleter(cpool_objects_t *objects) noexcept : objects_(objects) {}
        void operator()(T *object) const noexcept
        {
            bool before = detail::is_pending();

            cpool_object_put(objects_, object);
            if (!before && detail::is_pending())
                std::terminate();
        }

    private:
        cpool_objects_t *objects_;
    };

    using pointer = std::unique_ptr<T, deleter>;

    /* The configuration of a pool of up to so many objects, to be changed and opened.  Its
     * type is set by open. */
    static cpool_objects_config_t configuration(std::size_t capacity) noexcept
    {
        cpool_objects_config_t config = CPOOL_OBJECTS_CONFIG_INIT;

        config.capacity = capacity;
        return config;
    }

    explicit object_pool(Make make = Make())
        : make_(std::move(make)), handle_(nullptr), open_(false)
    {
    }
    explicit object_pool(std::size_t capacity, Make make = Make())
        : object_pool(configuration(capacity), std::move(make))
    {
    }
    explicit object_pool(const cpool_objects_config_t &config, Make make = Make())
        : object_pool(std::move(make))
    {
        int code = start(config);

        if (detail::is_pending()) {
            close();
            detail::rethrow_pending();
        }
        detail::require(code);
    }
    object_pool(const object_pool &) = delete;
    object_pool &operator=(const object_pool &) = delete;
    ~object_pool() { close(); }

    /* As cpool_objects_create.  It returns a code if the maker threw.  CPOOL_EOPEN if it is
     * open. */
    int open(const cpool_objects_config_t &config) noexcept
    {
        int code = start(config);

        detail::drop_pending();
        return code;
    }

    /* As cpool_objects_destroy.  All objects are destroyed, active ones too.  The handle stays, so
     * that pointers that come later are refused as in C. */
    int close() noexcept
    {
        if (!open_)
            return CPOOL_OK;
        open_ = false;
        return cpool_objects_destroy(handle_);
    }

    bool is_open() const noexcept { return open_; }
    cpool_objects_t *native_handle() const noexcept { return handle_; }

    /* An object, recycled or new, or an empty pointer when there is none, or the pool was never
     * opened.  Then get_with and populate have the code CPOOL_EPOOL, and the others return 0. */
    pointer get()
    {
        detail::drop_pending();
        pointer object(static_cast<T *>(handle_ != nullptr ? cpool_object_get(handle_) : nullptr),
                       deleter(handle_));

        if (detail::is_pending())
            detail::rethrow_pending(); /* and puts the object back */
        return object;
    }

    /* As get and cpool_object_get_with, which may wait. */
    int get_with(pointer &object, cpool_grant_t *grant = nullptr)
    {
        void *found = nullptr;
        int code = CPOOL_EPOOL;

        detail::drop_pending();
        if (handle_ != nullptr)
            code = cpool_object_get_with(handle_, &found, grant);
        pointer own(static_cast<T *>(found), deleter(handle_));

        if (detail::is_pending())
            detail::rethrow_pending(); /* and puts the object back */
        object = std::move(own);
        return code;
    }

    /* As cpool_object_release: puts an object of any pool of this type back. */
    static void release(T *object) noexcept { cpool_object_release(object); }

    /* As cpool_objects_populate.  After the maker's exception those created before it stay. */
    std::size_t populate(std::size_t n, int *code = nullptr)
    {
        std::size_t created = 0;

        detail::drop_pending();
        if (handle_ != nullptr)
            created = cpool_objects_populate(handle_, n, code);
        else if (code != nullptr)
            *code = CPOOL_EPOOL;
        if (detail::is_pending())
            detail::rethrow_pending();
        return created;
    }

    /* As cpool_objects_reset.  The exception of a hook passes when all are back. */
    std::size_t reset(std::size_t n = SIZE_MAX)
    {
        std::size_t put = 0;

        detail::drop_pending();
        if (handle_ != nullptr)
            put = cpool_objects_reset(handle_, n);
        if (detail::is_pending())
            detail::rethrow_pending();
        return put;
    }

    std::size_t resize(std::ptrdiff_t by, unsigned flags = 0) noexcept
    {
        return handle_ != nullptr ? cpool_objects_resize(handle_, by, flags) : 0;
    }

    /* The active objects, for a loop, as cpool_objects_next finds them. */
    active_range<T> active() const noexcept { return active_range<T>(handle_); }

    cpool_objects_stats_t stats() const noexcept
    {
        cpool_objects_stats_t stats = CPOOL_OBJECTS_STATS_INIT;

        if (handle_ != nullptr)
            (void)cpool_objects_read_stats(handle_, &stats);
        return stats;
    }

    /*
     * A frame of the pool, which ends with this object, before the pool does.  It has one owner
     * at a time (cpool/object_frame.h).
     */
    class frame {
    public:
        /* Not open where cpool_object_frame_begin fails. */
        explicit frame(const object_pool &pool) noexcept : handle_(nullptr)
        {
            (void)cpool_object_frame_begin(&handle_, pool.native_handle());
        }
        frame(frame &&other) noexcept : handle_(other.handle_) { other.handle_ = nullptr; }
        frame &operator=(frame &&other) noexcept
        {
            frame taken(std::move(other)); /* ends this one's own, with the scope */

            std::swap(handle_, taken.handle_);
            return *this;
        }
        frame(const frame &) = delete;
        frame &operator=(const frame &) = delete;
        ~frame() { end(); }

        bool is_open() const noexcept { return handle_ != nullptr; }
        cpool_object_frame_t *native_handle() const noexcept { return handle_; }

        /* An object that goes back with the frame, or nullptr where there is none, or the frame is
         * not open. */
        T *get()
        {
            T *object;

            if (handle_ == nullptr)
                return nullptr;
            detail::drop_pending();
            object = static_cast<T *>(cpool_object_frame_get(handle_));
            if (detail::is_pending())
                detail::rethrow_pending(); /* the object stays with the frame */
            return object;
        }

        void end() noexcept
        {
            bool before = detail::is_pending();

            cpool_object_frame_end(handle_);
            handle_ = nullptr;
            if (!before && detail::is_pending())
                std::terminate();
        }

    private:
        cpool_object_frame_t *handle_;
    };

private:
    /* The code of a maker that threw. */
    enum { thrown = 1 };

    /* Leaves the exception of a maker pending. */
    int start(cpool_objects_config_t config) noexcept
    {
        cpool_object_type_t type = CPOOL_OBJECT_TYPE_INIT;
        int code;

        detail::drop_pending();
        if (open_)
            return CPOOL_EOPEN;
        type.object_size = sizeof(T);
        type.object_align = alignof(T);
        if (std::is_same<Reset, rebuild>::value) {
            type.activate = &create;
            type.deactivate = &destroy;
        } else {
            type.create = &create;
            type.destroy = &destroy;
        }
        if (!std::is_base_of<keep, Reset>::value)
            type.reset = &reset;
        type.arg = this;
        config.type = &type;
        code = cpool_objects_create(&handle_, &config);
        open_ = code == 0;
        return code;
    }

    static int create(void *place, void *self) noexcept
    {
        CPOOL_TRY_ {
            static_cast<object_pool *>(self)->make_(place);
            detail::drop_pending(); /* of an object that this one replaces */
            return 0;
        }
        CPOOL_CATCH_ALL_ {
            detail::keep_pending();
        }
        return thrown;
    }
    static void reset(void *object, void *) noexcept
    {
        detail::aside before;

        CPOOL_TRY_ {
            Reset::reset(*static_cast<T *>(object));
        }
        CPOOL_CATCH_ALL_ {
            detail::keep_pending();
        }
    }
    static void destroy(void *object, void *) noexcept
    {
        detail::aside before;

        static_cast<T *>(object)->~T();
    }

    Make make_;
    cpool_objects_t *handle_;
    bool open_;
};

} // namespace cpool

#endif /* CPOOL_OBJECT_HPP */
