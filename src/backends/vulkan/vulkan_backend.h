// Graphics cards by Vulkan's compute shaders: one backend for every maker's cards.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/backend.h"

namespace hearth {

// The card of this number in vulkan_cards(). `features`: "narrow" uses it as the smallest cards, with memory in blocks of at most
// 128 MiB and nothing that only some cards have; "" does not. `threads`: of its host, the CPU backend. UnsupportedError if this build or
// this machine has no Vulkan, or the card lacks what hearth needs; UsageError if there is no such card or path.
std::unique_ptr<Backend> make_vulkan_backend(int card, const std::string& features, int threads);

struct VulkanCard {
  std::string name, driver;
  int64_t memory = 0;   // bytes
  bool on_cpu = false;  // a driver in software
  bool shared = false;  // it computes in the host's memory
  bool dots = false;    // it has dot products of bytes, which products of integers use
  std::string missing;  // what hearth needs and it lacks; ""
};

// The cards of this machine, the best first. Empty with the reason in `why_none`.
std::vector<VulkanCard> vulkan_cards(std::string* why_none = nullptr);

}  // namespace hearth
