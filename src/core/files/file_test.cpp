#include "core/files/file.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <fstream>
#include <functional>

#include "core/error.h"

namespace hearth {
namespace {

namespace fs = std::filesystem;

class FileTest : public ::testing::Test {
 protected:
  FileTest() {
    std::string name = (fs::temp_directory_path() / "hearth-file-XXXXXX").string();
    folder = ::mkdtemp(name.data());
  }
  ~FileTest() override { fs::remove_all(folder); }

  std::vector<std::string> names() const {
    std::vector<std::string> found;
    for (const auto& entry : fs::directory_iterator(folder)) found.push_back(entry.path().filename().string());
    std::sort(found.begin(), found.end());
    return found;
  }
  fs::path folder;
};

std::string message_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const IoError& e) { return e.what(); }
  return "no IoError";
}

// Runs `call` in a child process, whose limits it may change; true if it returned true.
bool in_child(const std::function<bool()>& call) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(call() ? 0 : 1);
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

TEST_F(FileTest, round_trip_and_replacement) {
  const std::string bytes("a\0\xff\n", 4), longer(3'000'000, 'x');
  write_file(folder / "f", longer);
  EXPECT_EQ(read_file(folder / "f"), longer);
  write_file(folder / "f", bytes);
  EXPECT_EQ(read_file(folder / "f"), bytes);
  write_file(folder / "empty", "");
  EXPECT_EQ(read_file(folder / "empty"), "");
  EXPECT_EQ(names(), (std::vector<std::string>{"empty", "f"}));
}

TEST_F(FileTest, pieces_appear_together_or_not_at_all) {
  {
    FileWriter file(folder / "f");
    file.write("ab");
    EXPECT_FALSE(fs::exists(folder / "f"));
    file.write("");
    file.write("c");
    file.commit();
  }
  EXPECT_EQ(read_file(folder / "f"), "abc");
  { FileWriter(folder / "f").write("other"); }
  EXPECT_EQ(read_file(folder / "f"), "abc");
  EXPECT_EQ(names(), std::vector<std::string>{"f"});
  EXPECT_EQ(message_of([&] { FileWriter file(folder / "none" / "f"); }).substr(0, 6), "write ");
}

TEST_F(FileTest, pieces_of_any_size_follow_one_another) {
  const size_t large = size_t(4) << 20;  // the size of a write
  std::string all;
  FileWriter file(folder / "f");
  for (const size_t size : {size_t(3), large - 4, size_t(1), size_t(0), large, size_t(7), 3 * large + 5, large - 12, size_t(1)}) {
    std::string piece(size, '\0');
    for (size_t i = 0; i < size; ++i) piece[i] = char((all.size() + i) * 2654435761u >> 13);
    all += piece;
    file.write(piece);
  }
  file.commit();
  EXPECT_TRUE(read_file(folder / "f") == all);
}

TEST_F(FileTest, applies_umask_and_supports_long_names) {
  const mode_t before = ::umask(027);
  const std::string name(255, 'n');
  write_file(folder / name, "x");
  ::umask(before);
  EXPECT_EQ(fs::status(folder / name).permissions(), fs::perms(0640));
}

TEST_F(FileTest, follows_symbolic_links) {
  fs::create_directory(folder / "real");
  fs::create_symlink("real/f", folder / "link");  // dangling until the first write
  write_file(folder / "link", "one");
  EXPECT_TRUE(fs::is_symlink(folder / "link"));
  EXPECT_EQ(read_file(folder / "real/f"), "one");
}

TEST_F(FileTest, follows_forty_symbolic_links_and_no_more) {
  fs::create_symlink("f", folder / "1");
  for (int i = 2; i <= 41; ++i) fs::create_symlink(std::to_string(i - 1), folder / std::to_string(i));
  write_file(folder / "40", "x");
  EXPECT_EQ(read_file(folder / "f"), "x");
  EXPECT_EQ(message_of([&] { write_file(folder / "41", "y"); }), fmt::format("write {}/41: more than 40 symbolic links", folder.string()));
  EXPECT_EQ(read_file(folder / "f"), "x");
  fs::create_symlink("no/f", folder / "nowhere");
  EXPECT_EQ(message_of([&] { write_file(folder / "nowhere", "y"); }),
            fmt::format("write {0}/nowhere: the folder {0}/no does not exist", folder.string()));
}

// A killed process may have left temporary files, and another process may now have our process ID.
TEST_F(FileTest, keeps_files_of_other_processes) {
  EXPECT_TRUE(in_child([&] {
    for (int i = 0; i < 1000; ++i) std::ofstream(folder / fmt::format(".hearth-{}-{}.tmp", ::getpid(), i)) << "theirs";
    ::alarm(60);
    write_file(folder / "f", "ours");
    return true;
  }));
  EXPECT_EQ(read_file(folder / "f"), "ours");
  EXPECT_EQ(names().size(), 1001u);
  for (const std::string& name : names()) EXPECT_EQ(read_file(folder / name), name == "f" ? "ours" : "theirs");
}

TEST_F(FileTest, closes_what_it_opens) {
  const auto next_descriptor = [] {
    const int fd = ::dup(STDIN_FILENO);
    ::close(fd);
    return fd;
  };
  const int before = next_descriptor();
  write_file(folder / "f", "x");
  read_file(folder / "f");
  check_writable(folder / "f");
  EXPECT_THROW(read_file(folder), IoError);
  EXPECT_EQ(next_descriptor(), before);
}

TEST_F(FileTest, says_why_it_cannot_write) {
  fs::create_directory(folder / "d");
  ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);  // not a device, because root could replace it
  write_file(folder / "f", "old");
  for (const auto& attempt : {std::function<void(const fs::path&)>([](const fs::path& p) { write_file(p, "x"); }),
                              std::function<void(const fs::path&)>([](const fs::path& p) { check_writable(p); })}) {
    const auto says = [&](const fs::path& p) { return message_of([&] { attempt(p); }); };
    EXPECT_EQ(says(folder / "no/f"), fmt::format("write {0}/no/f: the folder {0}/no does not exist", folder.string()));
    EXPECT_EQ(says(folder / "f/g"), fmt::format("write {0}/f/g: {0}/f is not a folder", folder.string()));
    EXPECT_EQ(says(folder / "d"), fmt::format("write {}/d: is a folder, expected a file name", folder.string()));
    EXPECT_EQ(says(fs::path(folder.string() + "/")), fmt::format("write {}/: this names a folder, expected a file name", folder.string()));
    EXPECT_EQ(says(folder / "pipe"), fmt::format("write {}/pipe: not a regular file", folder.string()));
    EXPECT_EQ(says(folder / std::string(256, 'n')), fmt::format("write {}: File name too long", (folder / std::string(256, 'n')).string()));
  }
  EXPECT_EQ(read_file(folder / "f"), "old");
  EXPECT_EQ(names(), (std::vector<std::string>{"d", "f", "pipe"}));
}

TEST_F(FileTest, check_writable_leaves_no_trace) {
  check_writable(folder / "f");
  EXPECT_TRUE(names().empty());
  write_file(folder / "f", "old");
  check_writable(folder / "f");
  EXPECT_EQ(read_file(folder / "f"), "old");
}

// A limit on file size simulates a full disk: write() fails halfway.
TEST_F(FileTest, full_disk_leaves_the_old_file_and_nothing_else) {
  write_file(folder / "f", "old");
  EXPECT_TRUE(in_child([&] {
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{.rlim_cur = 4096, .rlim_max = 4096};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    return message_of([&] { write_file(folder / "f", std::string(10'000, 'x')); }).find("File too large") != std::string::npos;
  }));
  EXPECT_EQ(read_file(folder / "f"), "old");
  EXPECT_EQ(names(), std::vector<std::string>{"f"});
}

TEST_F(FileTest, read_only_folder) {
  fs::permissions(folder, fs::perms(0555));
  EXPECT_TRUE(in_child([&] {
    if (::geteuid() == 0 && ::seteuid(65534) != 0) return false;  // nothing is read-only for root
    const std::string expected = fmt::format("write {0}/f: cannot create a file in the folder {0}: Permission denied", folder.string());
    return message_of([&] { write_file(folder / "f", "x"); }) == expected && message_of([&] { check_writable(folder / "f"); }) == expected;
  }));
  EXPECT_TRUE(in_child([&] {
    fs::current_path(folder);
    if (::geteuid() == 0 && ::seteuid(65534) != 0) return false;
    return message_of([] { write_file("f", "x"); }) == "write f: cannot create a file in the folder .: Permission denied";
  }));
  fs::permissions(folder, fs::perms(0755));
}

// As in /tmp: every user may create files there, but nobody may replace another user's.
TEST_F(FileTest, file_of_another_user_in_a_shared_folder) {
  if (::geteuid() != 0) GTEST_SKIP() << "requires root, to act as two users";
  write_file(folder / "f", "old");
  fs::permissions(folder, fs::perms(01777));
  EXPECT_TRUE(in_child([&] {
    if (::seteuid(65534) != 0) return false;
    return message_of([&] { write_file(folder / "f", "x"); }) == fmt::format("write {}/f: Operation not permitted", folder.string());
  }));
  EXPECT_EQ(read_file(folder / "f"), "old");
  EXPECT_EQ(names(), std::vector<std::string>{"f"});
}

TEST_F(FileTest, says_why_it_cannot_read) {
  EXPECT_EQ(message_of([&] { read_file(folder / "no"); }), fmt::format("read {}/no: No such file or directory", folder.string()));
  EXPECT_EQ(message_of([&] { read_file(folder); }), fmt::format("read {}: not a regular file", folder.string()));
  ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
  EXPECT_EQ(message_of([&] { read_file(folder / "pipe"); }), fmt::format("read {}/pipe: not a regular file", folder.string()));
  write_file(folder / "f", "12345");
  EXPECT_EQ(read_file(folder / "f", 5), "12345");
  EXPECT_EQ(message_of([&] { read_file(folder / "f", 4); }),
            fmt::format("read {}/f: the file has 5 bytes, expected at most 4", folder.string()));
}

// Files of sysfs report the size of a page and contain less, like a file that is truncated while it is read.
TEST_F(FileTest, a_file_that_ends_early_is_refused) {
  const fs::path file = "/sys/devices/system/cpu/online";
  std::error_code error;
  if (fs::file_size(file, error) != 4096) GTEST_SKIP() << "requires sysfs";
  const std::string message = message_of([&] { read_file(file); });
  EXPECT_TRUE(message.starts_with("read /sys/devices/system/cpu/online: the file ended after ") && message.ends_with(" of 4096 bytes"))
      << message;
}

}  // namespace
}  // namespace hearth
