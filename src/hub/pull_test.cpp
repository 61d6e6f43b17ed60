// Pulls from a local hub that misbehaves in many ways.
#include "hub/pull.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>

#include "core/files/file.h"
#include "hub/local_model.h"
#include "support/complaint.h"
#include "support/fake_hub.h"
#include "support/files.h"

namespace hearth::hub {
namespace {

namespace fs = std::filesystem;
using test::complaint_of;
using test::FakeHub;
using test::HttpRequest;
using test::HttpResponse;

std::string noise(size_t size, uint32_t seed = 1) {
  std::string bytes(size, '\0');
  for (char& c : bytes) c = char((seed = seed * 1664525 + 1013904223) >> 24);
  return bytes;
}

class PullTest : public testing::Test {
 protected:
  PullTest() {
    for (const char* name :
         {"HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", "HF_TOKEN_PATH", "HF_HOME", "HF_ENDPOINT", "XDG_CACHE_HOME", "HEARTH_HOME"})
      ::unsetenv(name);
    ::setenv("no_proxy", "127.0.0.1", 1);
    ::setenv("HOME", home.path().c_str(), 1);
    request.model = "org/m";
    request.endpoint = hub.url();
    request.warn = [this](const std::string& line) { warnings.push_back(line); };
    hub.add("config.json", "{}");
    hub.add("model.safetensors", weights);
  }

  PullResult run() { return hub::pull(request, limits); }
  // The error of a pull, with the server's port replaced by PORT and the cache's path by HOME.
  std::string refused() {
    std::string text = complaint_of([&] { run(); });
    const auto replace = [&](const std::string& from, const char* to) {
      for (size_t at; (at = text.find(from)) != text.npos;) text.replace(at, from.size(), to);
    };
    replace(std::to_string(hub.hub().port()), "PORT");
    replace(std::to_string(hub.cdn().port()), "CDN");
    replace(home.path().string(), "HOME");
    return text;
  }
  fs::path model() const { return home / ".cache/hearth/models/org/m"; }
  bool has_model() const { return fs::exists(model() / "model.safetensors"); }
  int64_t bytes_on_the_way() const {
    int64_t sum = 0;
    const fs::path own = home / ".cache/hearth/pulls/org/m";
    if (!fs::exists(own)) return 0;
    for (const auto& entry : fs::directory_iterator(own))
      if (entry.path().extension() == ".part") sum += int64_t(fs::file_size(entry.path()));
    return sum;
  }

  const test::TemporaryFolder home;
  const std::string weights = noise(100'000);
  std::atomic<int64_t> count{0};  // for callbacks of the hub, which must not outlive it
  std::atomic<bool> cancel{false};
  FakeHub hub{"org/m"};
  PullRequest request;
  PullLimits limits{.piece = 10'000, .retry_seconds = 0.002, .retries = 3};
  std::vector<std::string> warnings;
};

TEST_F(PullTest, downloads_in_ranges_and_finds_the_model) {
  EXPECT_FALSE(find_pulled("org/m"));
  std::vector<int64_t> done;
  request.progress = [&](const Progress& p) {
    EXPECT_EQ(p.phase, "download");
    EXPECT_EQ(p.total, 100'002);
    done.push_back(p.done);
  };
  const PullResult pulled = run();
  EXPECT_EQ(read_file(model() / "model.safetensors"), weights);
  EXPECT_EQ(read_file(model() / "config.json"), "{}");
  EXPECT_EQ(hub.requests_for("model.safetensors"), 10);
  EXPECT_EQ(pulled.model, "org/m");
  EXPECT_EQ(pulled.commit, hub.commit.get());
  EXPECT_EQ(pulled.path, model());
  EXPECT_EQ(pulled.bytes, 100'002);
  EXPECT_EQ(pulled.downloaded, 100'002);
  ASSERT_FALSE(done.empty());
  EXPECT_TRUE(std::ranges::is_sorted(done));
  EXPECT_EQ(done.back(), 100'002);
  EXPECT_EQ(bytes_on_the_way(), 0);
  EXPECT_EQ(find_pulled("org/m"), model());
  EXPECT_EQ(local_model("org/m"), model());
  EXPECT_TRUE(warnings.empty());

  hub.hub().forget_requests(), hub.cdn().forget_requests();
  const PullResult again = run();
  EXPECT_EQ(again.downloaded, 0);
  EXPECT_TRUE(again.files[0].present);
  EXPECT_EQ(hub.hub().requests().size(), 1u);  // the listing
}

TEST_F(PullTest, small_files_by_their_git_ids) {
  hub.large = false;
  hub.on_cdn = false;
  hub.add("tokenizer.json", "");
  hub.add("vocab.json", "{}");  // the content of config.json
  run();
  EXPECT_EQ(read_file(model() / "model.safetensors"), weights);
  EXPECT_EQ(read_file(model() / "tokenizer.json"), "");
  EXPECT_EQ(read_file(model() / "vocab.json"), "{}");
  hub.change = [](const HttpRequest&, const std::string& path, HttpResponse& r) {
    if (path == "config.json") r.body = "[]";
  };
  fs::remove_all(model());
  EXPECT_EQ(refused(),
            "IoError: org/m: config.json: wrong content: its git blob id is 0637a088a01e8ddab3bf3fa98dbe804cbde1a0dc, expected "
            "9e26dfeeb6e641a33dae4961196235bdb965b21b; the download was deleted, pull it again");
}

TEST_F(PullTest, a_hub_that_lists_no_sizes) {
  hub.blobs = false;
  EXPECT_EQ(run().bytes, 100'002);
  EXPECT_EQ(read_file(model() / "model.safetensors"), weights);
  hub.on_cdn = false;
  fs::remove_all(model());
  run();
  EXPECT_EQ(read_file(model() / "model.safetensors"), weights);
}

TEST_F(PullTest, dry_run_writes_nothing) {
  request.dry_run = true;
  const PullResult pulled = run();
  ASSERT_EQ(pulled.files.size(), 2u);
  EXPECT_EQ(pulled.files[1].path, "model.safetensors");
  EXPECT_EQ(pulled.files[1].bytes, 100'000);
  EXPECT_EQ(pulled.downloaded, 100'002);
  EXPECT_TRUE(fs::is_empty(home.path()));
}

TEST_F(PullTest, connections_that_are_cut_go_on_where_they_stopped) {
  hub.change = [&](const HttpRequest&, const std::string&, HttpResponse& r) {
    r.cut_after = 3000;
    count += int64_t(std::min<size_t>(r.body.size(), 3000));
  };
  run();
  EXPECT_EQ(read_file(model() / "model.safetensors"), weights);
  EXPECT_EQ(count, 100'002);
  EXPECT_FALSE(warnings.empty());
}

TEST_F(PullTest, an_interrupted_pull_resumes) {
  request.cancel = &cancel;
  request.connections = 1;
  hub.change = [&](const HttpRequest&, const std::string&, HttpResponse&) {
    if (++count == 5) cancel = true;
  };
  EXPECT_THROW(run(), Canceled);
  EXPECT_FALSE(has_model());
  EXPECT_GT(bytes_on_the_way(), 10'000);
  EXPECT_FALSE(find_pulled("org/m"));
  EXPECT_EQ(complaint_of([] { local_model("org/m"); }), "IoError: org/m: not found; run hearth pull org/m to download it");
  cancel = false;
  hub.change = FakeHub::Change();
  const int before = hub.requests_for("model.safetensors");
  run();
  EXPECT_EQ(read_file(model() / "model.safetensors"), weights);
  EXPECT_LT(hub.requests_for("model.safetensors") - before, 10);
}

TEST_F(PullTest, a_changed_etag_starts_over) {
  hub.blobs = false;  // only the ETag identifies the content
  hub.on_cdn = false;
  hub.change = [&](const HttpRequest& q, const std::string& path, HttpResponse& r) {
    if (path == "model.safetensors" && q.method == "GET" && ++count > 4) r = {.status = 410, .headers = {}, .body = {}};
  };
  request.connections = 1;
  EXPECT_EQ(refused(), "IoError: org/m: model.safetensors: 127.0.0.1:PORT answered 410");
  EXPECT_GT(bytes_on_the_way(), 0);
  hub.change = FakeHub::Change();
  const std::string other = noise(100'000, 2);
  hub.add("model.safetensors", other);
  run();
  EXPECT_EQ(read_file(model() / "model.safetensors"), other);
}

TEST_F(PullTest, a_content_that_keeps_changing) {
  hub.on_cdn = false;
  hub.change = [&](const HttpRequest&, const std::string&, HttpResponse& r) { r.headers[0].second = std::to_string(++count); };
  EXPECT_EQ(refused(), "IoError: org/m: model.safetensors: its content changed during the download; try again later");
}

TEST_F(PullTest, a_server_that_ignores_ranges) {
  hub.ranges = false;
  run();
  EXPECT_EQ(read_file(model() / "model.safetensors"), weights);
  hub.change = [&](const HttpRequest&, const std::string& path, HttpResponse& r) {
    if (path == "model.safetensors") r.cut_after = 50'000;
  };
  fs::remove_all(model());
  EXPECT_EQ(refused(), "IoError: org/m: model.safetensors: 127.0.0.1:CDN closed the connection too early");
  EXPECT_FALSE(has_model());
}

TEST_F(PullTest, bodies_that_end_early_or_late_without_saying_so) {
  hub.change = [&](const HttpRequest&, const std::string& path, HttpResponse& r) {
    r.with_length = false;
    if (path == "model.safetensors") r.cut_after = 4000;
  };
  run();
  EXPECT_EQ(read_file(model() / "model.safetensors"), weights);
  fs::remove_all(model());
  hub.change = [&](const HttpRequest&, const std::string& path, HttpResponse& r) {
    r.with_length = false;
    if (path == "model.safetensors") r.body += "more";
  };
  EXPECT_EQ(refused(), "IoError: org/m: model.safetensors: the server sends too many bytes, expected 100000");
}

TEST_F(PullTest, wrong_sizes) {
  hub.change = [](const HttpRequest&, const std::string& path, HttpResponse& r) {
    if (path == "model.safetensors") r.headers.back().second += "0";  // Content-Range: …/1000000
  };
  EXPECT_EQ(refused(), "IoError: org/m: model.safetensors: the server has 1000000 bytes, expected 100000 as listed");
  hub.change = [](const HttpRequest&, const std::string& path, HttpResponse& r) {
    if (path == "model.safetensors") r.headers.back().second = "bytes 7-16/100000";
  };
  EXPECT_EQ(refused().find("IoError: org/m: model.safetensors: the server sent the range 'bytes 7-16/100000', expected one from"), 0u);
  hub.change = [](const HttpRequest&, const std::string& path, HttpResponse& r) {
    if (path == "config.json") r.body = "{ }";
  };
  EXPECT_EQ(refused(), "IoError: org/m: config.json: the server has 3 bytes, expected 2 as listed");
  EXPECT_FALSE(has_model());
}

TEST_F(PullTest, another_commit_than_the_listing) {
  hub.on_cdn = false;
  hub.change = [](const HttpRequest&, const std::string& path, HttpResponse& r) {
    if (path == "config.json") r.headers.emplace_back("X-Repo-Commit", "other");
  };
  EXPECT_EQ(refused(), "IoError: org/m: config.json: the hub sent it from commit other, expected " + hub.commit.get());
}

TEST_F(PullTest, wrong_bytes) {
  hub.change = [](const HttpRequest&, const std::string& path, HttpResponse& r) {
    if (path == "model.safetensors") r.body[5] = char(r.body[5] + 1);
  };
  const std::string complaint = refused();
  EXPECT_EQ(complaint.find("IoError: org/m: model.safetensors: wrong content: its SHA-256 is "), 0u) << complaint;
  EXPECT_FALSE(has_model());
  EXPECT_LE(bytes_on_the_way(), 2);  // config.json
  hub.change = FakeHub::Change();
  run();
  EXPECT_EQ(read_file(model() / "model.safetensors"), weights);
}

TEST_F(PullTest, busy_servers_are_asked_again) {
  std::atomic<int> lists = 0;
  hub.change_listing = [&](HttpResponse& r) {
    r.status = 503;
    return ++lists < 3;
  };
  hub.change = [&](const HttpRequest&, const std::string&, HttpResponse& r) {
    if (const int64_t n = ++count; n <= 3) r = {.status = n == 2 ? 503 : 429, .headers = {{"Retry-After", "0"}}, .body = "busy"};
  };
  run();
  EXPECT_EQ(read_file(model() / "model.safetensors"), weights);
  EXPECT_EQ(lists, 3);
  ASSERT_GE(warnings.size(), 3u);
  EXPECT_EQ(warnings[0], "org/m: 127.0.0.1:" + std::to_string(hub.hub().port()) + " answered 503; trying again in 1 s");
}

TEST_F(PullTest, servers_that_stay_busy) {
  hub.change_listing = [&](HttpResponse& r) {
    r.status = 500;
    return ++count > 0;
  };
  EXPECT_EQ(refused(), "IoError: org/m: 127.0.0.1:PORT answered 500");
  EXPECT_EQ(count, 4);
  hub.change_listing = FakeHub::ChangeListing();
  hub.change = [](const HttpRequest&, const std::string&, HttpResponse& r) {
    r = {.status = 429, .headers = {{"Retry-After", "3600"}}, .body = {}};
  };
  EXPECT_NE(refused().find("answered 429 and requests a wait of 3600 seconds; try again later"), std::string::npos);
}

TEST_F(PullTest, the_token_stays_with_the_hub) {
  hub.token = std::string("hf_secret");
  EXPECT_EQ(
      refused(),
      "IoError: org/m: 127.0.0.1:PORT answered 401 (Repository not found): the model does not exist or requires a token; set HF_TOKEN or "
      "pass --token-file");
  ::setenv("HF_TOKEN", "wrong", 1);
  EXPECT_EQ(
      refused(),
      "IoError: org/m: 127.0.0.1:PORT answered 401 (Repository not found): the token is not valid for it, or the model does not exist");
  hub.hub().forget_requests();
  write_file(home / "token", " hf_secret\n");
  request.token_file = home / "token";
  run();
  for (const HttpRequest& r : hub.hub().requests()) EXPECT_EQ(r.header("authorization"), "Bearer hf_secret") << r.path;
  EXPECT_GE(hub.cdn().requests().size(), 11u);
  for (const HttpRequest& r : hub.cdn().requests()) EXPECT_EQ(r.header("authorization"), "") << r.path;
}

TEST_F(PullTest, where_tokens_come_from) {
  hub.token = std::string("hf_secret");
  const auto works = [&] {
    request.dry_run = true;
    return complaint_of([&] { run(); }).empty();
  };
  EXPECT_FALSE(works());
  ::setenv("HUGGING_FACE_HUB_TOKEN", "hf_secret", 1);
  EXPECT_TRUE(works());
  ::unsetenv("HUGGING_FACE_HUB_TOKEN");
  fs::create_directories(home / ".cache/huggingface");
  write_file(home / ".cache/huggingface/token", "hf_secret");
  EXPECT_TRUE(works());
  write_file(home / "elsewhere", "two words");
  ::setenv("HF_TOKEN_PATH", (home / "elsewhere").c_str(), 1);
  EXPECT_EQ(refused(), "UsageError: HOME/elsewhere: invalid token, expected one without blanks and control characters");
  request.token_file = home / "none";
  EXPECT_EQ(refused(), "IoError: read HOME/none: No such file or directory");
}

TEST_F(PullTest, refusals) {
  hub.change_listing = [](HttpResponse& r) {
    r = {.status = 403, .headers = {{"X-Error-Code", "GatedRepo"}}, .body = R"({"error": "Access to org/m is restricted"})"};
    return true;
  };
  EXPECT_EQ(
      refused(),
      "IoError: org/m: 127.0.0.1:PORT answered 403 (Access to org/m is restricted): access is restricted; see http://127.0.0.1:PORT/org/m "
      "for how to request it, and pass a token (HF_TOKEN or --token-file)");
  hub.change_listing = [](HttpResponse& r) {
    r = {.status = 404, .headers = {{"X-Error-Code", "RevisionNotFound"}}, .body = {}};
    return true;
  };
  request.revision = "v2";
  EXPECT_EQ(refused(), "IoError: org/m@v2: 127.0.0.1:PORT answered 404: the revision does not exist");
  hub.change_listing = FakeHub::ChangeListing();
  request.model = "org/none", request.revision = "";
  EXPECT_EQ(refused(), "IoError: org/none: 127.0.0.1:PORT answered 404: not found");
  request.endpoint = "http://127.0.0.1:1";
  EXPECT_EQ(refused().find("IoError: org/none: 127.0.0.1:1: Failed to connect to 127.0.0.1 port 1"), 0u);
  request.endpoint = "ftp://x";
  EXPECT_EQ(refused(), "UsageError: endpoint 'ftp://x': expected a URL such as https://huggingface.co");
  request.model = "name";
  EXPECT_EQ(refused(), "UsageError: name: expected ORG/NAME, ORG/NAME@REVISION or ORG/NAME:FILE");
}

TEST_F(PullTest, redirects_in_a_circle) {
  hub.change = [&](const HttpRequest& q, const std::string&, HttpResponse& r) {
    r = {.status = 302, .headers = {{"Location", hub.cdn().url() + q.path}}, .body = {}};
  };
  EXPECT_NE(refused().find(": 127.0.0.1:CDN redirects in a circle (more than 10 times)"), std::string::npos);
}

TEST_F(PullTest, hostile_listings) {
  std::string body;
  hub.change_listing = [&](HttpResponse& r) {
    r.body = body;
    return true;
  };
  const std::string commit = R"({"sha": ")" + hub.commit.get() + R"(", "siblings": )";
  body = commit + R"([{"rfilename": "config.json"}, {"rfilename": "../../.bashrc"}]})";
  EXPECT_EQ(refused(), "IoError: org/m: the listing has the file '../../.bashrc', expected a path inside the model's folder");
  body = commit + R"([{"rfilename": "a.gguf", "size": 3, "lfs": {"sha256": "../../x", "size": 3}}]})";
  EXPECT_EQ(refused(), "IoError: org/m: the listing has the checksum '../../x' for a.gguf, expected a SHA-256 or git blob id");
  body = R"({"sha": "../x", "siblings": []})";
  EXPECT_EQ(refused(), "IoError: org/m: 'sha' of the listing is '../x', expected a commit of 40 hexadecimal digits");
  body = R"({"error": "?"})";
  EXPECT_EQ(refused(), "IoError: org/m: the response does not list a model's files; is this the endpoint of a model hub?");
  body = "<html>";
  EXPECT_EQ(refused().find("IoError: org/m: "), 0u);
  body = commit + R"([{"rfilename": "a.gguf", "size": 9000000000000000000}]})";
  EXPECT_NE(refused().find("needs 9000000000.0 GB of disk space in HOME/.cache/hearth/pulls/org/m, but"), std::string::npos);
}

TEST_F(PullTest, a_full_disk) {
  rlimit before{};
  ::getrlimit(RLIMIT_FSIZE, &before);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  rlimit small = before;
  small.rlim_cur = 45'000;
  ::setrlimit(RLIMIT_FSIZE, &small);
  const std::string complaint = refused();
  ::setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  EXPECT_EQ(complaint.find("IoError: write HOME/.cache/hearth/pulls/org/m/"), 0u) << complaint;
  EXPECT_NE(complaint.find(".part: File too large"), std::string::npos) << complaint;
  EXPECT_FALSE(has_model());
  run();
  EXPECT_EQ(read_file(model() / "model.safetensors"), weights);
}

TEST_F(PullTest, an_update_leaves_one_state_of_the_repository) {
  FakeHub newer("org/m");
  newer.commit = std::string(40, 'b');
  newer.add("config.json", "[]");  // as large as the old one
  newer.add("tokenizer.json", "{}");
  newer.add("model-00001-of-00001.safetensors", "new");
  newer.add("model.safetensors.index.json", "{}");
  hub.add("tokenizer.json", "{}");
  run();
  request.endpoint = newer.url();
  const PullResult pulled = run();
  EXPECT_EQ(pulled.commit, newer.commit.get());
  EXPECT_FALSE(has_model());
  EXPECT_EQ(read_file(model() / "model-00001-of-00001.safetensors"), "new");
  EXPECT_EQ(read_file(model() / "config.json"), "[]");
  EXPECT_EQ(newer.requests_for("tokenizer.json"), 0);  // has not changed
}

TEST_F(PullTest, a_damaged_file_is_pulled_again) {
  run();
  write_file(model() / "model.safetensors", "short");
  EXPECT_EQ(run().downloaded, 100'000);
  // Without pulled.json, the checksums decide.
  fs::remove(home / ".cache/hearth/pulls/org/m/pulled.json");
  std::string changed = weights;
  changed[7] = char(changed[7] + 1);
  write_file(model() / "model.safetensors", changed);
  EXPECT_EQ(run().downloaded, 100'000);
  EXPECT_EQ(read_file(model() / "model.safetensors"), weights);
}

TEST_F(PullTest, one_process_at_a_time) {
  request.progress = [this, once = false](const Progress&) mutable {
    if (once) return;
    once = true;
    PullRequest second = request;
    second.progress = {};
    EXPECT_EQ(complaint_of([&] { hub::pull(second, limits); }), "IoError: org/m: another process is pulling it");
  };
  run();
}

TEST_F(PullTest, names_of_what_was_pulled) {
  FakeHub ggufs("org/m");
  ggufs.add("m-Q4_K_M.gguf", "four");
  ggufs.add("m-Q8_0-00001-of-00002.gguf", "ei");
  ggufs.add("m-Q8_0-00002-of-00002.gguf", "ght");
  request.endpoint = ggufs.url();
  request.cache_dir = home / "elsewhere";
  const fs::path folder = home / "elsewhere/models/org/m";
  request.model = "org/m:q4_k_m";
  run();
  EXPECT_EQ(find_pulled("org/m", request.cache_dir), folder / "m-Q4_K_M.gguf");  // the only one
  EXPECT_FALSE(find_pulled("org/m"));
  EXPECT_FALSE(find_pulled("org/m:q8_0", request.cache_dir));
  request.model = "org/m:q8_0";
  run();
  EXPECT_EQ(find_pulled("org/m", request.cache_dir), folder);
  EXPECT_EQ(find_pulled("org/m:q8_0", request.cache_dir), folder / "m-Q8_0-00001-of-00002.gguf");
  fs::remove(folder / "m-Q8_0-00002-of-00002.gguf");
  EXPECT_FALSE(find_pulled("org/m:q8_0", request.cache_dir));  // a shard is missing
  EXPECT_EQ(find_pulled("org/m:m-Q4_K_M.gguf", request.cache_dir), folder / "m-Q4_K_M.gguf");

  request.model = "org/m@refs/pr/1:q4_k_m";
  EXPECT_EQ(run().path, home / "elsewhere/models/org/m@refs%2Fpr%2F1");
  EXPECT_EQ(find_pulled("org/m@refs/pr/1", request.cache_dir), home / "elsewhere/models/org/m@refs%2Fpr%2F1/m-Q4_K_M.gguf");
  ::setenv("HEARTH_HOME", request.cache_dir.c_str(), 1);
  EXPECT_EQ(local_model("org/m:q4_k_m"), folder / "m-Q4_K_M.gguf");
}

TEST_F(PullTest, paths_stay_paths) {
  EXPECT_EQ(local_model(""), "");
  EXPECT_EQ(local_model(home.path()), home.path());
  for (const char* path : {"none", "a/b/c", "models/x.safetensors", "models/x.gguf", "pictures/x.png", "../x"})
    EXPECT_EQ(local_model(path), path);
}

}  // namespace
}  // namespace hearth::hub
