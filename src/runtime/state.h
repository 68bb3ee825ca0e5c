// runtime: owns what the model layer only describes, and implements include/lookback/engine.h. May touch: model and
// below. Start reading at engine.cc.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/parallel.h"
#include "formats/file_reader.h"
#include "lookback/engine.h"
#include "model/effects.h"
#include "model/forward.h"
#include "model/kept_pass.h"
#include "model/weights.h"

namespace lookback {

/// An open model: shared by its engine, passes and effects; the last of them frees it.
struct Engine::State {
  explicit State(const EngineOptions& engine_options)
      : options(engine_options), pool(engine_options.n_threads), loader(engine_options.memory_limit_bytes) {}

  EngineOptions options;
  base::ThreadPool pool;

  // While loading.
  model::WeightsLoader loader;
  std::unique_ptr<formats::FileReader> reader;       // the file being read, or the one read last
  std::unique_ptr<formats::FileReader> model_file;   // the last that was not external data
  std::unique_ptr<formats::TensorSink> inspector;    // stands for the loader when only the directory is wanted
  std::vector<formats::TensorInfo> earlier_tensors;  // of shards before that one
  std::vector<std::string> wanted;                   // its external data files that have not been read
  bool file_open = false;
  base::AlignedBuffer chunk;
  std::size_t chunk_size = 0;  // bytes handed out by the last call of chunk

  // Once open.
  ModelConfig config;
  std::uint32_t n_ctx = 0;
  model::Weights weights;
  std::optional<model::Forward> forward;
  std::vector<double> mean_head_row;  // [n_embd], made when first asked for
};

/// A pass and, while it runs, where it is.
struct Pass::State {
  /// A pass with other switches, whose part below `layer` is this one's too.
  struct Lower {
    model::KvCache cache;
    std::uint32_t layer = 0;  ///< the first where other things are off
  };

  std::shared_ptr<Engine::State> engine;
  model::KeptPass kept;

  // The run that step() continues: pending tokens in blocks of kMaxRows, layer by layer.
  std::vector<TokenId> pending{};
  base::AlignedBuffer resid{};   // [kMaxRows, n_embd] the block's stream
  std::uint32_t block_n = 0;     // rows of the block that runs; 0: none begun
  std::uint32_t layer = 0;       // the next layer of that block
  std::optional<Lower> lower{};  // while pending tokens have one
  std::optional<Error> failed{};

  // The row of logits that was read last; several readers ask for the same.
  std::uint32_t logits_pos = 0;
  Array<float> logits{};
};

struct Effects::State {
  std::shared_ptr<Engine::State> engine;
  model::Effects effects;
  std::optional<Error> failed;
};

}  // namespace lookback
