#include "server/http/server.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <boost/asio/basic_socket_acceptor.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <future>
#include <thread>

#include "core/error.h"
#include "server/http/connection.h"
#include "server/http/listener.h"
#include "server/http/tls.h"

namespace hearth::http {
namespace {

using Acceptor = asio::basic_socket_acceptor<asio::generic::stream_protocol>;
using WorkGuard = asio::executor_work_guard<asio::io_context::executor_type>;

constexpr Milliseconds accept_pause{50};  // after an error such as too many open files

// Beyond the limit of connections, for routes that answer at once.
int surplus_of(int connections) { return connections / 8 + 16; }

void set_options(int socket) {
  const auto set = [&](int level, int name, int value) { setsockopt(socket, level, name, &value, sizeof value); };
  set(IPPROTO_TCP, TCP_NODELAY, 1);  // fails harmlessly for Unix sockets, as the following
  // Clients whose machine or network has vanished are noticed within about a minute.
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, 30);
  set(IPPROTO_TCP, TCP_KEEPINTVL, 10);
  set(IPPROTO_TCP, TCP_KEEPCNT, 3);
}

void check(const ServerOptions& o) {
  if (o.tls_certificate.empty() != o.tls_key.empty())
    fail<UsageError>("TLS needs both a certificate and its private key, got only the {}", o.tls_key.empty() ? "certificate" : "key");
  if (o.port < 0 || o.port > 65535) fail<UsageError>("port {}: expected 0 to 65535", o.port);
  if (o.io_threads < 1 || o.io_threads > 64) fail<UsageError>("io_threads is {}, expected 1 to 64", o.io_threads);
  if (o.handler_threads < 1 || o.handler_threads > 256) fail<UsageError>("handler_threads is {}, expected 1 to 256", o.handler_threads);
  if (o.limits.connections < 1) fail<UsageError>("limit of connections is {}, expected at least 1", o.limits.connections);
  if (o.limits.slowest < 1) fail<UsageError>("the slowest rate is 0, expected at least 1 byte per second");
  if (o.limits.header_bytes < 256) fail<UsageError>("limit of header bytes is {}, expected at least 256", o.limits.header_bytes);
  if (!o.error_page) fail<UsageError>("error_page is empty, expected a function");
}

}  // namespace

struct HttpServer::Impl {
  Impl(ServerOptions options, Routes routes) : service(std::move(options), std::move(routes)) {
    for (int i = 0; i < service.options.io_threads; ++i) io.push_back(std::make_unique<IoThread>());
  }
  ~Impl() {
    stop_accepting();
    drop_all();
    service.handlers.reset();
    for (auto& guard : guards) guard.reset();
    for (auto& thread : io) thread->context.stop();
    for (std::thread& thread : threads) thread.join();
  }

  void start();
  void accept();
  void accepted(Socket socket, size_t index);
  void stop_accepting();
  void drop_all();
  void on_all(void (Connection::*action)());

  Service service;
  std::unique_ptr<asio::ssl::context> tls;
  std::vector<std::unique_ptr<IoThread>> io;
  std::vector<WorkGuard> guards;
  std::vector<std::thread> threads;
  Listener listener;
  std::unique_ptr<Acceptor> acceptor;  // used on io[0] once threads run
  std::unique_ptr<asio::steady_timer> pause;
  size_t next = 0;
  bool started = false;
};

void HttpServer::Impl::start() {
  const ServerOptions& options = service.options;
  if (started) fail<Error>("the server has been started already");
  if (!options.tls_certificate.empty()) tls = tls_context(options.tls_certificate, options.tls_key);
  const int connections = options.limits.connections;
  allow_open_files(size_t(connections) + size_t(surplus_of(connections)));
  Listener opened = open_listener(options.host, options.port);
  try {
    if (!opened.is_loopback && service.keys.empty() && !options.allow_without_key)
      fail<UsageError>(
          "the server would listen on {}, which other computers reach, without an API key: expected a key, or an explicit permission",
          opened.address);
    start_listening(opened);
  } catch (...) {
    ::close(opened.socket);
    remove_socket_file(opened);
    throw;
  }
  listener = std::move(opened);
  service.own_hosts_only = service.keys.empty() && listener.is_loopback && listener.unix_path.empty();
  service.handlers = std::make_unique<HandlerPool>(options.handler_threads, options.limits.handler_queue);
  acceptor =
      std::make_unique<Acceptor>(io[0]->context, asio::generic::stream_protocol(listener.family, listener.protocol), listener.socket);
  pause = std::make_unique<asio::steady_timer>(io[0]->context);
  accept();
  for (auto& thread : io) {
    guards.emplace_back(thread->context.get_executor());
    threads.emplace_back([&context = thread->context] {
      while (!context.stopped()) {
        try {
          context.run();
        } catch (const std::exception&) {}  // NOLINT(bugprone-empty-catch): e.g. no memory for one connection; the others go on
      }
    });
  }
  started = true;
}

void HttpServer::Impl::accept() {
  const size_t index = next++ % io.size();
  acceptor->async_accept(io[index]->context, [this, index](const ErrorCode& error, Socket socket) {
    if (!acceptor->is_open() || error == asio::error::operation_aborted) return;
    if (!error) {
      try {
        accepted(std::move(socket), index);
      } catch (const std::exception&) {}  // NOLINT(bugprone-empty-catch): no memory for this connection; others still come
      return accept();
    }
    pause->expires_after(accept_pause);
    pause->async_wait([this](const ErrorCode& stopped) {
      if (!stopped && acceptor->is_open()) accept();
    });
  });
}

void HttpServer::Impl::accepted(Socket socket, size_t index) {
  IoThread& thread = *io[index];
  const int limit = service.options.limits.connections;
  const int open = service.connections;
  if (open >= limit) ++service.refused;
  if (open >= limit + surplus_of(limit)) return;  // closes it
  set_options(socket.native_handle());
  auto connection = std::make_shared<Connection>(service, thread, tls.get(), std::move(socket));
  asio::post(thread.context, [connection = std::move(connection), &thread, full = open >= limit] {
    const bool surplus = full && !thread.close_longest_waiting();
    connection->start(surplus);
  });
}

void HttpServer::Impl::stop_accepting() {
  if (!started || !acceptor) return;
  const auto done = std::make_shared<std::promise<void>>();
  asio::post(io[0]->context, [this, done] {
    ErrorCode ignored;
    acceptor->close(ignored);
    pause->cancel();
    done->set_value();
  });
  done->get_future().wait();
  remove_socket_file(listener);
  listener.unix_path.clear();
}

void HttpServer::Impl::on_all(void (Connection::*action)()) {
  for (auto& thread : io)
    asio::post(thread->context, [&t = *thread, action] {
      const std::vector<std::shared_ptr<Connection>> all(t.connections.begin(), t.connections.end());
      for (const auto& connection : all) (connection.get()->*action)();
    });
}

void HttpServer::Impl::drop_all() {
  if (!started) return;
  *service.draining = true;  // connections that are still on their way to a thread end there
  on_all(&Connection::drop);
  std::unique_lock lock(service.mutex);
  service.changed.wait(lock, [&] { return service.connections == 0; });
}

HttpServer::HttpServer(ServerOptions options, Routes routes) {
  check(options);
  impl_ = std::make_unique<Impl>(std::move(options), std::move(routes));
}

HttpServer::~HttpServer() = default;

void HttpServer::start() { impl_->start(); }

std::string HttpServer::address() const {
  const Listener& listener = impl_->listener;
  if (listener.family == AF_UNIX) return listener.address;
  return (impl_->tls ? "https://" : "http://") + listener.address;
}

int HttpServer::port() const { return impl_->listener.port; }

void HttpServer::stop_accepting() { impl_->stop_accepting(); }

bool HttpServer::drain(Milliseconds patience) {
  if (!impl_->started) return true;
  const auto end = Clock::now() + patience;
  impl_->stop_accepting();
  Service& service = impl_->service;
  *service.draining = true;
  impl_->on_all(&Connection::drain);
  std::unique_lock lock(service.mutex);
  const bool complete = service.changed.wait_until(lock, end, [&] { return service.connections == 0; });
  lock.unlock();
  if (!complete) impl_->drop_all();
  return complete;
}

HttpServer::Counts HttpServer::counts() const {
  const Service& service = impl_->service;
  return {service.connections, service.requests, service.handlers ? int(service.handlers->waiting()) : 0, service.body_bytes,
          service.refused};
}

}  // namespace hearth::http
