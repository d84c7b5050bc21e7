#include "transports/tls_socket.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstdint>

#include "errors.h"

namespace envwire::internal {
namespace {

template <class T, void (*Free)(T*)>
struct Freed {
  void operator()(T* object) const { Free(object); }
};
using ContextPtr = std::shared_ptr<SSL_CTX>;
using SslPtr = std::unique_ptr<SSL, Freed<SSL, SSL_free>>;
using X509Ptr = std::unique_ptr<X509, Freed<X509, X509_free>>;
using KeyPtr = std::unique_ptr<EVP_PKEY, Freed<EVP_PKEY, EVP_PKEY_free>>;

struct BioFree {
  void operator()(BIO* bio) const { BIO_free(bio); }
};
using BioPtr = std::unique_ptr<BIO, BioFree>;

[[noreturn]] void Refuse(const std::string& what) {
  const unsigned long code = ERR_get_error();
  const char* why = code != 0 ? ERR_reason_error_string(code) : nullptr;
  throw Error("UNAVAILABLE", what + (why != nullptr ? std::string(": ") + why : ""));
}

BioPtr Reader(const std::string& pem) { return BioPtr(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size()))); }

void TrustRoots(SSL_CTX* context, const std::string& pem) {
  if (pem.empty()) {
    SSL_CTX_set_default_verify_paths(context);
    return;
  }
  const BioPtr reader = Reader(pem);
  int count = 0;
  while (X509Ptr root{PEM_read_bio_X509(reader.get(), nullptr, nullptr, nullptr)}) {
    X509_STORE_add_cert(SSL_CTX_get_cert_store(context), root.get());
    ++count;
  }
  ERR_clear_error();  // the end of the text is reported as an error
  if (count == 0) Refuse("root_certificates holds no certificate");
}

void UseCertificate(SSL_CTX* context, const Tls& tls) {
  if (tls.certificate_chain.empty()) return;
  const BioPtr chain = Reader(tls.certificate_chain);
  const X509Ptr leaf(PEM_read_bio_X509(chain.get(), nullptr, nullptr, nullptr));
  if (!leaf || SSL_CTX_use_certificate(context, leaf.get()) != 1) Refuse("certificate_chain holds no certificate");
  while (X509* next = PEM_read_bio_X509(chain.get(), nullptr, nullptr, nullptr)) {
    SSL_CTX_add_extra_chain_cert(context, next);  // takes it over
  }
  ERR_clear_error();
  const KeyPtr key(PEM_read_bio_PrivateKey(Reader(tls.private_key).get(), nullptr, nullptr, nullptr));
  if (!key || SSL_CTX_use_PrivateKey(context, key.get()) != 1) Refuse("private_key is not that of the certificate");
}

class TlsSocket : public Socket {
 public:
  TlsSocket(Descriptor fd, SslPtr ssl) : fd_(std::move(fd)), ssl_(std::move(ssl)) {}
  ~TlsSocket() override { SSL_shutdown(ssl_.get()); }

  // `shake` is SSL_connect or SSL_accept.
  void Handshake(int (*shake)(SSL*), Clock::time_point deadline) {
    Until(deadline, [this, shake] { return shake(ssl_.get()); });
  }
  void Write(const char* data, std::size_t size, Clock::time_point deadline) override {
    while (size > 0) {
      const auto part = static_cast<int>(std::min<std::size_t>(size, 1U << 30U));
      const int sent = Until(deadline, [&] { return SSL_write(ssl_.get(), data, part); });
      data += sent;
      size -= static_cast<std::size_t>(sent);
    }
  }
  std::size_t Read(char* data, std::size_t size, Clock::time_point deadline) override {
    const auto part = static_cast<int>(std::min<std::size_t>(size, 1U << 30U));
    return static_cast<std::size_t>(Until(deadline, [&] { return SSL_read(ssl_.get(), data, part); }));
  }
  void Shutdown() override { shutdown(fd_.get(), SHUT_RDWR); }
  void EndWriting() override { SSL_shutdown(ssl_.get()); }

 private:
  template <class Call>
  int Until(Clock::time_point deadline, Call call) {
    for (;;) {
      ERR_clear_error();
      const int result = call();
      if (result > 0) return result;
      switch (SSL_get_error(ssl_.get(), result)) {
        case SSL_ERROR_WANT_READ: WaitFor(fd_.get(), POLLIN, deadline); break;
        case SSL_ERROR_WANT_WRITE: WaitFor(fd_.get(), POLLOUT, deadline); break;
        case SSL_ERROR_SSL: Refuse("TLS failed");
        default: throw ConnectionError("the peer closed the TLS connection", false, true);
      }
    }
  }

  Descriptor fd_;
  SslPtr ssl_;
};

ContextPtr ContextOf(const SSL_METHOD* method, const Tls& tls, int verify) {
  ContextPtr context(SSL_CTX_new(method), SSL_CTX_free);
  SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION);
  SSL_CTX_set_verify(context.get(), verify, nullptr);
  if (verify != SSL_VERIFY_NONE) TrustRoots(context.get(), tls.root_certificates);
  UseCertificate(context.get(), tls);
  return context;
}

// Notes why a call on a socket did not move anything, as a BIO has to.
int Moved(BIO* bio, ssize_t count, int retry) {
  BIO_clear_retry_flags(bio);
  if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR)) {
    BIO_set_flags(bio, retry | BIO_FLAGS_SHOULD_RETRY);
  }
  return static_cast<int>(count);
}

int FdOf(BIO* bio) { return static_cast<int>(reinterpret_cast<std::intptr_t>(BIO_get_data(bio))); }

// OpenSSL's own writes to a socket raise SIGPIPE where the peer is gone, which ends a program that did not foresee it.
BIO_METHOD* QuietMethod() {
  static BIO_METHOD* const method = [] {
    BIO_METHOD* made = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "envwire socket");
    BIO_meth_set_write(made, [](BIO* bio, const char* data, int size) {
      return Moved(bio, send(FdOf(bio), data, static_cast<std::size_t>(size), MSG_NOSIGNAL | MSG_DONTWAIT),
                   BIO_FLAGS_WRITE);
    });
    BIO_meth_set_read(made, [](BIO* bio, char* data, int size) {
      return Moved(bio, recv(FdOf(bio), data, static_cast<std::size_t>(size), MSG_DONTWAIT), BIO_FLAGS_READ);
    });
    BIO_meth_set_ctrl(made, [](BIO*, int command, long, void*) -> long { return command == BIO_CTRL_FLUSH ? 1 : 0; });
    return made;
  }();
  return method;
}

void SetSocket(SSL* ssl, int fd) {
  BIO* bio = BIO_new(QuietMethod());
  BIO_set_data(bio, reinterpret_cast<void*>(static_cast<std::intptr_t>(fd)));  // NOLINT(performance-no-int-to-ptr)
  BIO_set_init(bio, 1);
  SSL_set_bio(ssl, bio, bio);  // takes it over
}

std::unique_ptr<Socket> Shaken(Descriptor fd, SslPtr ssl, int (*shake)(SSL*), Clock::time_point deadline) {
  SetSocket(ssl.get(), fd.get());
  auto socket = std::make_unique<TlsSocket>(std::move(fd), std::move(ssl));
  socket->Handshake(shake, deadline);
  return socket;
}

}  // namespace

std::unique_ptr<Socket> ConnectTls(Descriptor fd, const Tls& tls, const std::string& host, Clock::time_point deadline) {
  const ContextPtr context = ContextOf(TLS_client_method(), tls, SSL_VERIFY_PEER);
  SslPtr ssl(SSL_new(context.get()));
  const std::string& name = tls.server_name.empty() ? host : tls.server_name;
  X509_VERIFY_PARAM* verified = SSL_get0_param(ssl.get());
  if (X509_VERIFY_PARAM_set1_ip_asc(verified, name.c_str()) != 1) {
    ERR_clear_error();  // a name, not an address
    SSL_set_tlsext_host_name(ssl.get(), name.c_str());
    if (SSL_set1_host(ssl.get(), name.c_str()) != 1) Refuse("the server's name cannot be verified");
  }
  return Shaken(std::move(fd), std::move(ssl), SSL_connect, deadline);
}

ServerTls::ServerTls(const Tls& tls)
    : context_(ContextOf(
          TLS_server_method(), tls,
          tls.root_certificates.empty() ? SSL_VERIFY_NONE : SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT)) {}

std::unique_ptr<Socket> ServerTls::Accept(Descriptor fd, Clock::time_point deadline) const {
  return Shaken(std::move(fd), SslPtr(SSL_new(context_.get())), SSL_accept, deadline);
}

}  // namespace envwire::internal
