/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cpool/owner.hpp - owners of objects in pools, for C++.
 *
 *     cpool::pool<job> jobs(100000);
 *     cpool::pointer<cpool::pool<job>> one = jobs.make(7);    a unique_ptr; empty when dry
 *
 * It is separate from <cpool/pool.hpp> because <memory> takes longer to compile than all of that.
 */
#ifndef CPOOL_OWNER_HPP
#define CPOOL_OWNER_HPP

#include <cpool/pool.hpp>

#include <memory>

namespace cpool {

namespace detail {

template <class T, class Deleter, class... Arguments> struct owner {
    using type = std::unique_ptr<T, Deleter>;
};

} // namespace detail

/* The owner of an object of a pool, static pool or object pool. */
template <class Pool>
using pointer = std::unique_ptr<typename Pool::value_type, typename Pool::deleter>;

} // namespace cpool

#endif /* CPOOL_OWNER_HPP */
