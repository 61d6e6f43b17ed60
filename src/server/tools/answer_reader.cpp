#include "server/tools/answer_reader.h"

#include "server/tools/answer_reader_impl.h"

namespace hearth::server::tools {

AnswerReader::AnswerReader(const ToolFormat& format, const Reasoning& reasoning, ReaderOptions options)
    : impl_(reasoning.channels || format.kind == ToolFormat::Kind::channels ? channel_reader(format, reasoning, std::move(options))
                                                                            : marked_reader(format, reasoning, std::move(options))) {}
AnswerReader::AnswerReader(AnswerReader&&) noexcept = default;
AnswerReader& AnswerReader::operator=(AnswerReader&&) noexcept = default;
AnswerReader::~AnswerReader() = default;

std::vector<AnswerEvent> AnswerReader::push(std::string_view text) { return impl_->push(text); }
std::vector<AnswerEvent> AnswerReader::finish() { return impl_->finish(); }
int64_t AnswerReader::calls() const { return impl_->calls(); }

}  // namespace hearth::server::tools
