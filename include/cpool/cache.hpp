/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cpool/cache.hpp - explicit caches, for C++.
 *
 *     cpool::cache<job> cache(jobs);               of a fiber, which may change threads
 *     job *one = cache.create(7);                  nullptr when dry
 *     cache.destroy(one);
 *     cache.flush();                               before the fiber sleeps
 */
#ifndef CPOOL_CACHE_HPP
#define CPOOL_CACHE_HPP

#include <cpool/pool.hpp>

namespace cpool {

/*
 * An explicit cache of a pool of objects of one type, which lasts as long as this object.
 *
 * Only one thread at a time may use it (cpool_cache_create).  A cache that is not open, or that has
 * been moved from, has no slots, and a slot that is given to it is reported as CPOOL_EPOOL.
 *
 * End or close a cache before its pool.  The end of the pool unmaps its caches, so a cache that is
 * used, closed or destroyed after that traps.  After cpool_reset that is refused, and reported as
 * CPOOL_EPOOL.
 */
template <class T> class cache {
public:
    cache() noexcept : handle_(nullptr) {}

    /* Not open if cpool_cache_create fails. */
    explicit cache(cpool_t *pool) noexcept : handle_(nullptr) { (void)open(pool); }
    explicit cache(const pool<T> &pool) noexcept : cache(pool.native_handle()) {}
    cache(cache &&other) noexcept : handle_(other.handle_) { other.handle_ = nullptr; }
    cache &operator=(cache &&other) noexcept
    {
        cache taken(std::move(other)); /* ends this one's own, with the scope */

        std::swap(handle_, taken.handle_);
        return *this;
    }
    cache(const cache &) = delete;
    cache &operator=(const cache &) = delete;
    ~cache() { close(); }

    /* Like cpool_cache_create.  CPOOL_EOPEN if it is open. */
    int open(cpool_t *pool) noexcept
    {
        return handle_ == nullptr ? cpool_cache_create(&handle_, pool)
                                  : static_cast<int>(CPOOL_EOPEN);
    }
    /* Like cpool_cache_destroy. */
    void close() noexcept
    {
        cpool_cache_destroy(handle_);
        handle_ = nullptr;
    }
    bool is_open() const noexcept { return handle_ != nullptr; }
    cpool_cache_t *native_handle() const noexcept { return handle_; }

    /* Slots without objects: cpool_cache_alloc and cpool_cache_free. */
    void *allocate() noexcept { return handle_ != nullptr ? cpool_cache_alloc(handle_) : nullptr; }
    void deallocate(T *slot) noexcept
    {
        if (handle_ != nullptr)
            cpool_cache_free(handle_, static_cast<void *>(slot));
        else
            cpool_free_uncached(nullptr, slot);
    }

    /* As in pool. */
    template <class... Arguments> T *create(Arguments &&...arguments)
    {
        return detail::construct<T>(*this, std::forward<Arguments>(arguments)...);
    }
    void destroy(T *object) noexcept
    {
        if (object == nullptr)
            return;
        object->~T();
        deallocate(object);
    }

    /* Like cpool_cache_flush. */
    void flush() noexcept
    {
        if (handle_ != nullptr)
            cpool_cache_flush(handle_);
    }

private:
    cpool_cache_t *handle_;
};

} // namespace cpool

#endif /* CPOOL_CACHE_HPP */
