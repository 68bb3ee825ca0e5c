// Tolerances of whole passes against the float64 referee (tests/data/reference). They come from what plain f32
// implementations were measured to differ by there (README.md of that folder, "f32_accuracy"), with room for another order
// of sums, and are not to be widened for a test to pass.
#pragma once

namespace lookback::test {

inline constexpr double kLogit = 2e-4;            // PyTorch and ONNX Runtime in f32 differ by up to 9.7e-5
inline constexpr double kFastLogit = 0.05;        // precision fast, measured 0.012 on one text
inline constexpr double kTinyLogit = 1e-4;        // plain f32 differs by up to 1.2e-5 on the tiny models
inline constexpr double kShare = 2e-5;            // of attention
inline constexpr double kShareF16 = 3e-4;         // where the stored share is f16 (half an ulp below 1 is 2.4e-4)
inline constexpr double kQk = 2e-3;               // of scores up to some hundreds
inline constexpr double kProbability = 2e-5;      // of a token; f32 differs by 3.7e-6
inline constexpr double kKl = 5e-5;               // in nats; f32 differs by 2.9e-6
inline constexpr double kLensProbability = 1e-4;  // f32 differs by 8e-6
inline constexpr double kAttributionTerm = 1e-4;  // f32 differs by 1.8e-6
inline constexpr double kHeadStat = 1e-4;         // means of shares, and entropies in nats
inline constexpr double kNormRelative = 1e-5;     // of a residual stream's length
inline constexpr double kSameSums = 1e-6;         // one row read twice: only the order of sums may differ
inline constexpr double kPrefix = 2e-5;           // logits after a kept prefix against a fresh pass: other block sizes

}  // namespace lookback::test
