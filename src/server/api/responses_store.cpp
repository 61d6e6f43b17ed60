#include "server/api/responses_store.h"

#include <vector>

namespace hearth::server {
namespace {

// About what a JSON value takes in memory.
size_t footprint(const Json& json) {
  size_t sum = sizeof(Json);
  if (json.is_string()) return sum + sizeof(std::string) + json.get_ref<const std::string&>().size();
  if (json.is_object())
    for (const auto& [key, value] : json.items()) sum += sizeof(std::string) + key.size() + footprint(value);
  if (json.is_array())
    for (const Json& value : json) sum += footprint(value);
  return sum;
}

const std::string* id_of(const Json& item) {
  const auto found = item.find("id");
  return found == item.end() || !found->is_string() ? nullptr : &found->get_ref<const std::string&>();
}

}  // namespace

// A loop in place of recursion: a conversation may be long.
ResponseTurn::~ResponseTurn() {
  while (previous && previous.use_count() == 1) {
    std::shared_ptr<ResponseTurn> before = std::move(previous->previous);
    previous = std::move(before);
  }
}

Json ResponseTurn::context() const {
  std::vector<const ResponseTurn*> turns;
  for (const ResponseTurn* t = this; t; t = t->previous.get()) turns.push_back(t);
  Json all = Json::array();
  for (size_t i = turns.size(); i-- > 0;) {
    for (const Json& item : turns[i]->input) all.push_back(item);
    for (const Json& item : turns[i]->response["output"]) all.push_back(item);
  }
  return all;
}

void ResponseStore::keep(std::shared_ptr<ResponseTurn> turn) {
  const std::string id = turn->response["id"];
  const size_t size = footprint(turn->input) + footprint(turn->response);
  *bytes_ += size;
  // Counted as long as it lives: a later turn may hold it when the store no longer does.
  ResponseTurn* counted = turn.get();
  turn = std::shared_ptr<ResponseTurn>(counted, [turn, sum = bytes_, size](ResponseTurn*) mutable {
    turn.reset();
    *sum -= size;
  });
  const std::lock_guard lock(mutex_);
  if (const auto found = places_.find(id); found != places_.end()) drop(found->second);
  order_.push_front({id, turn});
  places_[id] = order_.begin();
  for (const Json* items : {&turn->input, &turn->response["output"]})
    for (const Json& item : *items)
      if (const std::string* item_id = id_of(item)) items_[*item_id] = id;
  turn.reset();
  while (*bytes_ > most_bytes_ && !order_.empty()) drop(std::prev(order_.end()));
}

std::shared_ptr<ResponseTurn> ResponseStore::find(const std::string& id) {
  const std::lock_guard lock(mutex_);
  const auto found = places_.find(id);
  if (found == places_.end()) return nullptr;
  order_.splice(order_.begin(), order_, found->second);
  return found->second->turn;
}

std::optional<Json> ResponseStore::item(const std::string& id) {
  std::shared_ptr<ResponseTurn> turn;
  {
    const std::lock_guard lock(mutex_);
    const auto found = items_.find(id);
    if (found == items_.end()) return {};
    const Place place = places_.at(found->second);
    order_.splice(order_.begin(), order_, place);
    turn = place->turn;
  }
  for (const Json* items : {&turn->input, &turn->response["output"]})
    for (const Json& item : *items)
      if (const std::string* item_id = id_of(item); item_id && *item_id == id) return item;
  return {};
}

bool ResponseStore::remove(const std::string& id) {
  const std::lock_guard lock(mutex_);
  const auto found = places_.find(id);
  if (found == places_.end()) return false;
  drop(found->second);
  return true;
}

void ResponseStore::drop(Place place) {
  for (const Json* items : {&place->turn->input, &place->turn->response["output"]})
    for (const Json& item : *items)
      if (const std::string* id = id_of(item))
        if (const auto found = items_.find(*id); found != items_.end() && found->second == place->id) items_.erase(found);
  places_.erase(place->id);
  order_.erase(place);
}

}  // namespace hearth::server
