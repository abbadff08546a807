/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cpool/error.hpp - the codes of <cpool.h> as exceptions, for C++.
 */
#ifndef CPOOL_ERROR_HPP
#define CPOOL_ERROR_HPP

#ifndef __cplusplus
#error "<cpool/error.hpp> is for C++; include <cpool.h>"
#endif

#include <cstddef>
#include <exception>
#include <new>

#include <cpool.h>

#if defined(__cpp_exceptions) || defined(__EXCEPTIONS)
#define CPOOL_THROW_(exception) throw exception
#define CPOOL_TRY_ try
#define CPOOL_CATCH_ALL_ catch (...)
#define CPOOL_RETHROW_ throw
#else
#define CPOOL_THROW_(exception) std::terminate()
#define CPOOL_TRY_ if (true)
#define CPOOL_CATCH_ALL_ else
#define CPOOL_RETHROW_ ((void)0)
#endif

namespace cpool {

/* A code of <cpool.h> as an exception. */
class error : public std::exception {
public:
    explicit error(int code) noexcept : code_(code) {}
    const char *what() const noexcept override { return cpool_strerror(code_); }
    int code() const noexcept { return code_; }

private:
    int code_;
};

namespace detail {

inline void require(int code)
{
    if (code != 0)
        CPOOL_THROW_(error(code));
}

inline void *required(void *memory)
{
    if (memory == nullptr)
        CPOOL_THROW_(std::bad_alloc());
    return memory;
}

/* Clang's analyzer does not look into the operators delete of a class, nor into a domain, and would
 * report what they free as leaked. */
#if defined(__clang_analyzer__)
void *untracked(void *block) noexcept;
#else
inline void *untracked(void *block) noexcept
{
    return block;
}
#endif

} // namespace detail

} // namespace cpool

#endif /* CPOOL_ERROR_HPP */
