#include "tests/support/certificates.hpp"

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <cstdio>
#include <stdexcept>
#include <utility>

namespace hocket::testing_support {
namespace {

using Key = std::shared_ptr<EVP_PKEY>;
using Certificate = std::shared_ptr<X509>;

void expect(bool good) {
  if (!good) throw std::runtime_error("a certificate for a test could not be made");
}

Key new_key() {
  Key key(EVP_EC_gen("P-256"), ::EVP_PKEY_free);
  expect(key != nullptr);
  return key;
}

// For `subject`, with its key; signed by itself where there is no issuer.
Certificate new_certificate(const std::string& subject, const Key& key, long seconds, const Certificate& issuer,
                            const Key& issuer_key) {
  static long serial = 1;
  Certificate made(::X509_new(), ::X509_free);
  X509* const raw = made.get();
  ::X509_set_version(raw, X509_VERSION_3);
  ::ASN1_INTEGER_set(::X509_get_serialNumber(raw), serial++);
  ::X509_gmtime_adj(::X509_getm_notBefore(raw), -24 * 3600L);
  ::X509_gmtime_adj(::X509_getm_notAfter(raw), seconds);
  ::X509_set_pubkey(raw, key.get());
  X509_NAME* const name = ::X509_get_subject_name(raw);
  const auto* const text = reinterpret_cast<const unsigned char*>(subject.c_str());
  expect(::X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, text, -1, -1, 0) == 1);
  ::X509_set_issuer_name(raw, issuer ? ::X509_get_subject_name(issuer.get()) : name);
  if (!issuer) {
    const std::shared_ptr<X509_EXTENSION> extension(
        ::X509V3_EXT_conf_nid(nullptr, nullptr, NID_basic_constraints, "critical,CA:TRUE"), ::X509_EXTENSION_free);
    expect(extension && ::X509_add_ext(raw, extension.get(), -1) == 1);
  }
  expect(::X509_sign(raw, issuer_key.get(), ::EVP_sha256()) > 0);
  return made;
}

template <class Write>
std::string write_file(const std::filesystem::path& path, Write write) {
  const std::shared_ptr<std::FILE> file(std::fopen(path.c_str(), "w"), [](std::FILE* one) {
    if (one != nullptr) std::fclose(one);
  });
  expect(file != nullptr && write(file.get()) == 1);
  return path.string();
}

std::string write_certificate(const std::filesystem::path& path, const Certificate& certificate) {
  return write_file(path, [&](std::FILE* file) { return ::PEM_write_X509(file, certificate.get()); });
}

}  // namespace

Authority::Authority(std::filesystem::path folder, const std::string& name)
    : folder_(std::move(folder)), key_(new_key()), certificate_(new_certificate(name, key_, 3600, nullptr, key_)) {
  file_ = write_certificate(folder_ / (name + ".pem"), certificate_);
}

CertificateFiles Authority::sign(const std::string& name, long seconds) const {
  const Key key = new_key();
  const auto write_key = [&](std::FILE* file) {
    return ::PEM_write_PrivateKey(file, key.get(), nullptr, nullptr, 0, nullptr, nullptr);
  };
  return {.certificate =
              write_certificate(folder_ / (name + ".pem"), new_certificate(name, key, seconds, certificate_, key_)),
          .key = write_file(folder_ / (name + ".key"), write_key),
          .authority = file_};
}

}  // namespace hocket::testing_support
