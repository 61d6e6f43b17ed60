// AddressSanitizer keeps freed memory and enlarges every block: a process needs more memory than its plan says.
#pragma once

#include <gtest/gtest.h>

#if defined(__SANITIZE_ADDRESS__)
#define HEARTH_ADDRESS_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HEARTH_ADDRESS_SANITIZER 1
#endif
#endif

// For tests that limit the memory of a process to little more than it needs.
#ifdef HEARTH_ADDRESS_SANITIZER
#define HEARTH_SKIP_UNDER_ADDRESS_SANITIZER() GTEST_SKIP() << "AddressSanitizer needs additional memory"
#else
#define HEARTH_SKIP_UNDER_ADDRESS_SANITIZER() static_assert(true)
#endif
