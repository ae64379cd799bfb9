// Certificates for tests: an authority of their own, and what it signs, as PEM files in a folder.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

struct evp_pkey_st;
struct x509_st;

namespace hocket::testing_support {

// The files that a rank needs.
struct CertificateFiles {
  std::string certificate, key, authority;
};

class Authority {
 public:
  // Its certificate becomes FOLDER/NAME.pem.
  Authority(std::filesystem::path folder, const std::string& name);

  const std::string& file() const { return file_; }
  // A certificate that it signs, valid from now for as many seconds; negative: that ended so long ago.
  CertificateFiles sign(const std::string& name, long seconds = 3600) const;

 private:
  std::filesystem::path folder_;
  std::string file_;
  std::shared_ptr<evp_pkey_st> key_;
  std::shared_ptr<x509_st> certificate_;
};

}  // namespace hocket::testing_support
