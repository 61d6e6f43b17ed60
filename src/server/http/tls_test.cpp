// HTTPS, with a certificate that the test makes.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include <atomic>
#include <filesystem>
#include <fstream>

#include "server/http/client_test.h"
#include "support/complaint.h"

namespace hearth::http::test {
namespace {

// A self-signed certificate and its key in a folder of the test.
struct Certificate {
  explicit Certificate(const char* passphrase = nullptr) {
    folder = std::filesystem::temp_directory_path() / fmt::format("hearth-tls-{}-{}", getpid(), counter++);
    std::filesystem::create_directories(folder);
    EVP_PKEY* pair = EVP_EC_gen("P-256");
    X509* x509 = X509_new();
    ASN1_INTEGER_set(X509_get_serialNumber(x509), 1);
    X509_gmtime_adj(X509_getm_notBefore(x509), 0);
    X509_gmtime_adj(X509_getm_notAfter(x509), 3600);
    X509_set_pubkey(x509, pair);
    X509_NAME_add_entry_by_txt(X509_get_subject_name(x509), "CN", MBSTRING_ASC, reinterpret_cast<const unsigned char*>("localhost"), -1, -1,
                               0);
    X509_set_issuer_name(x509, X509_get_subject_name(x509));
    X509_sign(x509, pair, EVP_sha256());
    FILE* file = fopen(certificate().c_str(), "w");
    PEM_write_X509(file, x509);
    fclose(file);
    file = fopen(key().c_str(), "w");
    PEM_write_PrivateKey(file, pair, passphrase ? EVP_aes_128_cbc() : nullptr, reinterpret_cast<const unsigned char*>(passphrase),
                         passphrase ? int(std::string_view(passphrase).size()) : 0, nullptr, nullptr);
    fclose(file);
    X509_free(x509);
    EVP_PKEY_free(pair);
  }
  ~Certificate() { std::filesystem::remove_all(folder); }

  std::string certificate() const { return folder / "certificate.pem"; }
  std::string key() const { return folder / "key.pem"; }
  ServerOptions options() const {
    ServerOptions options;
    options.tls_certificate = certificate();
    options.tls_key = key();
    return options;
  }

  std::filesystem::path folder;
  static inline int counter = 0;
};

struct Caught {
  std::promise<Responder> promise;
  std::atomic<int> calls{0};
  Routes routes() {
    Routes routes;
    routes.add("POST", "/echo", [](const Request& request, const Responder& to) {
      to.respond(200, "text/plain", fmt::format("{} {}", request.is_https, request.body));
    });
    routes.add("GET", "/wait", [this](const Request&, const Responder& to) {
      to.on_disconnect([this] { ++calls; });
      to.begin_stream(200, "text/plain");
      promise.set_value(to);
    });
    return routes;
  }
};

TEST(Tls, RequestsAndLargeBodies) {
  const Certificate certificate;
  Caught caught;
  const auto server = serve(caught.routes(), certificate.options());
  EXPECT_EQ(server->address(), fmt::format("https://127.0.0.1:{}", server->port()));
  Client client(server->port(), true);
  for (const size_t size : {size_t(3), size_t(3'000'000), size_t(10)}) {
    const std::string body(size, 'x');
    std::thread sender([&] { client.send(post("/echo", body)); });
    sender.join();
    EXPECT_EQ(client.reply().body, "true " + body);
  }
  client.send(post("/echo", "a") + post("/echo", "b"));
  EXPECT_EQ(client.reply().body, "true a");
  EXPECT_EQ(client.reply().body, "true b");
  client.send(post("/none", std::string(10'000, 'x')));
  EXPECT_EQ(client.reply().status, 404);
}

TEST(Tls, StreamsAndSeesClientsLeave) {
  const Certificate certificate;
  Caught caught;
  const auto server = serve(caught.routes(), certificate.options());
  Client client(server->port(), true);
  client.send(get("/wait"));
  const Responder to = received(caught.promise);
  for (int i = 0; i < 50; ++i) EXPECT_EQ(to.write("token"), Sent::queued);
  EXPECT_NE(client.read_until("token\r\n"), "");
  EXPECT_EQ(caught.calls, 0);
  client.close();  // without close_notify
  EXPECT_TRUE(eventually([&] { return caught.calls == 1; }));
  EXPECT_TRUE(eventually([&] { return server->counts().connections == 0; }));
}

TEST(Tls, DrainDoesNotWaitForIdleClients) {
  const Certificate certificate;
  Caught caught;
  const auto server = serve(caught.routes(), certificate.options());
  Client client(server->port(), true);
  client.send(post("/echo", "x"));
  EXPECT_EQ(client.reply().status, 200);
  const auto began = steady_clock::now();
  EXPECT_TRUE(server->drain(30s));
  EXPECT_LT(steady_clock::now() - began, 5s);
  EXPECT_TRUE(client.ended());
}

TEST(Tls, HandshakesHaveATimeLimit) {
  const Certificate certificate;
  Caught caught;
  ServerOptions options = certificate.options();
  options.limits.header_time = 100ms;
  const auto server = serve(caught.routes(), options);
  Client silent(server->port()), plain(server->port());
  plain.send(get("/echo"));
  EXPECT_TRUE(plain.ended(5s));
  EXPECT_TRUE(silent.ended(5s));
  EXPECT_TRUE(eventually([&] { return server->counts().connections == 0; }));
}

TEST(Tls, RefusesFilesThatItCannotUse) {
  const Certificate one, other, locked("secret");
  const auto complaint = [](const std::string& certificate, const std::string& key) {
    ServerOptions options;
    options.tls_certificate = certificate;
    options.tls_key = key;
    return hearth::test::complaint_of([&] { serve({}, options); });
  };
  const std::string missing = one.folder / "missing.pem", garbage = one.folder / "garbage.pem";
  std::ofstream(garbage) << "no certificate\n";
  EXPECT_EQ(complaint(missing, one.key()),
            fmt::format("IoError: cannot use the certificate {}: No such file or directory, expected a PEM file", missing));
  EXPECT_EQ(complaint(garbage, one.key()),
            fmt::format("IoError: cannot use the certificate {}: no start line, expected a PEM file", garbage));
  EXPECT_NE(complaint(one.certificate(), missing).find("cannot use the private key"), std::string::npos);
  EXPECT_NE(complaint(one.certificate(), other.key()).find("key values mismatch"), std::string::npos);
  EXPECT_NE(complaint(locked.certificate(), locked.key()).find("without passphrase"), std::string::npos);
}

}  // namespace
}  // namespace hearth::http::test
