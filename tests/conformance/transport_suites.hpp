// All that every transport must do. A new one joins with a Maker (see Ranks) and this:
//   HOCKET_INSTANTIATE_TRANSPORT_SUITES(Tcp, TcpMaker);
#pragma once

#include "tests/conformance/transport_closing_suite.hpp"
#include "tests/conformance/transport_connection_suite.hpp"
#include "tests/conformance/transport_fault_suite.hpp"
#include "tests/conformance/transport_now_suite.hpp"
#include "tests/conformance/transport_probe_suite.hpp"
#include "tests/conformance/transport_suite.hpp"
#include "tests/conformance/transport_words_suite.hpp"

#define HOCKET_INSTANTIATE_TRANSPORT_SUITES(Name, Maker)                 \
  INSTANTIATE_TYPED_TEST_SUITE_P(Name, TransportSuite, Maker);           \
  INSTANTIATE_TYPED_TEST_SUITE_P(Name, TransportConnectionSuite, Maker); \
  INSTANTIATE_TYPED_TEST_SUITE_P(Name, TransportClosingSuite, Maker);    \
  INSTANTIATE_TYPED_TEST_SUITE_P(Name, TransportFaultSuite, Maker);      \
  INSTANTIATE_TYPED_TEST_SUITE_P(Name, TransportNowSuite, Maker);        \
  INSTANTIATE_TYPED_TEST_SUITE_P(Name, TransportProbeSuite, Maker);      \
  INSTANTIATE_TYPED_TEST_SUITE_P(Name, TransportWordsSuite, Maker)
