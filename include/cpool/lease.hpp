/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cpool/lease.hpp - objects that all go back with a frame, for C++.
 *
 *     {
 *         cpool::lease<spark> frame(sparks);
 *         spark *one = frame.create(7);         any thread
 *         ...
 *     }                                         all of them are free again
 *
 * The threads that use a lease, and the moment at which it may end, are those that
 * <cpool/lease.h> speaks of.
 */
#ifndef CPOOL_LEASE_HPP
#define CPOOL_LEASE_HPP

#include <cpool/lease.h>
#include <cpool/pool.hpp>

namespace cpool {

/*
 * A lease on a pool of objects of one type, which ends with this object.
 *
 * The end looks at no object, so the type has no destructor that does anything.  A lease that
 * has been moved from is ended.
 */
template <class T> class lease {
    static_assert(std::is_trivially_destructible<T>::value,
                  "the end of a lease runs no destructors");

public:
    lease() noexcept : handle_(nullptr), pool_(nullptr) {}

    /* Not open where cpool_lease_begin returns NULL. */
    explicit lease(cpool_t *pool) noexcept : handle_(cpool_lease_begin(pool)), pool_(pool) {}
    explicit lease(const pool<T> &pool) noexcept : lease(pool.native_handle()) {}
    lease(lease &&other) noexcept : handle_(other.handle_), pool_(other.pool_)
    {
        other.handle_ = nullptr;
    }
    lease &operator=(lease &&other) noexcept
    {
        lease taken(std::move(other)); /* ends this one's own, with the scope */

        std::swap(handle_, taken.handle_);
        std::swap(pool_, taken.pool_);
        return *this;
    }
    lease(const lease &) = delete;
    lease &operator=(const lease &) = delete;
    ~lease() { end(); }

    bool is_open() const noexcept { return handle_ != nullptr; }
    cpool_lease_t *native_handle() const noexcept { return handle_; }

    /* An object from these arguments that ends with the lease, or nullptr when no slot can be
     * had or the lease is not open.  Where its constructor may throw, the slot comes from
     * cpool_alloc, and cpool_lease_adopt follows. */
    template <class... Arguments> T *create(Arguments &&...arguments)
    {
        if (handle_ == nullptr)
            return nullptr;
        return create_as(std::is_nothrow_constructible<T, Arguments &&...>(),
                         std::forward<Arguments>(arguments)...);
    }

    /* Makes a live object of the pool one of the lease's: cpool_lease_adopt. */
    int adopt(T *object) noexcept { return cpool_lease_adopt(handle_, object); }

    /* Ends the lease.  Returns as cpool_lease_end how many slots went back.  0 where it is not
     * open. */
    std::size_t end() noexcept
    {
        cpool_lease_t *handle = handle_;

        if (handle == nullptr)
            return 0;
        handle_ = nullptr;
        return cpool_lease_end(handle);
    }

    /* As cpool_lease_reset: how many slots went back from a lease that stays open, or 0 where it
     * is not open. */
    std::size_t reset() noexcept { return handle_ != nullptr ? cpool_lease_reset(handle_) : 0; }

private:
    /* Slots for detail::construct. */
    struct slots {
        void *allocate() noexcept { return cpool_alloc(pool); }
        void deallocate(T *slot) noexcept { cpool_free(pool, static_cast<void *>(slot)); }
        cpool_t *pool;
    };

    template <class... Arguments> T *create_as(std::true_type, Arguments &&...arguments)
    {
        void *slot = cpool_lease_alloc(handle_);

        return slot == nullptr ? nullptr : ::new (slot) T(std::forward<Arguments>(arguments)...);
    }

    template <class... Arguments> T *create_as(std::false_type, Arguments &&...arguments)
    {
        slots from{pool_};
        T *object = detail::construct<T>(from, std::forward<Arguments>(arguments)...);

        if (object == nullptr || adopt(object) == 0)
            return object;
        from.deallocate(object);
        return nullptr;
    }

    cpool_lease_t *handle_;
    cpool_t *pool_;
};

} // namespace cpool

#endif /* CPOOL_LEASE_HPP */
