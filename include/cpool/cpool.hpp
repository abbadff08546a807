/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cpool/cpool.hpp - libcpool for C++11 and later.
 *
 * It includes all of these, and each of them can be included alone:
 *
 *     <cpool/error.hpp>      codes as exceptions
 *     <cpool/pool.hpp>       pools of one type
 *     <cpool/inplace.hpp>    pools with their memory inside them
 *     <cpool/cache.hpp>      explicit caches of pools, for fibers
 *     <cpool/owner.hpp>      owners of their objects, std::unique_ptr
 *     <cpool/live.hpp>       handles of live objects, and loops over them
 *     <cpool/frame.hpp>      objects that go back together
 *     <cpool/sized.hpp>      blocks of many sizes, and the allocator for containers
 *     <cpool/pooled.hpp>     operators new and delete of one class
 *     <cpool/resource.hpp>   memory resources of C++17
 *     <cpool/object.hpp>     pools of objects that stay constructed
 *     <cpool/retire.hpp>     objects that lock-free readers may still see
 *
 * <cpool/pool.hpp> (pools) and <cpool/sized.hpp> (the allocator) include little of the standard
 * library.  The others and this file take several times as long to compile.
 *
 * OVERVIEW
 *
 *     cpool::pool<job> jobs(100000);                   closed by its destructor
 *     auto one = jobs.make(7);                         a unique_ptr; empty when dry
 *
 *     CPOOL_STATIC_POOL(jobs, job);                    in a header, at global scope
 *     CPOOL_DEFINE(jobs, job, .capacity = 100000);     in one source file
 *     using all_jobs = cpool::static_pool<job, jobs_tag>;
 *     auto two = all_jobs::make(7);                    as large as a plain pointer
 *
 *     for (job &each : jobs.live()) ...                tracked pools
 *     cpool::frame<job> frame(jobs);                   its objects end with it
 *
 *     std::list<int, cpool::allocator<int>> numbers;   nodes from pools by their size
 *     class task : public cpool::pooled<> { ... };     new and delete of one class
 *     cpool::pool_resource frames(4096, 16, 100);      a std::pmr::memory_resource
 *     cpool::object_pool<buffer, cpool::reset_member> buffers(8);    stay constructed
 *
 * NOTES
 *
 * C and C++ have the same functions with the same names, but for these:
 *
 *     C                                    C++
 *     cpool_create, cpool_destroy          open, close, and the constructor and destructor
 *     cpool_alloc, cpool_free              allocate, deallocate
 *     cpool_calloc                         create() of a type without constructors
 *     cpool_handle, cpool_iter_next        handle_of, live
 *     cpool_read_stats                     stats
 *     cpool_reader_create                  create_reader, of a domain
 *     cpool_objects_next                   active, of an object_pool
 *
 * create and destroy make and end an object in a slot.  Lanes, priorities, clients, printing
 * (<cpool/print.h>) and what concerns the whole process, such as cpool_each and
 * cpool_set_error_handler, have no class: C++ calls the functions of C, with native_handle().
 *
 * What was never opened, or was moved from, holds nothing: native_handle() is nullptr.  After a
 * close the handle stays.  Either way its use is refused or reported as CPOOL_EPOOL.  But a
 * cpool::cache that is used or destroyed after its pool was closed traps: caches end first.
 *
 * Only allocators, memory resources, operators new, constructors that open something, and sections
 * of a domain throw by themselves.  Where exceptions are disabled, they end the program
 * instead (std::terminate).  If the constructor of an object throws, its slot is given back, and
 * the exception passes.
 *
 * Each member has the thread-safety and progress of the C function of the same name.  Only one
 * thread at a time may construct, destroy or move a pool.
 *
 * Names in cpool::detail are not for use by programs.
 */
#ifndef CPOOL_HPP
#define CPOOL_HPP

#include <cpool/cache.hpp>
#include <cpool/error.hpp>
#include <cpool/frame.hpp>
#include <cpool/inplace.hpp>
#include <cpool/live.hpp>
#include <cpool/object.hpp>
#include <cpool/owner.hpp>
#include <cpool/pool.hpp>
#include <cpool/pooled.hpp>
#include <cpool/resource.hpp>
#include <cpool/retire.hpp>
#include <cpool/sized.hpp>

#endif /* CPOOL_HPP */
