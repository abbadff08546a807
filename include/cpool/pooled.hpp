/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cpool/pooled.hpp - operators new and delete of one class, for C++.
 */
#ifndef CPOOL_POOLED_HPP
#define CPOOL_POOLED_HPP

#include <cpool/sized.hpp>

namespace cpool {

/* The tag of shared_blocks(). */
struct by_size {};

template <class Tag = by_size> class pooled;

namespace detail {

template <class Tag> struct source {
    using type = typename Tag::value_type;

    /* An align of 0 means unknown.  The slots are aligned for their own type.  Another type may
     * have as much alignment as its size allows. */
    static bool fits(std::size_t size, std::size_t align) noexcept
    {
        if (size > sizeof(type))
            return false;
        if (align == 0 && (size != sizeof(type) || !std::is_base_of<pooled<Tag>, type>::value))
            align = natural_align(size);
        return align <= alignof(type);
    }
    /* The largest alignment that operator new without an alignment can be called for: the size of a
     * type is a multiple of its alignment. */
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
    /* Called after a constructor threw, if the language does not pass the size. */
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
        return detail::required(detail::untracked(detail::source<Tag>::alloc(size, untold)));
    }
    static void *operator new(std::size_t size, const std::nothrow_t &) noexcept
    {
        return detail::untracked(detail::source<Tag>::alloc(size, untold));
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
        return detail::untracked(
            detail::source<Tag>::alloc(size, static_cast<std::size_t>(align)));
    }
    static void operator delete(void *block, std::align_val_t, const std::nothrow_t &) noexcept
    {
        detail::source<Tag>::free(block);
    }
    static void *operator new(std::size_t size, std::align_val_t align)
    {
        return detail::required(detail::untracked(
            detail::source<Tag>::alloc(size, static_cast<std::size_t>(align))));
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
    /* Operators without an alignment do not know the type's. */
    enum : std::size_t { untold = 0 };
};

} // namespace cpool

#endif /* CPOOL_POOLED_HPP */
