#!/usr/bin/env python3
"""Plants violations in a small tree and expects tools/checks/structure.py to find each, and nothing else."""

import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools" / "checks"))
sys.dont_write_bytecode = True
import structure  # noqa: E402


class StructureTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)

    def write(self, file, text):
        path = self.root / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def layers(self, file, *includes):
        """The violations of one file with these includes, in a tree of its own making."""
        self.write(file, "".join(f"#include {name}\n" for name in includes))
        found = list(structure.layer_violations(self.root))
        (self.root / file).unlink()
        return found

    def test_an_include_that_runs_upward_is_named_with_file_line_and_rule(self):
        found = self.layers("src/plan/plan.cpp", "<vector>", '"src/plan/plan.hpp"', '"src/exec/executor.hpp"')
        self.assertEqual(found, ["src/plan/plan.cpp:3: src/plan may not include src/exec/executor.hpp: "
                                 "it may include include, src/spi, src/base and its own files"])

    def test_every_forbidden_direction_is_found(self):
        for file, include in [
            ("src/spi/a.hpp", '"src/base/log.hpp"'),
            ("src/spi/a.hpp", "<fmt/format.h>"),
            ("algorithms/ring.cpp", '"src/base/log.hpp"'),
            ("algorithms/ring.cpp", '"transports/tcp/link.hpp"'),
            ("algorithms/ring.cpp", "<thread>"),
            ("algorithms/ring.cpp", "<sys/socket.h>"),
            ("src/plan/a.cpp", "<mutex>"),
            ("src/plan/a.cpp", '"algorithms/catalog.hpp"'),
            ("src/plan/a.cpp", "<asio.hpp>"),
            ("src/base/a.cpp", '"src/plan/plan.hpp"'),
            ("src/store/a.cpp", '"src/comm/communicator.hpp"'),
            ("src/store/a.cpp", '"transports/tcp/link.hpp"'),
            ("src/exec/a.cpp", '"src/comm/communicator.hpp"'),
            ("src/exec/a.cpp", '"transports/tcp/link.hpp"'),
            ("src/exec/a.cpp", '"algorithms/ring.hpp"'),
            ("src/comm/a.cpp", '"src/capi/errors.hpp"'),
            ("src/comm/a.cpp", '"tools/launch.hpp"'),
            ("src/capi/a.cpp", '"src/exec/executor.hpp"'),
            ("transports/tcp/a.cpp", '"transports/loopback/a.hpp"'),
            ("transports/tcp/a.cpp", '"transports/registry.hpp"'),
            ("transports/common/a.cpp", '"transports/tcp/link.hpp"'),
            ("include/hocket/a.hpp", '"src/spi/types.hpp"'),
            ("transports/tcp/a.cpp", '"src/store/store.hpp"'),
            ("transports/tcp/a.cpp", '"src/exec/waiting.hpp"'),
            ("bindings/torch/a.cpp", '"src/spi/types.hpp"'),
            ("bindings/torch/a.cpp", '"src/base/log.hpp"'),
            ("src/extra/a.cpp", "<vector>"),
        ]:
            with self.subTest(file=file, include=include):
                self.assertEqual(len(self.layers(file, include)), 1)

    def test_a_relative_include_does_not_escape(self):
        self.write("src/comm/communicator.hpp", "")
        self.assertEqual(len(self.layers("src/base/a.cpp", '"../comm/communicator.hpp"')), 1)

    def test_what_the_floors_allow_passes(self):
        for file, include in [
            ("include/hocket/hocket.h", "<stddef.h>"),
            ("src/spi/a.hpp", '"src/spi/types.hpp"'),
            ("algorithms/ring.cpp", '"algorithms/ring.hpp"'),
            ("algorithms/ring.cpp", '"src/spi/schedule.hpp"'),
            ("src/plan/a.cpp", "<fmt/format.h>"),
            ("src/base/a.cpp", "<spdlog/logger.h>"),
            ("src/exec/a.cpp", '"hwy/highway.h"'),
            ("src/exec/a.cpp", "<mutex>"),
            ("src/comm/a.cpp", '"transports/tcp/link.hpp"'),
            ("src/comm/a.cpp", '"transports/registry.hpp"'),
            ("src/comm/a.cpp", '"algorithms/catalog.hpp"'),
            ("src/capi/a.cpp", '"src/comm/communicator.hpp"'),
            ("transports/registry.cpp", '"transports/tcp/link.hpp"'),
            ("transports/tcp/a.cpp", '"transports/common/accept_guard.hpp"'),
            ("transports/tcp/a.cpp", '"transports/tcp/link.hpp"'),
            ("bindings/torch/a.cpp", '"hocket/hocket.hpp"'),
            ("tests/unit/a.cpp", '"src/exec/executor.hpp"'),
            ("tools/a.cpp", '"src/comm/communicator.hpp"'),
        ]:
            with self.subTest(file=file, include=include):
                self.assertEqual(self.layers(file, include), [])

    def test_a_long_file_is_found(self):
        self.write("src/base/short.cpp", "\n" * structure.MAX_FILE_LINES)
        self.write("src/base/long.cpp", "\n" * (structure.MAX_FILE_LINES + 1))
        self.assertEqual([line.split(":")[0] for line in structure.long_files(self.root)], ["src/base/long.cpp"])

    def test_long_functions_are_found_and_nothing_else(self):
        limit = structure.MAX_FUNCTION_LINES
        body = "  x();  // } not a brace\n  const char* s = \"{{{\"; char c = '{';\n"
        filled = body + "  f({1, 2});\n" * (limit - 4)  # with the line that opens and the one that closes: exactly the limit
        self.write("src/base/a.cpp", "\n".join([
            "namespace hocket {",
            "#define MACRO \\", "  { {",
            "constexpr int table[] = {", "  1,\n" * 200, "};",
            "struct Shape {", "  int a = 0;\n" * 200, "};",
            "void just_right(int a = 0) {", filled + "}",
            "template <class T>", "Result<T> too_long(const T& t,", "     int b) {", filled + "}",
            "Thing::Thing(int a) : a_{a}, b_{2} {", filled + "  y();", "}",
            "class Box {", " public:", "  bool operator==(const Box& other) const {", filled + "  y();", "}", "};",
            "}"]))
        found = list(structure.long_functions(self.root))
        self.assertEqual([line.split("of ")[1].split(" ")[0] for line in found], [str(limit + 2), str(limit + 1), str(limit + 1)])

    def test_a_class_in_too_many_files_is_found(self):
        limit = structure.MAX_CLASS_FILES
        self.write("src/base/header.hpp", "namespace hocket {\nvoid Box::inline_one() {}\n}\n")
        for number in range(limit + 1):
            self.write(f"src/base/part{number}.cpp", "\n".join([
                "namespace hocket {", "namespace {", "int Local::size() { return 1; }", "}",
                f"std::function<void(int)> Box::part{number}(const Other::Thing& thing) const {{ return Else::make(); }}",
                "void free(int a = Shape::area()) {}", "bool Shape::Inner::operator()(int) const { return Box::yes(); }"
                if number < limit else "", "}"]))
            self.write(f"src/exec/other{number}.cpp",
                       f"namespace hocket::deep {{ Shape::Shape() : a_{{{number}}} {{}}\n}}\n" if number < limit else "")
        found = list(structure.scattered_classes(self.root))
        self.assertEqual(len(found), 1, found)
        self.assertIn(f"hocket::Box is defined in {limit + 1} files", found[0])

    def test_a_name_that_a_source_shares_is_found(self):
        def source(*lines):
            return "\n".join(["namespace hocket::comm {", "namespace {", *lines, "}  // namespace", "", "}", ""])

        self.write("src/comm/a.hpp", "namespace hocket {\n\nint most(int one);\nclass Link {\n  int least(int one);\n};\n\n}\n")
        self.write("src/comm/a.cpp", source("struct Side {", "};", "constexpr int limit = 3;", "int sum(int one,", "        int two) {",
                                            "}"))
        self.write("src/exec/kernels/a.cpp", source("constexpr int limit = 3;"))  # is compiled alone
        self.write("tools/a.cpp", source("constexpr int limit = 3;"))  # is no source of the library
        self.write("src/comm/b.cpp", source("int least(int one) {", "}", "using enum Kind;", "int sides = 2;"))
        self.write("src/comm/c.cpp", source("using Text = std::string;"))
        self.write("src/comm/d.cpp", source("using Text = std::string;"))  # is the same
        self.assertEqual(list(structure.shared_names(self.root)), [])
        self.write("src/comm/d.cpp", source("using Text = std::string_view;", "using Link = int;"))
        self.assertEqual([found.split(", too,")[0] for found in structure.shared_names(self.root)],
                         ["src/comm/d.cpp:3: hocket::comm::Text is a name in src/comm/c.cpp",
                          "src/comm/d.cpp:4: hocket::comm::Link is a name in src/comm/a.hpp"])
        self.write("src/comm/d.cpp", "")
        self.write("src/comm/b.cpp", source("int most(long one) {", "}", "class Side {", "};", "const int limit{2};", "int sum() {", "}"))
        self.assertEqual([found.split(", too,")[0] for found in structure.shared_names(self.root)],
                         ["src/comm/b.cpp:3: hocket::comm::most is a name in src/comm/a.hpp",
                          "src/comm/b.cpp:5: hocket::comm::Side is a name in src/comm/a.cpp",
                          "src/comm/b.cpp:7: hocket::comm::limit is a name in src/comm/a.cpp",
                          "src/comm/b.cpp:8: hocket::comm::sum is a name in src/comm/a.cpp"])

    def test_suppressions_are_found(self):
        self.write("tests/tsan.supp", "# a comment\n\nrace:spdlog\n")
        self.write("src/base/a.cpp", "__attribute__((no_sanitize(\"thread\")))\nint a;  // NOLINT\n"
                   "int b;  // NOLINT(bugprone-branch-clone)\n// NOLINTNEXTLINE(performance-enum-size)\n")
        found = [line.split(": ")[0] for line in structure.suppressions(self.root)]
        self.assertEqual(found, ["tests/tsan.supp:3", "src/base/a.cpp:1", "src/base/a.cpp:2"])


if __name__ == "__main__":
    unittest.main()
