// hearth serve, as a process: what happens to it and to its log. Its answers are tested in src/server.
#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <charconv>
#include <chrono>
#include <csignal>
#include <thread>

#include "cli/process.h"

namespace hearth::test {
namespace {

using Clock = std::chrono::steady_clock;

// A connection of a client that asks for one thing.
class Asking {
 public:
  Asking(int port, const std::string& method, const std::string& path, const std::string& body = "")
      : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(uint16_t(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const std::string request = fmt::format(
        "{} {} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{}", method,
        path, body.size(), body);
    if (::connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0)
      sent_ = ::send(socket_, request.data(), request.size(), MSG_NOSIGNAL) == ssize_t(request.size());
  }
  ~Asking() { ::close(socket_); }
  Asking(const Asking&) = delete;
  Asking& operator=(const Asking&) = delete;

  // Reads until the text has come or the connection has ended; false if neither happens in a minute.
  bool read_until(const std::string& text) {
    const auto end = Clock::now() + std::chrono::minutes(1);
    while (sent_ && in.find(text) == std::string::npos) {
      pollfd events{socket_, POLLIN, 0};
      if (::poll(&events, 1, 1000) == 0 && Clock::now() > end) return false;
      char buffer[4096];
      const ssize_t received = ::recv(socket_, buffer, sizeof buffer, MSG_DONTWAIT);
      if (received < 0 && errno == EAGAIN) continue;
      if (received <= 0) break;
      in.append(buffer, size_t(received));
    }
    return true;
  }
  // The status of the whole response; 0: none.
  int status() {
    int code = 0;
    if (read_until("\r\n\r\n") && in.size() > 12) std::from_chars(in.data() + 9, in.data() + 12, code);
    return code;
  }

  std::string in;

 private:
  int socket_;
  bool sent_ = false;
};

class ServeCommandTest : public CommandTest {
 protected:
  // Waits until the server listens; its port, 0 if it ended.
  static int port_of(const Process& server) {
    for (const auto end = Clock::now() + std::chrono::minutes(1); Clock::now() < end;) {
      const std::string out = server.out();
      const size_t colon = out.rfind(':');
      if (out.find('\n') != std::string::npos) return std::stoi(out.substr(colon + 1));
      if (server.err().find("hearth: ") != std::string::npos) return 0;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return 0;
  }
  // That the server answers `count` requests and ends cleanly, whatever its log does.
  static void expect_service(Process& server, int count) {
    const int port = port_of(server);
    ASSERT_GT(port, 0) << server.err();
    for (int i = 0; i < count; ++i) ASSERT_EQ(Asking(port, "GET", "/health").status(), 200) << i;
    EXPECT_EQ(Asking(port, "POST", "/v1/completions", R"({"prompt": "The", "max_tokens": 3})").status(), 200);
    server.send(SIGTERM);
    const Ended ended = server.wait();
    EXPECT_EQ(ended.code, 0) << ended.signal;
  }
  const std::vector<std::string> flags = {"serve", "--port", "0", "--log-requests"};
};

TEST_F(ServeCommandTest, a_server_that_was_killed_starts_again_at_the_same_port) {
  const std::string endless = R"({"prompt": "The", "max_tokens": 1000, "n": 20, "ignore_eos": true, "stream": true})";
  Process first(folder, {"serve", "--port", "0"});
  const int port = port_of(first);
  ASSERT_GT(port, 0) << first.err();
  Asking streaming(port, "POST", "/v1/completions", endless), idle(port, "GET", "/v1/images/files/none");
  std::vector<std::unique_ptr<Asking>> waiting;
  for (int i = 0; i < 5; ++i) waiting.push_back(std::make_unique<Asking>(port, "POST", "/v1/completions", endless));
  ASSERT_TRUE(streaming.read_until("data:"));
  first.send(SIGKILL);
  EXPECT_EQ(first.wait().signal, SIGKILL);
  EXPECT_TRUE(streaming.read_until("[DONE]"));  // or the end
  EXPECT_EQ(streaming.in.find("[DONE]"), std::string::npos) << "the answer was complete before the server was killed";

  Process second(folder, {"serve", "--port", std::to_string(port)});
  ASSERT_EQ(port_of(second), port) << second.err();
  EXPECT_EQ(Asking(port, "POST", "/v1/completions", R"({"prompt": "The", "max_tokens": 3})").status(), 200);
  Process third(folder, {"serve", "--port", std::to_string(port)});
  EXPECT_EQ(not_one_line(third.wait(), 1), "") << "the port is in use";
  second.send(SIGTERM);
  EXPECT_EQ(second.wait().code, 0);
}

TEST_F(ServeCommandTest, a_full_disk_for_the_log_changes_no_answer) {
  Process server(folder, flags, [] { ::dup2(::open("/dev/full", O_WRONLY), STDERR_FILENO); });
  expect_service(server, 20);
}

TEST_F(ServeCommandTest, a_log_whose_reader_has_gone_changes_no_answer) {
  Process server(folder, flags, [] {
    int ends[2];
    if (::pipe(ends) != 0) ::_exit(97);
    ::dup2(ends[1], STDERR_FILENO);
    ::close(ends[0]), ::close(ends[1]);
  });
  expect_service(server, 20);
}

// As on a terminal that was stopped with Ctrl-S.
TEST_F(ServeCommandTest, a_log_that_nobody_reads_changes_no_answer) {
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  ASSERT_GT(::fcntl(ends[1], F_SETPIPE_SZ, 4096), 0);
  Process server(folder, flags, [&] { ::dup2(ends[1], STDERR_FILENO); });
  expect_service(server, 200);  // some 80 bytes each
  ::close(ends[0]), ::close(ends[1]);
}

}  // namespace
}  // namespace hearth::test
