/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cpool/retire.hpp - readers without locks, for C++.
 *
 *     cpool::pool<node> nodes(10000);
 *     cpool::domain domain(16, 1024);                  16 threads, 1024 slots held back by each
 *     ...
 *     {
 *         cpool::read_section section(domain);         of the calling thread's reader
 *         use(look_up(table, key));                    without a lock
 *     }
 *     using retired = std::unique_ptr<node, cpool::retire_deleter<node>>;
 *     retired(unlink_node(table, key), cpool::retire_deleter<node>(domain, nodes));
 *
 * <cpool/retire.h> has the guarantees.
 */
#ifndef CPOOL_RETIRE_HPP
#define CPOOL_RETIRE_HPP

#include <cpool/pool.hpp>
#include <cpool/retire.h>

namespace cpool {

/* A domain, which lasts as long as this object.  A domain that has been moved from is closed. */
class domain {
public:
    domain() noexcept : handle_(nullptr), open_(false) {}
    domain(std::size_t readers, std::size_t held, std::size_t stall_limit_ms = 0) : domain()
    {
        detail::require(open(readers, held, stall_limit_ms));
    }
    domain(domain &&other) noexcept : domain() { swap(other); }
    domain &operator=(domain &&other) noexcept
    {
        domain taken(std::move(other)); /* ends this one's own, with the scope */

        swap(taken);
        return *this;
    }
    domain(const domain &) = delete;
    domain &operator=(const domain &) = delete;
    ~domain() { (void)close(); }

    /* Like cpool_domain_create.  CPOOL_EOPEN if it is open. */
    int open(std::size_t readers, std::size_t held, std::size_t stall_limit_ms = 0) noexcept
    {
        cpool_domain_config_t config = CPOOL_DOMAIN_CONFIG_INIT;
        int code = CPOOL_EOPEN;

        config.readers = readers;
        config.max_held = held;
        config.stall_limit_ms = stall_limit_ms;
        if (!open_)
            code = cpool_domain_create(&handle_, &config);
        open_ = open_ || code == 0;
        return code;
    }

    /* Like cpool_domain_destroy.  With CPOOL_EREADER it stays open.  The handle is kept, and
     * refused later. */
    int close() noexcept
    {
        int code = open_ ? cpool_domain_destroy(handle_) : CPOOL_OK;

        open_ = open_ && code != 0;
        return code;
    }

    bool is_open() const noexcept { return open_; }
    cpool_domain_t *native_handle() const noexcept { return handle_; }

    /* Like cpool_reader_create: the calling thread's own, which the first call creates, or another
     * one that no thread owns.  nullptr if there is none. */
    cpool_reader_t *create_reader(unsigned flags = 0, int *code = nullptr) const noexcept
    {
        cpool_reader_t *reader;
        int result = cpool_reader_create(&reader, handle_, flags);

        if (code != nullptr)
            *code = result;
        return reader;
    }

    /* The figures: cpool_domain_read_stats.  All are 0 if it was never opened. */
    cpool_domain_stats_t stats() const noexcept
    {
        cpool_domain_stats_t stats = CPOOL_DOMAIN_STATS_INIT;

        if (handle_ != nullptr)
            (void)cpool_domain_read_stats(handle_, &stats);
        return stats;
    }

private:
    void swap(domain &other) noexcept
    {
        std::swap(handle_, other.handle_);
        std::swap(open_, other.open_);
    }

    cpool_domain_t *handle_;
    bool open_;
};

/* A section that lasts until the end of the scope, for the reader's thread.  Sections nest. */
class read_section {
public:
    explicit read_section(cpool_reader_t *reader) noexcept : reader_(reader)
    {
        cpool_read_begin(reader_);
    }
    /* Of the calling thread's reader.  Throws the code where there is none. */
    explicit read_section(const domain &domain) : reader_(nullptr)
    {
        int code = CPOOL_OK;

        reader_ = domain.create_reader(0, &code);
        detail::require(code);
        cpool_read_begin(reader_);
    }
    read_section(const read_section &) = delete;
    read_section &operator=(const read_section &) = delete;
    ~read_section() { cpool_read_end(reader_); }

private:
    cpool_reader_t *reader_;
};

/*
 * Retires an object that no new section can find, by any thread, as a deleter of std::unique_ptr
 * and std::shared_ptr.
 *
 * The slot goes back when no code of the type can run, so the type must have a trivial destructor.
 * If too many slots are held back, the deleter waits for sections.  Inside a section it cannot
 * wait, and reports CPOOL_EREADER.  Then the slot stays live, as it does if the domain has no
 * reader for the thread.
 */
template <class T> class retire_deleter {
    static_assert(std::is_trivially_destructible<T>::value,
                  "a retired slot goes back without a destructor");

public:
    retire_deleter() noexcept : domain_(nullptr), pool_(nullptr) {}
    retire_deleter(cpool_domain_t *domain, cpool_t *pool) noexcept : domain_(domain), pool_(pool) {}
    retire_deleter(const domain &domain, const pool<T> &pool) noexcept
        : retire_deleter(domain.native_handle(), pool.native_handle())
    {
    }
    void operator()(T *object) const noexcept
    {
        cpool_reader_t *reader;
        void *slot = detail::untracked(object);

        if (cpool_reader_create(&reader, domain_, 0) != CPOOL_OK)
            return;
        while (cpool_retire(reader, pool_, slot) == CPOOL_EHELD &&
               cpool_retire_flush(reader, CPOOL_FLUSH_WAIT) == 0) {
        }
    }

private:
    cpool_domain_t *domain_;
    cpool_t *pool_;
};

} // namespace cpool

#endif /* CPOOL_RETIRE_HPP */
