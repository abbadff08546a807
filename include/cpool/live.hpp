/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cpool/live.hpp - handles of live objects, and loops over live objects, for C++.
 *
 *     config.flags = CPOOL_TRACKED;
 *     ...
 *     cpool::handle<body> handle = bodies.handle_of(one);
 *     body *again = bodies.resolve(handle);        nullptr once it was freed
 *     for (body &each : bodies.live())
 *         ...
 *
 * The pools must be tracked or checked.  <cpool/track.h> has the guarantees.
 */
#ifndef CPOOL_LIVE_HPP
#define CPOOL_LIVE_HPP

#include <cpool/error.hpp>
#include <cpool/track.h>

#include <iterator>
#include <typeindex> /* the shortest of the headers that declare std::hash */

namespace cpool {

/* Identifies a live object of a pool, for as long as it is live.  An empty handle identifies
 * none. */
template <class T> class handle {
public:
    handle() noexcept : value_(CPOOL_HANDLE_NONE) {}
    explicit handle(cpool_handle_t value) noexcept : value_(value) {}
    cpool_handle_t value() const noexcept { return value_; }
    explicit operator bool() const noexcept { return value_ != CPOOL_HANDLE_NONE; }

    friend bool operator==(handle a, handle b) noexcept { return a.value_ == b.value_; }
    friend bool operator!=(handle a, handle b) noexcept { return a.value_ != b.value_; }
    friend bool operator<(handle a, handle b) noexcept { return a.value_ < b.value_; }

private:
    cpool_handle_t value_;
};

/* The live objects in a range of indices, for a loop.  Each begin() starts anew. */
template <class T> class live_range {
public:
    class iterator {
    public:
        using iterator_category = std::input_iterator_tag;
        using value_type = T;
        using difference_type = std::ptrdiff_t;
        using pointer = T *;
        using reference = T &;

        iterator() noexcept : state_(CPOOL_ITER_INIT(nullptr, 0, 0)), object_(nullptr) {}
        iterator(const cpool_t *pool, std::size_t first, std::size_t end) noexcept
            : state_(CPOOL_ITER_INIT(pool, first, end)), object_(nullptr)
        {
            ++*this;
        }
        T &operator*() const noexcept { return *object_; }
        T *operator->() const noexcept { return object_; }
        iterator &operator++() noexcept
        {
            object_ = static_cast<T *>(cpool_iter_next(&state_));
            return *this;
        }
        iterator operator++(int) noexcept
        {
            iterator before(*this);

            ++*this;
            return before;
        }
        cpool::handle<T> handle() const noexcept { return cpool::handle<T>(state_.handle); }

        friend bool operator==(const iterator &a, const iterator &b) noexcept
        {
            return a.object_ == b.object_;
        }
        friend bool operator!=(const iterator &a, const iterator &b) noexcept
        {
            return a.object_ != b.object_;
        }

    private:
        cpool_iter_t state_;
        T *object_;
    };

    live_range(const cpool_t *pool, std::size_t first, std::size_t end) noexcept
        : pool_(pool), first_(first), end_(end)
    {
    }
    iterator begin() const noexcept { return iterator(pool_, first_, end_); }
    iterator end() const noexcept { return iterator(); }

private:
    const cpool_t *pool_;
    std::size_t first_;
    std::size_t end_;
};

} // namespace cpool

namespace std {

template <class T> struct hash<cpool::handle<T>> {
    size_t operator()(cpool::handle<T> handle) const noexcept
    {
        return hash<cpool_handle_t>()(handle.value());
    }
};

} // namespace std

#endif /* CPOOL_LIVE_HPP */
