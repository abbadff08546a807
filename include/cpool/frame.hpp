/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cpool/frame.hpp - objects that go back together, for C++.
 *
 *     {
 *         cpool::frame<spark> frame(sparks);
 *         spark *one = frame.create(7);
 *         ...
 *     }                                         all of them are free again
 *
 * A frame has one owner at a time (cpool/frame.h).
 */
#ifndef CPOOL_FRAME_HPP
#define CPOOL_FRAME_HPP

#include <cpool/frame.h>
#include <cpool/pool.hpp>

namespace cpool {

/*
 * A frame on a pool of objects of one type, which ends with this object.
 *
 * The end does not touch the objects, so the type must have a trivial destructor.  A frame that has
 * been moved from has ended.
 */
template <class T> class frame {
    static_assert(std::is_trivially_destructible<T>::value,
                  "the end of a frame runs no destructors");

public:
    frame() noexcept : handle_(nullptr), pool_(nullptr) {}

    /* Not open if cpool_frame_begin fails. */
    explicit frame(cpool_t *pool) noexcept : handle_(nullptr), pool_(pool)
    {
        (void)cpool_frame_begin(&handle_, pool);
    }
    explicit frame(const pool<T> &pool) noexcept : frame(pool.native_handle()) {}
    frame(frame &&other) noexcept : handle_(other.handle_), pool_(other.pool_)
    {
        other.handle_ = nullptr;
    }
    frame &operator=(frame &&other) noexcept
    {
        frame taken(std::move(other)); /* ends this one's own, with the scope */

        std::swap(handle_, taken.handle_);
        std::swap(pool_, taken.pool_);
        return *this;
    }
    frame(const frame &) = delete;
    frame &operator=(const frame &) = delete;
    ~frame() { end(); }

    bool is_open() const noexcept { return handle_ != nullptr; }
    cpool_frame_t *native_handle() const noexcept { return handle_; }

    /* A slot without an object, which goes back with the frame: cpool_frame_alloc.  nullptr if the
     * frame is not open. */
    void *allocate() noexcept { return handle_ != nullptr ? cpool_frame_alloc(handle_) : nullptr; }

    /* Constructs an object that ends with the frame, or returns nullptr if there is no slot or the
     * frame is not open.  If the constructor may throw, the slot comes from cpool_alloc, and
     * cpool_frame_adopt follows. */
    template <class... Arguments> T *create(Arguments &&...arguments)
    {
        if (handle_ == nullptr)
            return nullptr;
        return create_as(std::is_nothrow_constructible<T, Arguments &&...>(),
                         std::forward<Arguments>(arguments)...);
    }

    /* Adds a live object of the pool to the frame, like cpool_frame_adopt.  Returns CPOOL_EFRAME if
     * the frame is not open. */
    int adopt(T *object) noexcept
    {
        return handle_ != nullptr ? cpool_frame_adopt(handle_, object)
                                  : static_cast<int>(CPOOL_EFRAME);
    }

    /* Ends the frame, or gives the slots back and leaves it open.  No-ops if it is not open. */
    void end() noexcept
    {
        cpool_frame_end(handle_);
        handle_ = nullptr;
    }
    void reset() noexcept { cpool_frame_reset(handle_); }

private:
    /* Slots for detail::construct. */
    struct slots {
        void *allocate() noexcept { return cpool_alloc(pool); }
        void deallocate(T *slot) noexcept { cpool_free(pool, static_cast<void *>(slot)); }
        cpool_t *pool;
    };

    template <class... Arguments> T *create_as(std::true_type, Arguments &&...arguments)
    {
        void *slot = cpool_frame_alloc(handle_);

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

    cpool_frame_t *handle_;
    cpool_t *pool_;
};

} // namespace cpool

#endif /* CPOOL_FRAME_HPP */
