// Arguments of `hearth rerun` for settings that need more than a flag and its value (Reporting::rerun).
#pragma once

#include "api/settings/setting.h"

namespace hearth::api {

void rerun_always(const Row& row, const Json& stored, const Json& recipe, Rerun& rerun);
void rerun_unless_default(const Row& row, const Json& stored, const Json& recipe, Rerun& rerun);
void rerun_controls(const Row& row, const Json& stored, const Json& recipe, Rerun& r);
void rerun_image_prompts(const Row& row, const Json& stored, const Json& recipe, Rerun& r);
void rerun_references(const Row& row, const Json& stored, const Json& recipe, Rerun& r);
void rerun_embeddings(const Row& row, const Json& stored, const Json& recipe, Rerun& rerun);
void rerun_refiner(const Row& row, const Json& stored, const Json& recipe, Rerun& rerun);
void rerun_steps(const Row& row, const Json& stored, const Json& recipe, Rerun& rerun);
void rerun_schedule(const Row& row, const Json& stored, const Json& recipe, Rerun& rerun);
void rerun_batch_size(const Row& row, const Json& stored, const Json& recipe, Rerun& rerun);
void rerun_batch_index(const Row& row, const Json& stored, const Json& recipe, Rerun& rerun);

}  // namespace hearth::api
