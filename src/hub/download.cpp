#include "hub/download.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <future>
#include <list>

#include "core/error.h"
#include "core/observe.h"
#include "hub/digest.h"
#include "hub/partial_file.h"

namespace hearth::hub {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t most_open_files = 64;
constexpr int64_t hashed_at_once = 1 << 20;  // bytes; a thread for fewer costs more than it saves
constexpr int most_restarts = 2;

struct File {
  File(const Download& d, const std::string& model) : download(d), what(model + ": " + d.file.path), partial(d.stem, d.file.size) {}

  const Download& download;
  std::string what;  // "ORG/NAME: unet/config.json"
  PartialFile partial;
  int requests = 0;       // waiting or running
  int restarts = 0;       // because the content on the server changed
  bool in_ranges = true;  // the server supports ranges
  std::future<std::string> verdict;
};

// A range that one request downloads.
struct Piece {
  File& file;
  Range range;
  int64_t at = 0;    // the next byte
  int failures = 0;  // consecutive, without a byte between them
  Clock::time_point not_before{};
  bool asked_for_part = false, checked = false;  // of this request: it has a Range header; its response headers were checked
  std::unique_ptr<Transfer> transfer;
};

// Thrown if the received bytes are useless: the server ignores ranges, or the content changed.
struct StartOver {};

class Downloader {
 public:
  Downloader(Http& http, const std::vector<Download>& downloads, const DownloadOptions& options) : http_(http), options_(options) {
    for (const Download& d : downloads) {
      unopened_.push_back(&d);
      total_ += d.file.size;
    }
  }

  ~Downloader() {
    stop_ = true;
    for (Piece& piece : running_) curl_multi_remove_handle(http_.multi(), piece.transfer->handle());
  }

  void run() {
    try {
      while (!unopened_.empty() || !files_.empty()) {
        check_canceled();
        open_files();
        start_pieces();
        int running = 0;
        curl_multi_perform(http_.multi(), &running);
        finish_pieces();
        finish_files();
        report();
        save_now_and_then();
        if (!files_.empty()) curl_multi_poll(http_.multi(), nullptr, 0, running_.empty() ? 5 : 50, nullptr);
      }
    } catch (...) {
      for (File& file : files_) keep(file);
      throw;
    }
  }

 private:
  // Writing the sidecar may fail on a full disk too; the error being thrown reports that already.
  static void keep(File& file) {
    try {
      if (file.partial.done() > 0) file.partial.save();
    } catch (const Error&) {}
  }

  void open_files() {
    while (!unopened_.empty() && files_.size() < most_open_files) {
      files_.emplace_back(*unopened_.front(), options_.model);
      unopened_.pop_front();
      enqueue(files_.back());
    }
  }

  void enqueue(File& file) {
    if (!file.in_ranges) return add_piece(file, {0, file.download.file.size});
    for (Range gap : file.partial.missing())
      for (; gap.begin < gap.end; gap.begin += options_.piece) add_piece(file, {gap.begin, std::min(gap.end, gap.begin + options_.piece)});
  }

  void add_piece(File& file, Range range) {
    waiting_.push_back(Piece{.file = file, .range = range, .at = range.begin});
    ++file.requests;
  }

  void start_pieces() {
    const auto now = Clock::now();
    if (now < not_before_) return;
    for (auto it = waiting_.begin(); it != waiting_.end() && int(running_.size()) < options_.connections;) {
      const auto next = std::next(it);
      if (it->not_before <= now) {
        start(*it);
        running_.splice(running_.end(), waiting_, it);
      }
      it = next;
    }
  }

  void start(Piece& piece) {
    if (!piece.file.in_ranges) piece.at = 0;
    piece.checked = false;
    piece.asked_for_part = piece.at > 0 || piece.range.end < piece.file.download.file.size;
    piece.transfer = std::make_unique<Transfer>(http_.options(), piece.file.download.url,
                                                [this, &piece](std::string_view bytes) { receive(piece, bytes); });
    if (piece.asked_for_part) piece.transfer->set_range(piece.at, piece.range.end);
    curl_multi_add_handle(http_.multi(), piece.transfer->handle());
  }

  void receive(Piece& piece, std::string_view bytes) {
    check_answer(piece);
    File& file = piece.file;
    if (int64_t(bytes.size()) > piece.range.end - piece.at)
      fail<IoError>("{}: the server sends too many bytes, expected {}", file.what, file.download.file.size);
    file.partial.write(piece.at, bytes);
    piece.at += int64_t(bytes.size());
    if (file.in_ranges) piece.failures = 0;  // else the next attempt starts over
  }

  // Called before the first byte is written.
  void check_answer(Piece& piece) {
    if (piece.checked) return;
    piece.checked = true;
    const Transfer& transfer = *piece.transfer;
    File& file = piece.file;
    const int64_t size = file.download.file.size;
    if (const std::string commit = transfer.hub_header("x-repo-commit"); !commit.empty() && commit != options_.commit)
      fail<IoError>("{}: the hub sent it from commit {}, expected {}", file.what, commit, options_.commit);
    const std::string etag = transfer.etag();
    if (file.partial.etag().empty()) file.partial.set_etag(etag);
    else if (etag != file.partial.etag()) throw StartOver();
    if (!piece.asked_for_part) {
      curl_off_t length = -1;
      curl_easy_getinfo(transfer.handle(), CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &length);
      if (length >= 0 && length != size) fail_size(file, length);
    } else if (transfer.status() != 206) {
      file.in_ranges = false;
      throw StartOver();
    } else {
      const std::string range = transfer.header("content-range");
      long long begin = -1, end = -1, total = size;
      if (std::sscanf(range.c_str(), "bytes %lld-%lld/%lld", &begin, &end, &total) < 2 || begin != piece.at)
        fail<IoError>("{}: the server sent the range '{}', expected one from byte {} on", file.what, range, piece.at);
      if (total != size) fail_size(file, total);
    }
  }

  [[noreturn]] static void fail_size(const File& file, int64_t size) {
    fail<IoError>("{}: the server has {} bytes, expected {} as listed", file.what, size, file.download.file.size);
  }

  void finish_pieces() {
    int left = 0;
    while (const CURLMsg* message = curl_multi_info_read(http_.multi(), &left)) {
      if (message->msg != CURLMSG_DONE) continue;
      const CURL* handle = message->easy_handle;
      const CURLcode code = message->data.result;
      const auto piece = std::ranges::find_if(running_, [&](const Piece& p) { return p.transfer->handle() == handle; });
      if (piece != running_.end()) finish(piece, code);
    }
  }

  void finish(std::list<Piece>::iterator piece, CURLcode code) {
    curl_multi_remove_handle(http_.multi(), piece->transfer->handle());
    std::list<Piece> own;
    own.splice(own.end(), running_, piece);
    File& file = piece->file;
    const Transfer& transfer = *piece->transfer;
    try {
      transfer.rethrow();
    } catch (const StartOver&) { return start_over(file); }
    const bool success = code == CURLE_OK && transfer.status() >= 200 && transfer.status() < 300;
    if (success && piece->at == piece->range.end) {
      --file.requests;
      return;
    }
    if (success) code = CURLE_PARTIAL_FILE;  // a body without a length ended too early
    if (!transfer.may_retry(code) || piece->failures >= http_.options().retries) transfer.refuse(code, file.what, options_.repo_url);
    const double wait = http_.wait_after(transfer, piece->failures++, file.what);
    const auto until = Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(wait));
    piece->not_before = until;
    // A rate limit applies to all connections.
    if (code == CURLE_OK) not_before_ = std::max(not_before_, until);
    warn(fmt::format("{}: {}; trying again in {:.0f} s", file.what, transfer.problem(code), std::ceil(wait)));
    waiting_.splice(waiting_.begin(), own);
  }

  // Several pieces of a file often fail together.
  void warn(const std::string& line) {
    const auto now = Clock::now();
    if (!http_.options().warn || now < quiet_until_) return;
    quiet_until_ = now + std::chrono::seconds(1);
    http_.options().warn(line);
  }

  void start_over(File& file) {
    if (file.restarts++ == most_restarts) fail<IoError>("{}: its content changed during the download; try again later", file.what);
    for (Piece& piece : running_)
      if (&piece.file == &file) curl_multi_remove_handle(http_.multi(), piece.transfer->handle());
    const auto of_file = [&](const Piece& piece) { return &piece.file == &file; };
    running_.remove_if(of_file);
    waiting_.remove_if(of_file);
    file.requests = 0;
    file.partial.reset();
    enqueue(file);
  }

  void finish_files() {
    for (auto it = files_.begin(); it != files_.end();) {
      const auto next = std::next(it);
      if (it->requests == 0 && is_finished(*it)) {
        finished_bytes_ += it->download.file.size;
        files_.erase(it);
      }
      it = next;
    }
  }

  bool is_finished(File& file) {
    if (file.partial.is_verified()) return true;
    if (!file.verdict.valid()) {
      file.partial.save();
      const auto how = file.download.file.size < hashed_at_once ? std::launch::deferred : std::launch::async;
      file.verdict = std::async(how, [this, &file] {
        const CancelScope cancel(stop_);
        file.partial.flush();
        return difference_of(file.partial.path(), file.download.file);
      });
    }
    if (file.verdict.wait_for(std::chrono::seconds(0)) == std::future_status::timeout) return false;
    if (const std::string difference = file.verdict.get(); !difference.empty()) {
      file.partial.reset();
      file.partial.remove();
      fail<IoError>("{}: wrong content: {}; the download was deleted, pull it again", file.what, difference);
    }
    file.partial.set_verified();
    file.partial.save();
    return true;
  }

  void report() {
    if (!options_.progress) return;
    int64_t done = finished_bytes_;
    for (const File& file : files_) done += file.partial.done();
    options_.progress({.phase = "download", .done = done, .total = total_});
  }

  // Saves regularly, so that a killed process loses little.
  void save_now_and_then() {
    const auto now = Clock::now();
    if (now < next_save_) return;
    next_save_ = now + std::chrono::seconds(2);
    for (File& file : files_)
      if (file.requests > 0 && file.partial.done() > 0) file.partial.save();
  }

  Http& http_;
  const DownloadOptions& options_;
  std::list<const Download*> unopened_;
  std::atomic<bool> stop_{false};
  std::list<File> files_;               // open, not finished
  std::list<Piece> waiting_, running_;  // of files_
  int64_t finished_bytes_ = 0, total_ = 0;
  Clock::time_point not_before_{}, quiet_until_{}, next_save_ = Clock::now() + std::chrono::seconds(2);
};

}  // namespace

void download_all(Http& http, const std::vector<Download>& downloads, const DownloadOptions& options) {
  Downloader(http, downloads, options).run();
}

}  // namespace hearth::hub
