// AddressSanitizer keeps what was freed and adds its own to every block: a process under it takes more memory than was planned for it.
#pragma once

#include <gtest/gtest.h>

#if defined(__SANITIZE_ADDRESS__)
#define HEARTH_ADDRESS_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HEARTH_ADDRESS_SANITIZER 1
#endif
#endif

// For tests that hold a process to a limit near what it takes.
#ifdef HEARTH_ADDRESS_SANITIZER
#define HEARTH_NEEDS_ITS_OWN_MEMORY_ONLY() GTEST_SKIP() << "AddressSanitizer takes memory, too"
#else
#define HEARTH_NEEDS_ITS_OWN_MEMORY_ONLY() static_assert(true)
#endif
