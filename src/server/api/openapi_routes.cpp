// What each route reads. A test sends every field with a wrong type and expects it to be named.
#include "server/api/openapi.h"

namespace hearth::server {
namespace {

std::vector<FieldDoc> joined(std::initializer_list<std::vector<FieldDoc>> parts) {
  std::vector<FieldDoc> all;
  for (const auto& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

const std::vector<FieldDoc>& model_field() {
  static const std::vector<FieldDoc> all{{"model", "string", "Id of a model; default: the first", {}, {}}};
  return all;
}

const std::vector<FieldDoc>& structure_fields() {
  static const std::vector<FieldDoc> all{
      {"response_format", "object", "text, json_object, json_schema, regex or grammar", {}, {}},
      {"guided_regex", "string", "The answer matches this regular expression", {}, {}},
      {"guided_grammar", "string", "The answer matches this GBNF grammar", {}, {}},
      {"guided_choice", "any", "The answer is this text, or one of these texts", {}, {}},
  };
  return all;
}

const std::vector<FieldDoc>& stream_fields() {
  static const std::vector<FieldDoc> all{
      {"stream", "boolean", "Server-sent events as the answer is generated", {}, {}},
      {"stream_options", "object", "include_usage: usage in the last event", {}, {}},
      {"n", "integer", "Answers", 1, 128},
  };
  return all;
}

}  // namespace

const std::vector<RouteDoc>& route_docs() {
  static const std::vector<RouteDoc> all{
      {"POST",
       "/v1/chat/completions",
       "OpenAI",
       "Answer a conversation",
       joined({model_field(),
               {{"messages", "array", "The conversation", {}, {}},
                {"tools", "array", "Functions that the model may call", {}, {}},
                {"parallel_tool_calls", "boolean", "More than one call in an answer", {}, {}},
                {"max_completion_tokens", "integer", "Tokens of the answer", 0, {}},
                {"max_tokens", "integer", "The same, by its older name", 0, {}},
                {"logprobs", "boolean", "Log-probabilities of the answer's tokens", {}, {}},
                {"top_logprobs", "integer", "And of this many most probable ones", 0, 20},
                {"continue_final_message", "boolean", "Continue the last message", {}, {}},
                {"chat_template_kwargs", "object", "Variables of the chat template", {}, {}},
                {"reasoning_effort", "string", "A variable of the chat template", {}, {}}},
               structure_fields(),
               stream_fields(),
               generation_docs()}),
       {"messages"}},
      {"POST",
       "/v1/completions",
       "OpenAI",
       "Continue texts",
       joined({model_field(),
               {{"max_tokens", "integer", "Tokens of the answer; default 16", 0, {}},
                {"echo", "boolean", "Begin with the prompt", {}, {}},
                {"logprobs", "integer", "Log-probabilities of tokens, and of this many most probable ones", 0, 20},
                {"prompt_logprobs", "integer", "With echo: the same of the prompt", 0, 20},
                {"best_of", "integer", "Equal to n", 1, 128},
                {"add_special_tokens", "boolean", "Begin the prompt with a BOS token if the tokenizer says so", {}, {}},
                {"return_token_ids", "boolean", "Token ids beside the text", {}, {}}},
               structure_fields(),
               stream_fields(),
               generation_docs()}),
       {"prompt"}},
      {"POST",
       "/v1/embeddings",
       "OpenAI",
       "The mean of a text's hidden states, of length 1",
       joined({model_field(),
               {{"encoding_format", "string", "float or base64", {}, {}}, {"dimensions", "integer", "The first ones only", 1, {}}}}),
       {"input"}},
      {"POST", "/v1/responses", "OpenAI", "Answer items, and keep the answer for the next request",
       joined({model_field(),
               {{"input", "any", "A text or items", {}, {}},
                {"instructions", "string", "The system message", {}, {}},
                {"previous_response_id", "string", "The answer that this request continues", {}, {}},
                {"tools", "array", "Functions that the model may call", {}, {}},
                {"parallel_tool_calls", "boolean", "More than one call in an answer", {}, {}},
                {"max_output_tokens", "integer", "Tokens of the answer", 1, {}},
                {"text", "object", "format: text, json_object or json_schema", {}, {}},
                {"reasoning", "object", "effort: a variable of the chat template", {}, {}},
                {"include", "array", "More parts of the answer", {}, {}},
                {"top_logprobs", "integer", "Log-probabilities of this many most probable tokens", 0, 20},
                {"truncation", "string", "auto: leave out the oldest turns of a conversation that is too long; or disabled", {}, {}},
                {"metadata", "object", "Texts that the answer repeats", {}, {}},
                {"store", "boolean", "Keep the answer; default true", {}, {}},
                {"background", "boolean", "Answer at once, and generate afterwards", {}, {}},
                {"chat_template_kwargs", "object", "Variables of the chat template", {}, {}},
                {"stream", "boolean", "Server-sent events as the answer is generated", {}, {}}},
               generation_docs()})},
      {"GET", "/v1/responses/{id}", "OpenAI", "A kept answer", {}},
      {"DELETE", "/v1/responses/{id}", "OpenAI", "Forget it", {}},
      {"POST", "/v1/responses/{id}/cancel", "OpenAI", "End an answer in the background", {}},
      {"GET", "/v1/responses/{id}/input_items", "OpenAI", "What it answers", {}},
      {"POST",
       "/v1/messages",
       "Anthropic",
       "Answer a conversation",
       joined({model_field(),
               {{"messages", "array", "The conversation", {}, {}},
                {"tools", "array", "Functions that the model may call", {}, {}},
                {"tool_choice", "object", "auto, any, tool or none", {}, {}},
                {"max_tokens", "integer", "Tokens of the answer", 1, {}},
                {"stop_sequences", "array", "Texts that end the answer", {}, {}},
                {"thinking", "object", "enabled, disabled or adaptive", {}, {}},
                {"output_config", "object", "format: a JSON schema; effort", {}, {}},
                {"metadata", "object", "Is ignored", {}, {}},
                {"stream", "boolean", "Server-sent events as the answer is generated", {}, {}}},
               generation_docs()}),
       {"messages", "max_tokens"}},
      {"POST",
       "/v1/messages/count_tokens",
       "Anthropic",
       "Tokens of a conversation",
       joined({model_field(), {{"messages", "array", "The conversation", {}, {}}, {"tools", "array", "Functions", {}, {}}}}),
       {"messages"}},
      {"POST", "/v1/images/generations", "OpenAI", "Draw images", openai_image_docs(false), {"prompt"}},
      {"POST", "/v1/images/edits", "OpenAI", "Change an image; also as multipart/form-data", openai_image_docs(true), {"image", "prompt"}},
      {"POST",
       "/v1/images/variations",
       "OpenAI",
       "Draw images like an image; also as multipart/form-data",
       openai_image_docs(true),
       {"image"}},
      {"GET", "/v1/images/files/{name}", "OpenAI", "An image that a response links to", {}},
      {"POST", "/sdapi/v1/txt2img", "A1111", "Draw images", a1111_docs(false)},
      {"POST", "/sdapi/v1/img2img", "A1111", "Change an image", a1111_docs(true), {"init_images"}},
      {"GET", "/sdapi/v1/progress", "A1111", "How far the image is", {}},
      {"POST", "/sdapi/v1/interrupt", "A1111", "End the runs after their step, with the images as they are", {}},
      {"POST", "/sdapi/v1/skip", "A1111", "The same for the batches that run", {}},
      {"GET", "/sdapi/v1/options", "A1111", "Options of all requests", {}},
      {"POST", "/sdapi/v1/options", "A1111", "Change them", {}},
      {"GET", "/sdapi/v1/sd-models", "A1111", "Image models", {}},
      {"GET", "/sdapi/v1/samplers", "A1111", "Samplers", {}},
      {"GET", "/sdapi/v1/schedulers", "A1111", "Schedules", {}},
      {"GET", "/sdapi/v1/upscalers", "A1111", "Upscalers", {}},
      {"GET", "/sdapi/v1/latent-upscale-modes", "A1111", "Upscalers of latents", {}},
      {"POST",
       "/sdapi/v1/png-info",
       "A1111",
       "Generation parameters of an image file",
       {{"image", "string", "In base64", {}, {}}},
       {"image"}},
      {"GET", "/sdapi/v1/memory", "A1111", "Memory of the server", {}},
      {"POST", "/sdapi/v1/unload-checkpoint", "A1111", "Unload the image model", {}},
      {"POST", "/sdapi/v1/reload-checkpoint", "A1111", "Load it", {}},
      {"GET", "/v1/models", "OpenAI", "All models", {}},
      {"GET", "/v1/models/{id}", "OpenAI", "One model", {}},
      {"POST", "/tokenize", "hearth", "Token ids of a text or of a conversation",
       joined({model_field(),
               {{"content", "string", "The text", {}, {}},
                {"prompt", "string", "The same", {}, {}},
                {"messages", "array", "The conversation", {}, {}},
                {"add_special", "boolean", "BOS and EOS as the tokenizer says", {}, {}},
                {"parse_special", "boolean", "Special tokens in the text are tokens", {}, {}},
                {"with_pieces", "boolean", "The text of each token", {}, {}}}})},
      {"POST", "/detokenize", "hearth", "The text of token ids", joined({model_field(), {{"tokens", "array", "Ids", {}, {}}}}), {"tokens"}},
      {"POST",
       "/apply-template",
       "hearth",
       "A conversation as the model reads it",
       joined({model_field(), {{"messages", "array", "The conversation", {}, {}}}}),
       {"messages"}},
      {"GET", "/health", "hearth", "Whether the server runs", {}},
      {"GET", "/ready", "hearth", "Whether it takes requests", {}},
      {"GET", "/metrics", "hearth", "Prometheus metrics", {}},
      {"GET", "/props", "hearth", "The loaded model", {}},
      {"GET", "/slots", "hearth", "Texts at once, of each loaded model", {}},
      {"POST", "/models/load", "hearth", "Load a model", {{"model", "string", "Its id", {}, {}}}, {"model"}},
      {"POST", "/models/unload", "hearth", "Unload a model", {{"model", "string", "Its id", {}, {}}}, {"model"}},
      {"GET", "/openapi.json", "hearth", "This document", {}},
  };
  return all;
}

}  // namespace hearth::server
