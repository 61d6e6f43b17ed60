// How settings are asked for again that are more than a flag and its value (Telling::again).
#pragma once

#include "api/settings/setting.h"

namespace hearth::api {

void again_whatever_it_is(const Row& row, const Json& kept, const Json& recipe, Rerun& rerun);
void again_unless_left_open(const Row& row, const Json& kept, const Json& recipe, Rerun& rerun);
void embeddings_again(const Row& row, const Json& kept, const Json& recipe, Rerun& rerun);
void refiner_again(const Row& row, const Json& kept, const Json& recipe, Rerun& rerun);
void steps_again(const Row& row, const Json& kept, const Json& recipe, Rerun& rerun);
void schedule_again(const Row& row, const Json& kept, const Json& recipe, Rerun& rerun);
void batch_size_again(const Row& row, const Json& kept, const Json& recipe, Rerun& rerun);
void batch_index_again(const Row& row, const Json& kept, const Json& recipe, Rerun& rerun);

}  // namespace hearth::api
