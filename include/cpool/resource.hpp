/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cpool/resource.hpp - memory resources of C++17.
 */
#ifndef CPOOL_RESOURCE_HPP
#define CPOOL_RESOURCE_HPP

#include <cpool/sized.hpp>

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

#if CPOOL_HAS_PMR_

namespace cpool {

/*
 * Blocks up to one size and alignment come from a pool of this resource's own.  All others, and
 * those for which the pool is dry, come from another resource.  As thread-safe as the other
 * resource.  An alignment of 0, which no block has, throws an error with CPOOL_EALIGN.
 */
class pool_resource : public std::pmr::memory_resource {
public:
    pool_resource(std::size_t size, std::size_t align, std::size_t capacity,
                  std::pmr::memory_resource *upstream = std::pmr::get_default_resource())
        : handle_(nullptr), size_(size), align_(align), upstream_(upstream)
    {
        cpool_config_t config = CPOOL_CONFIG_INIT;

        detail::require(align != 0 ? 0 : static_cast<int>(CPOOL_EALIGN));
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
 * Blocks of many sizes from size classes of this resource's own.  Blocks larger than all classes,
 * and blocks of dry classes, come from another resource.  As thread-safe as the other resource.
 *
 * With std::pmr::null_memory_resource() as the other resource, only the classes are used.  Flags
 * with CPOOL_SIZED_BOUNDED throw an error with CPOOL_EFLAGS.
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
        : upstream_(upstream), blocks_()
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

} // namespace cpool

#endif /* CPOOL_HAS_PMR_ */

#endif /* CPOOL_RESOURCE_HPP */
