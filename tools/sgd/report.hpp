// What training and proof have found, for people at a terminal and for programs.
#pragma once

#include <string>

#include "tools/sgd/proof.hpp"
#include "tools/sgd/training.hpp"

namespace hocket::sgd {

void print(const Epoch& epoch);
void print(const Change& change);
void print(const Proven& proven);

// JSON documents.
std::string to_json(const Trained& trained, int ranks);
std::string to_json(const Proven& proven);

// "-": standard output. Throws Problem where it cannot.
void write_file(const std::string& name, const std::string& text);

// "α = 50 µs, B = 40.0 MB/s, …"
std::string fit_text(const Fit& fit);

// "64 KiB", "4 MiB"; what is no whole number of them is rounded.
std::string size_text(std::size_t bytes);

}  // namespace hocket::sgd
