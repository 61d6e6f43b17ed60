#include "server/api_error.h"

#include "core/error.h"
#include "engine/engine.h"

namespace hearth::server {

ApiError api_error(std::exception_ptr error) {
  try {
    std::rethrow_exception(std::move(error));
  } catch (const ApiError& e) { return e; } catch (const engine::OverloadedError& e) {
    ApiError made(429, e.what(), "", "queue_full");
    made.retry_after = e.seconds;
    return made;
  } catch (const engine::StoppedError& e) {
    ApiError made(503, e.what(), "", "shutting_down");
    made.retry_after = 5;
    return made;
  } catch (const UsageError& e) { return {400, e.what()}; } catch (const UnsupportedError& e) {
    return {400, e.what(), "", "unsupported"};
  } catch (const Error& e) { return {500, e.what(), "", "internal_error"}; } catch (const std::exception&) {
    return {500, "the server failed to answer this request", "", "internal_error"};
  }
}

ApiError with_names(const ApiError& error, std::initializer_list<std::pair<std::string_view, std::string_view>> names) {
  std::string message = error.what(), param = error.param;
  for (std::string* text : {&message, &param})
    for (const auto& [from, to] : names)
      if (const size_t at = text->find(from); at != text->npos) text->replace(at, from.size(), to);
  ApiError made(error.status, message, param, error.code);
  made.retry_after = error.retry_after;
  return made;
}

}  // namespace hearth::server
