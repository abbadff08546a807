/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cpool/inplace.hpp - a pool of objects of one type, with its memory inside it, for C++.
 *
 *     static cpool::inplace_pool<job, 256, 4> jobs;    256 jobs, caches for four threads
 *     job *one = jobs->create(7);                      nullptr when dry
 *     jobs->destroy(one);
 */
#ifndef CPOOL_INPLACE_HPP
#define CPOOL_INPLACE_HPP

#include <cpool/pool.hpp>

namespace cpool {

/*
 * A pool of Capacity objects, with caches for Caches threads, that asks the operating system for no
 * memory.  It is neither copied nor moved, and the pool must not be moved out of it.
 */
template <class T, std::size_t Capacity, std::size_t Caches = 4> class inplace_pool {
    static_assert(Capacity > 0 && Caches > 0, "cpool: a pool has slots and caches");

public:
    inplace_pool() : pool_(configuration(memory_)) {} /* needs no zeroed memory */
    inplace_pool(const inplace_pool &) = delete;
    inplace_pool &operator=(const inplace_pool &) = delete;

    pool<T> &operator*() noexcept { return pool_; }
    const pool<T> &operator*() const noexcept { return pool_; }
    pool<T> *operator->() noexcept { return &pool_; }
    const pool<T> *operator->() const noexcept { return &pool_; }

    /* The size of the memory: CPOOL_MEMORY_BYTES. */
    static constexpr std::size_t memory_bytes() noexcept { return bytes; }

private:
    static constexpr std::size_t bytes =
        CPOOL_MEMORY_BYTES(sizeof(T), Capacity, Caches) +
        (alignof(T) > CPOOL_MEMORY_ALIGN ? alignof(T) : 0);

    static cpool_config_t configuration(unsigned char *memory) noexcept
    {
        cpool_config_t config = pool<T>::configuration(Capacity);

        config.thread_caches = Caches;
        config.memory = memory;
        config.memory_size = bytes;
        return config;
    }

    alignas(CPOOL_MEMORY_ALIGN) unsigned char memory_[bytes];
    pool<T> pool_;
};

} // namespace cpool

#endif /* CPOOL_INPLACE_HPP */
