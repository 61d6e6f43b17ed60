// The items of POST /v1/responses: messages, function calls and their outputs, reasoning.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "server/fields.h"

namespace hearth::server {

using ItemLookup = std::function<std::optional<Json>(const std::string& id)>;

// The field "input", a text or a list of items, as items in the form in which the API gives them back: each with "type", "id" and "status",
// contents as lists of parts. item_reference is replaced by the item. ApiError 400 for what is wrong or is no text, 404 for a reference to
// an item that is not kept.
Json read_items(const Fields& request, const ItemLookup& find_item);

// Items as the messages of a chat, behind a system message with the instructions, if there are any. Reasoning, text and calls that follow
// each other are one message of the assistant; a call that broke off is left out. System and developer messages at the beginning are one
// system message, which is what templates expect. ApiError 400 for the output of a call that is not there.
Json messages_of_items(const Json& items, const std::optional<std::string>& instructions);

// The same text, for clients that keep the items: opaque to them.
std::string sealed_reasoning(const std::string& text);

}  // namespace hearth::server
