// Implementation of Job: a request with its seeds and images resolved, and the model's job for it.
#pragma once

#include "api/image/editing.h"
#include "api/image/loaded_model.h"

namespace hearth {

namespace api {

struct Seeds {
  uint64_t run = 0, variation = 0;
};

}  // namespace api

struct Model::Impl : api::LoadedModel {};

struct Job::Impl {
  // UsageError for an invalid request, or one that needs more memory than is available. `common_levels`: as in models::ImageTask.
  Impl(Model::Impl& model, const Request& request, bool common_levels);

  Model::Impl& model;
  const Request request;
  api::Seeds seeds;
  std::optional<api::Canvas> canvas;
  std::unique_ptr<models::ImageJob> job;
  double prepare_seconds = 0;
};

}  // namespace hearth
