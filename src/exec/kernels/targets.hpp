// Which instruction sets the kernels are compiled for. Before any include of Highway.
#pragma once

// SSSE3 alone: no processor since 2008 has it without SSE4, and every instruction set costs compile time.
#define HWY_DISABLED_TARGETS (1LL << 12)
