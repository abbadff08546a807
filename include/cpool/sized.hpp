/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cpool/sized.hpp - blocks of many sizes, and an allocator for containers, for C++.
 */
#ifndef CPOOL_SIZED_HPP
#define CPOOL_SIZED_HPP

#include <cpool/error.hpp>
#include <cpool/pools.h>
#include <cpool/sized.h>

#include <type_traits>
#include <utility>

namespace cpool {

/* A cpool_sized_t that lasts as long as this object.  Moves work as in pool.  If it is not open, it
 * has no blocks, and what is given to it is reported as CPOOL_EPOOL. */
class sized {
public:
    sized() noexcept : handle_(nullptr), open_(false) {}
    explicit sized(const cpool_sized_config_t &config) : sized() { detail::require(open(config)); }
    sized(sized &&other) noexcept : sized() { swap(other); }
    sized &operator=(sized &&other) noexcept
    {
        sized taken(std::move(other));

        swap(taken);
        return *this;
    }
    sized(const sized &) = delete;
    sized &operator=(const sized &) = delete;
    ~sized() { close(); }

    /* Like cpool_sized_create.  CPOOL_EOPEN if it is open. */
    int open(const cpool_sized_config_t &config) noexcept
    {
        int code = open_ ? static_cast<int>(CPOOL_EOPEN) : cpool_sized_create(&handle_, &config);

        open_ = open_ || code == 0;
        return code;
    }
    /* The handle is kept, and refused later. */
    int close() noexcept
    {
        if (!open_)
            return CPOOL_OK;
        open_ = false;
        return cpool_sized_destroy(handle_);
    }
    bool is_open() const noexcept { return open_; }
    cpool_sized_t *native_handle() const noexcept { return handle_; }

    /* cpool_sized_alloc, cpool_sized_alloc_aligned, cpool_sized_calloc, cpool_sized_realloc and
     * cpool_sized_free. */
    void *allocate(std::size_t size) noexcept
    {
        return handle_ != nullptr ? cpool_sized_alloc(handle_, size) : nullptr;
    }
    void *allocate_aligned(std::size_t size, std::size_t align) noexcept
    {
        return handle_ != nullptr ? cpool_sized_alloc_aligned(handle_, size, align) : nullptr;
    }
    void *allocate_zeroed(std::size_t count, std::size_t size) noexcept
    {
        return handle_ != nullptr ? cpool_sized_calloc(handle_, count, size) : nullptr;
    }
    void *reallocate(void *block, std::size_t size) noexcept
    {
        return handle_ != nullptr ? cpool_sized_realloc(handle_, block, size) : nullptr;
    }
    void deallocate(void *block) noexcept
    {
        if (handle_ != nullptr)
            cpool_sized_free(handle_, block);
        else
            cpool_free_uncached(nullptr, block);
    }

    /* cpool_sized_usable_size, cpool_sized_trim and cpool_sized_read_stats. */
    std::size_t usable_size(const void *block) const noexcept
    {
        return handle_ != nullptr ? cpool_sized_usable_size(handle_, block) : 0;
    }
    std::size_t trim() noexcept { return handle_ != nullptr ? cpool_sized_trim(handle_) : 0; }
    cpool_sized_stats_t stats() const noexcept
    {
        cpool_sized_stats_t stats = CPOOL_SIZED_STATS_INIT;

        if (handle_ != nullptr)
            (void)cpool_sized_read_stats(handle_, &stats);
        return stats;
    }

private:
    void swap(sized &other) noexcept
    {
        std::swap(handle_, other.handle_);
        std::swap(open_, other.open_);
    }

    cpool_sized_t *handle_;
    bool open_;
};

/*
 * The blocks of the whole program, with the default configuration.  They are created on first use,
 * and never destroyed, because objects may outlive everything else. nullptr if they cannot be
 * created.  The symbol is visible whatever -fvisibility says, because one module may free what
 * another one has allocated.
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
 * An allocator for the standard library's containers, especially those with nodes.
 *
 * Copies, and allocators of other types made from one, use the same blocks and compare equal.  A
 * container passes its allocator on when it is moved or swapped, and keeps its own when another one
 * is assigned to it.  The blocks must outlive the container.  The default constructor uses
 * shared_blocks().
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
        if (blocks == nullptr)
            CPOOL_THROW_(std::bad_alloc());
        find_pool();
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
    void find_pool() noexcept
    {
        cpool_sized_class_t description = CPOOL_SIZED_CLASS_INIT;

        cpool_sized_free(blocks_, many(1)); /* the first block of a class creates its pool */
        if (cpool_sized_class_of(blocks_, sizeof(T), &description) == 0 &&
            description.block_size % alignof(T) == 0)
            pool_ = description.source;
    }
    void *many(std::size_t count) const noexcept
    {
        if (count > static_cast<std::size_t>(-1) / sizeof(T))
            return nullptr;
        return cpool_sized_alloc_aligned(blocks_, count * sizeof(T), alignof(T));
    }

    cpool_sized_t *blocks_;
    cpool_t *pool_; /* constant: the class of single objects, if there is one with their
                       alignment.  The inline path takes slots from it; they are freed to blocks_ */
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

} // namespace cpool

#endif /* CPOOL_SIZED_HPP */
