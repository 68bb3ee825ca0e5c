// The engine through its door: order of calls, refusals with their words, prefixes, memory.
#include "lookback/engine.h"

#include <gtest/gtest.h>

#include <limits>
#include <numeric>

#include "formats/file_reader.h"
#include "tests/support/allocation_meter.h"
#include "tests/support/byte_writer.h"
#include "tests/support/open_model.h"
#include "tests/support/recording_sink.h"
#include "tests/support/seeded_rng.h"
#include "tests/support/tiny_model.h"
#include "tests/support/tolerance.h"

namespace lookback::test {
namespace {

template <typename T>
void expect_refused(const Result<T>& result, ErrorCode code, const std::string& says) {
  ASSERT_FALSE(result.has_value()) << "expected " << error_code_name(code);
  EXPECT_EQ(error_code_name(result.error().code), error_code_name(code)) << result.error().message;
  EXPECT_NE(result.error().message.find(says), std::string::npos) << result.error().message;
}

OpenModel open_tiny(const TinyModel& tiny = {}, const EngineOptions& options = {}) {
  return must(open_bytes("tiny.gguf", tiny.gguf(), {}, options));
}

Result<OpenModel> try_tiny(const TinyModel& tiny, const EngineOptions& options = {}) {
  return open_bytes("tiny.gguf", tiny.gguf(), {}, options);
}

std::vector<TokenId> random_ids(std::size_t n, std::uint32_t seed = 3) {
  SeededRng rng(seed);
  std::vector<TokenId> ids(n);
  for (TokenId& id : ids) id = static_cast<TokenId>(rng.below(67));
  return ids;
}

// ---- files ----

TEST(Engine, RefusesCallsOutOfOrder) {
  const auto engine = must(Engine::create({}));
  expect_refused(engine->chunk(10), ErrorCode::kWrongState, "no file");
  expect_refused(engine->commit(0), ErrorCode::kWrongState, "no file");
  expect_refused(engine->end_file(), ErrorCode::kWrongState, "no file");
  expect_refused(engine->directory(), ErrorCode::kWrongState, "directory");
  expect_refused(engine->tokenizer(), ErrorCode::kWrongState, "directory");
  expect_refused(engine->open(), ErrorCode::kWrongState, "no weights");
  expect_refused(engine->create_pass({}), ErrorCode::kWrongState, "not open");
  must(engine->begin_file({.name = "a.gguf"}));
  expect_refused(engine->begin_file({.name = "b.gguf"}), ErrorCode::kWrongState, "has not ended");
  expect_refused(engine->open(), ErrorCode::kWrongState, "not been read");
  expect_refused(engine->commit(1), ErrorCode::kBadArgument, "room");
  expect_refused(engine->chunk(std::size_t{1} << 30), ErrorCode::kBadArgument, "1073741824");
}

TEST(Engine, RefusesOptionsOutOfRange) {
  expect_refused(Engine::create({.n_threads = 0}), ErrorCode::kBadArgument, "threads is 0");
  expect_refused(try_tiny({}, {.n_ctx = 301}), ErrorCode::kBadArgument, "300 positions");
  expect_refused(try_tiny({}, {.memory_limit_bytes = 1000}), ErrorCode::kOutOfMemory, "but this build can hold 1000");
}

TEST(Engine, RefusesFilesThatTheReadersCannotJudge) {
  const struct {
    const char* file;
    ErrorCode code;
    const char* says;
    const char* config = "config.json";
  } cases[] = {
      {"gguf_missing_tensor.gguf", ErrorCode::kMissingTensor, "layers.0.up_proj"},
      {"gguf_wrong_shape.gguf", ErrorCode::kShapeMismatch, "blk.0.attn_k.weight"},
      {"gguf_nan_weights.gguf", ErrorCode::kNonFinite, "blk.0.attn_q.weight"},
      {"gguf_missing_key.gguf", ErrorCode::kMissingMetadata, "llama.attention.head_count"},
      {"gguf_wrong_arch.gguf", ErrorCode::kUnsupportedArchitecture, "mamba"},
      {"gguf_heads_zero.gguf", ErrorCode::kBadConfig, "head_count"},
      {"st_wrong_shape.safetensors", ErrorCode::kShapeMismatch, "q_proj.weight"},
      {"ok.safetensors", ErrorCode::kBadConfig, "3 heads over 2 key/value heads", "cfg_heads_mismatch.json"},
  };
  for (const auto& expected : cases) {
    SCOPED_TRACE(expected.file);
    const std::string folder = "tests/data/reference/malformed/";
    std::optional<std::string> config;
    if (!std::string(expected.file).ends_with(".gguf")) config = read_text(folder + expected.config);
    const auto model = open_bytes(expected.file, read_bytes(folder + expected.file), config);
    expect_refused(model, expected.code, expected.says);
  }
}

TEST(Engine, OpensTheSoundFiles) {
  const std::string folder = "tests/data/reference/malformed/";
  const auto expected = read_json(folder + "ok.expected.json");
  const auto ids = ids_of(expected["ids"]);
  for (const auto& [file, logits_of] :
       {std::pair{"ok.gguf", "gguf_logits_last"}, std::pair{"ok.safetensors", "safetensors_logits_last"},
        std::pair{"ok.onnx", "onnx_logits_last_f32"}}) {
    const auto model = must(open_bytes(file, read_bytes(folder + file), read_text(folder + "config.json")));
    const auto logits = must(run_pass(*model.engine, ids)->logits(static_cast<std::uint32_t>(ids.size()) - 1));
    ASSERT_EQ(logits.size(), expected[logits_of].size());
    for (std::size_t i = 0; i < logits.size(); ++i) {
      ASSERT_NEAR(static_cast<double>(logits[i]), expected[logits_of][i].get<double>(), kTinyLogit)
          << file << " token " << i;
    }
  }
}

TEST(Engine, TakesExternalDataByItsName) {
  // The file that refers to data elsewhere is ok.onnx but for one tensor, whose length it gives wrongly.
  const std::string folder = "tests/data/reference/malformed/";
  const auto config = read_text(folder + "config.json");
  const auto whole_file = read_bytes(folder + "ok.onnx");
  RecordingSink sink;
  const auto reader = must(formats::FileReader::create("ok.onnx", whole_file.size(), &sink));
  must(reader->feed(whole_file));

  std::string model_file = read_text(folder + "onnx_external_missing.onnx");
  const std::size_t length = model_file.find("2048", model_file.find("length"));
  ASSERT_NE(length, std::string::npos);
  model_file.replace(length, 4, "4096");

  const auto engine = must(Engine::create({}));
  must(engine->set_config(config));
  const auto wanted = must(feed_bytes(*engine, "model.onnx", std::as_bytes(std::span(model_file))));
  ASSERT_EQ(wanted, std::vector<std::string>{"weights_that_do_not_exist.bin"});
  expect_refused(engine->open(), ErrorCode::kMissingTensor, wanted[0]);
  const auto directory = must(engine->directory());
  const auto missing = std::find_if(directory.tensors.begin(), directory.tensors.end(),
                                    [](const auto& tensor) { return tensor.name == "onnx::MatMul_512"; });
  ASSERT_NE(missing, directory.tensors.end());
  EXPECT_TRUE(must(feed_bytes(*engine, wanted[0], sink.tensors["onnx::MatMul_512"].bytes)).empty());
  must(engine->open());

  const auto whole = must(open_bytes("ok.onnx", whole_file, config));
  const auto ids = random_ids(9);
  EXPECT_EQ(largest_difference(must(run_pass(*engine, ids)->logits(8)).span(),
                               must(run_pass(*whole.engine, ids)->logits(8)).span()),
            0);
}

TEST(Engine, NeedsAConfigurationWhereTheFileHasNone) {
  const auto bytes = read_bytes("tests/data/reference/malformed/ok.safetensors");
  expect_refused(open_bytes("ok.safetensors", bytes), ErrorCode::kMissingMetadata, "config.json");
}

TEST(Engine, ReadsAFileHoweverItArrives) {
  const auto bytes = TinyModel{}.gguf();
  const auto whole = open_tiny();
  const auto ids = random_ids(20);
  const auto expected = must(run_pass(*whole.engine, ids)->logits(19));
  for (const std::size_t piece : {1u, 7u, 1000u}) {
    const auto engine = must(Engine::create({}));
    must(feed_bytes(*engine, "tiny.gguf", bytes, piece));
    must(engine->open());
    EXPECT_EQ(largest_difference(must(run_pass(*engine, ids)->logits(19)).span(), expected.span()), 0);
  }
}

TEST(Engine, InspectsWithoutKeepingWeights) {
  const auto bytes = read_bytes("tests/data/reference/malformed/ok.gguf");
  const auto engine = must(Engine::create({}));
  must(engine->begin_file({.name = "ok.gguf", .n_bytes = bytes.size(), .inspect_only = true}));
  bool complete = false;
  std::size_t at = 0;
  for (; at < bytes.size() && !complete; at += 256) {
    const std::size_t n = std::min<std::size_t>(256, bytes.size() - at);
    std::memcpy(must(engine->chunk(n)).data(), bytes.data() + at, n);
    complete = must(engine->commit(n)).header_complete;
  }
  EXPECT_LT(at, bytes.size());
  const auto directory = must(engine->directory());
  EXPECT_EQ(directory.format, "gguf");
  EXPECT_EQ(directory.architecture, "llama");
  ASSERT_TRUE(directory.config.has_value());
  EXPECT_EQ(directory.config->n_embd, 32u);
  EXPECT_EQ(directory.config->n_vocab, 261u);
  ASSERT_TRUE(directory.tokenizer.has_value());
  EXPECT_EQ(directory.tokenizer->n_tokens, 261u);
  EXPECT_FALSE(directory.tensors.empty());
  const auto tokenizer = must(engine->tokenizer());
  ASSERT_TRUE(tokenizer.has_value());
  EXPECT_EQ(tokenizer->token_types.size(), 261u);
  EXPECT_FALSE(tokenizer->tokens.empty());
  expect_refused(engine->open(), ErrorCode::kWrongState, "not been read");
}

/// Cut at a header's end as inspecting does, or read whole; either way every shard is in the directory.
TEST(Engine, ListsTheTensorsOfEveryShard) {
  const auto shard = [](const std::string& name) {
    return safetensors_file("{\"" + name + R"(":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})", 4);
  };
  for (const bool whole : {false, true}) {
    const auto engine = must(Engine::create({}));
    for (const std::string name : {"a", "b", "c"}) {
      const auto bytes = shard(name);
      must(engine->begin_file({.name = name + ".safetensors", .n_bytes = bytes.size(), .inspect_only = true}));
      const std::size_t n = bytes.size() - (whole ? 0 : 2);
      std::memcpy(must(engine->chunk(n)).data(), bytes.data(), n);
      EXPECT_TRUE(must(engine->commit(n)).header_complete);
      if (whole) must(engine->end_file());
    }
    std::string names;
    for (const auto& tensor : must(engine->directory()).tensors) names += tensor.name;
    EXPECT_EQ(names, "abc");
  }
}

TEST(Engine, NamesLayersAndKeysThatNeedOtherCode) {
  constexpr std::uint32_t kU32 = 4;
  constexpr std::uint32_t kF32 = 6;
  expect_refused(try_tiny({.more_keys = [](auto& keys) { keys.key("llama.rope.scaling.type", "yarn"); }}),
                 ErrorCode::kUnsupportedArchitecture, "llama.rope.scaling.type is \"yarn\"");
  expect_refused(try_tiny({.more_keys = [](auto& keys) { keys.key("llama.expert_count", kU32, std::uint32_t{8}); }}),
                 ErrorCode::kUnsupportedArchitecture, "llama.expert_count is 8");
  expect_refused(try_tiny({.more_keys = [](auto& keys) { keys.key("llama.attention.scale", kF32, 0.5f); }}),
                 ErrorCode::kUnsupportedArchitecture, "llama.attention.scale");
  expect_refused(
      try_tiny({.more_keys = [](auto& keys) { keys.key("llama.rope.dimension_count", kU32, std::uint32_t{4}); }}),
      ErrorCode::kUnsupportedArchitecture, "llama.rope.dimension_count is 4");
  expect_refused(try_tiny({.head_dim = 12}), ErrorCode::kBadConfig, "head_dim is 12");
  expect_refused(try_tiny({.n_head = 3}), ErrorCode::kBadConfig, "3 heads over 2");
}

// ---- passes ----

TEST(Pass, RefusesPromptsThatCannotRun) {
  const auto model = open_tiny({}, {.n_ctx = 10});
  const auto pass = must(model.engine->create_pass({}));
  expect_refused(pass->begin({}), ErrorCode::kEmptyPrompt, "no tokens");
  const TokenId too_large[] = {1, 67};
  expect_refused(pass->begin(too_large), ErrorCode::kBadToken, "67, expected 0 to 66");
  const TokenId negative[] = {-1};
  expect_refused(pass->begin(negative), ErrorCode::kBadToken, "-1");
  expect_refused(pass->begin(random_ids(11)), ErrorCode::kContextFull, "11 tokens, but the context holds 10");
  expect_refused(pass->logits(0), ErrorCode::kWrongState, "no tokens");
  must(run(*pass, random_ids(8)));  // a refusal leaves it as it was
  expect_refused(pass->begin(random_ids(3)), ErrorCode::kContextFull, "11 tokens");
  must(run(*pass, random_ids(2)));
  EXPECT_EQ(pass->length(), 10u);
}

TEST(Pass, RefusesToBeReadWhileItRunsAndOutsideItself) {
  const auto model = open_tiny();
  const auto pass = must(model.engine->create_pass({}));
  must(pass->begin(random_ids(5)));
  expect_refused(pass->logits(0), ErrorCode::kWrongState, "still running");
  expect_refused(pass->begin(random_ids(1)), ErrorCode::kWrongState, "still running");
  while (!must(pass->step()).done) {
  }
  expect_refused(pass->logits(5), ErrorCode::kBadArgument, "position is 5, expected 0 to 4");
  expect_refused(pass->row(2, 0, 0), ErrorCode::kBadArgument, "layer is 2");
  expect_refused(pass->row(0, 4, 0), ErrorCode::kBadArgument, "head is 4");
  expect_refused(pass->row(0, 0, 5), ErrorCode::kBadArgument, "query is 5");
  expect_refused(pass->products(0, 0, 2, 3), ErrorCode::kBadArgument, "key is 3");
  expect_refused(pass->looked_at_by(5), ErrorCode::kBadArgument, "key is 5");
  expect_refused(pass->attribution(67, 0, Pass::Centre::kNone), ErrorCode::kBadToken, "67");
  expect_refused(pass->effects(3, 5), ErrorCode::kBadArgument, "position is 5");
  const auto none = run_pass(*model.engine, random_ids(5), {.keep = Keep::kNone});
  expect_refused(none->row(0, 0, 0), ErrorCode::kWrongState, "kept no queries");
  expect_refused(none->effects(3, 4), ErrorCode::kWrongState, "kept no queries");
  EXPECT_TRUE(none->lens(4, 3).has_value());
  EXPECT_LT(none->n_bytes(), pass->n_bytes());
}

TEST(Pass, OutlivesItsEngine) {
  auto model = open_tiny();
  const auto pass = run_pass(*model.engine, random_ids(5));
  const auto effects = must(pass->effects(3, 4));
  model.engine.reset();
  EXPECT_TRUE(pass->logits(4).has_value());
  EXPECT_TRUE(effects->step().has_value());
}

TEST(Pass, GivesTheSameLogitsHoweverItIsCut) {
  // Around the sizes where a page (64) or a block (128) ends.
  const auto model = open_tiny();
  const auto ids = random_ids(200);
  const auto fresh = run_pass(*model.engine, ids);
  const auto expected = must(fresh->logits(199));
  for (const std::uint32_t n : {1u, 63u, 64u, 65u, 127u, 128u, 129u, 192u, 199u}) {
    const auto pass = must(model.engine->create_pass({.prefix = fresh.get(), .prefix_length = n}));
    must(run(*pass, std::span(ids).subspan(n)));
    EXPECT_LE(largest_difference(must(pass->logits(199)).span(), expected.span()), kPrefix) << n;
    EXPECT_LE(largest_difference(must(pass->look(150)).span(), must(fresh->look(150)).span()), kPrefix) << n;
  }
  EXPECT_EQ(largest_difference(must(fresh->logits(199)).span(), expected.span()), 0);
}

TEST(Pass, AnEditRunsOnlyFromTheFirstChangedToken) {
  const auto model = open_tiny();
  auto ids = random_ids(150);
  const auto before = run_pass(*model.engine, ids);
  const auto before_logits = must(before->logits(149));
  ids[100] = (ids[100] + 1) % 67;
  const auto edited = must(model.engine->create_pass({.prefix = before.get(), .prefix_length = 100}));
  EXPECT_EQ(edited->length(), 100u);
  must(run(*edited, std::span(ids).subspan(100)));
  const auto fresh = run_pass(*model.engine, ids);
  EXPECT_LE(largest_difference(must(edited->logits(149)).span(), must(fresh->logits(149)).span()), kPrefix);
  EXPECT_EQ(largest_difference(must(before->logits(149)).span(), before_logits.span()), 0);  // untouched by the edit
  EXPECT_GT(largest_difference(before_logits.span(), must(edited->logits(149)).span()), 1e-3);
}

TEST(Pass, PrefixesOfOtherSwitchesAreRefused) {
  const auto model = open_tiny();
  const auto other = open_tiny();
  const auto ids = random_ids(9);
  const auto plain = run_pass(*model.engine, ids);
  const auto off = run_pass(*model.engine, ids, {.off = {{0, 1, {}}}});
  const auto none = run_pass(*model.engine, ids, {.keep = Keep::kNone});
  expect_refused(model.engine->create_pass({.prefix = off.get(), .prefix_length = 3}), ErrorCode::kWrongState,
                 "other switches");
  expect_refused(model.engine->create_pass({.off = {{0, 1, {}}}, .prefix = plain.get(), .prefix_length = 3}),
                 ErrorCode::kWrongState, "other switches");
  expect_refused(model.engine->create_pass({.prefix = none.get(), .prefix_length = 3}), ErrorCode::kWrongState,
                 "keeps other");
  expect_refused(model.engine->create_pass({.prefix = plain.get(), .prefix_length = 10}), ErrorCode::kBadArgument,
                 "has 9");
  expect_refused(other.engine->create_pass({.prefix = plain.get(), .prefix_length = 3}), ErrorCode::kWrongState,
                 "another model");
}

// Whatever the layer, from any switches to any other: the very numbers of a pass that ran with them from its first layer.
TEST(Pass, SwitchedEqualsARunFromTheStart) {
  const auto model = open_tiny({.n_layer = 12});
  const auto ids = random_ids(150);  // more than a block, more than a page
  const std::vector<std::vector<Off>> cases = {{},
                                               {{0, 1, {}}},
                                               {{4, 2, {}}},
                                               {{5, 0, {}}},
                                               {{6, 3, {}}, {11, 1, {}}},
                                               {{11, 0, {}}},
                                               {{9, 1, Off::Link{.query = 140, .key = 3}}}};
  std::vector<std::unique_ptr<Pass>> fresh;
  for (const auto& off : cases) fresh.push_back(run_pass(*model.engine, ids, {.off = off}));
  for (std::size_t from = 0; from < cases.size(); ++from) {
    for (std::size_t to = 0; to < cases.size(); ++to) {
      const auto pass = must(fresh[from]->switched(150, cases[to]));
      while (!must(pass->step()).done) {
      }
      const std::string what = std::to_string(from) + " to " + std::to_string(to);
      for (const std::uint32_t pos : {0u, 20u, 127u, 128u, 149u}) {
        EXPECT_EQ(largest_difference(must(pass->logits(pos)).span(), must(fresh[to]->logits(pos)).span()), 0)
            << what << ", position " << pos;
      }
      EXPECT_EQ(largest_difference(must(pass->average()).span(), must(fresh[to]->average()).span()), 0) << what;
      if (from == to) continue;
      EXPECT_GT(largest_difference(must(fresh[from]->logits(149)).span(), must(pass->logits(149)).span()), 0) << what;
    }
  }
}

TEST(Pass, SwitchedMayBeShorterAndGoOn) {
  const auto model = open_tiny({.n_layer = 12});
  const auto ids = random_ids(40);
  const std::vector<Off> off = {{7, 2, {}}};
  const auto plain = run_pass(*model.engine, ids);
  const auto fresh = run_pass(*model.engine, std::span(ids).first(30), {.off = off});
  const auto pass = must(plain->switched(30, off));
  expect_refused(pass->begin(ids), ErrorCode::kWrongState, "still running");
  while (!must(pass->step()).done) {
  }
  EXPECT_EQ(pass->length(), 30u);
  EXPECT_EQ(largest_difference(must(pass->logits(29)).span(), must(fresh->logits(29)).span()), 0);
  must(run(*pass, std::span(ids).subspan(30)));
  must(run(*fresh, std::span(ids).subspan(30)));
  EXPECT_EQ(largest_difference(must(pass->logits(39)).span(), must(fresh->logits(39)).span()), 0);
}

TEST(Pass, SwitchedRefusals) {
  const auto model = open_tiny();
  const auto ids = random_ids(9);
  const auto plain = run_pass(*model.engine, ids);
  const auto none = run_pass(*model.engine, ids, {.keep = Keep::kNone});
  expect_refused(plain->switched(10, {}), ErrorCode::kBadArgument, "pass of 9");
  expect_refused(plain->switched(0, {}), ErrorCode::kBadArgument, "pass of 9");
  const std::vector<Off> beyond = {{99, 0, {}}};
  expect_refused(plain->switched(9, beyond), ErrorCode::kBadArgument, "layer 99");
  expect_refused(none->switched(9, {}), ErrorCode::kWrongState, "no queries");
}

TEST(Pass, AnAbandonedRunLeavesTheOthersAlone) {
  const auto model = open_tiny({.n_layer = 6});
  const auto ids = random_ids(150);
  const auto kept = run_pass(*model.engine, std::span(ids).first(100));
  const auto expected = must(run_pass(*model.engine, ids)->logits(149));
  {
    const auto abandoned = must(model.engine->create_pass({.prefix = kept.get(), .prefix_length = 100}));
    must(abandoned->begin(std::span(ids).subspan(100)));
    must(abandoned->step());
  }
  must(run(*kept, std::span(ids).subspan(100)));
  EXPECT_LE(largest_difference(must(kept->logits(149)).span(), expected.span()), kPrefix);
}

TEST(Pass, TwoRunsMayTakeTurns) {
  const auto model = open_tiny({.n_layer = 6});
  const auto a = random_ids(100, 5);
  const auto b = random_ids(100, 6);
  const auto expected_a = must(run_pass(*model.engine, a)->logits(99));
  const auto expected_b = must(run_pass(*model.engine, b)->logits(99));
  const auto pass_a = must(model.engine->create_pass({}));
  const auto pass_b = must(model.engine->create_pass({}));
  must(pass_a->begin(a));
  must(pass_b->begin(b));
  for (bool done = false; !done;) {
    const bool done_a = must(pass_a->step()).done;
    done = must(pass_b->step()).done && done_a;
  }
  EXPECT_EQ(largest_difference(must(pass_a->logits(99)).span(), expected_a.span()), 0);
  EXPECT_EQ(largest_difference(must(pass_b->logits(99)).span(), expected_b.span()), 0);
}

TEST(Pass, StepsAreSlices) {
  const auto model = open_tiny({.n_layer = 6});
  const auto pass = must(model.engine->create_pass({}));
  must(pass->begin(random_ids(256)));
  std::size_t n_steps = 0;
  do {
    ++n_steps;
  } while (!must(pass->step()).done);
  EXPECT_EQ(n_steps, 12u);  // a layer of a block of 128 rows each
}

TEST(Pass, NamesTheLayerThatIsNotFinite) {
  // Large enough for f32, too large for what the layer makes of it.
  const TinyModel tiny{.n_layer = 4, .edit = [](std::string_view name, std::span<float> values) {
                         if (name == "blk.2.attn_v.weight" || name == "blk.2.attn_output.weight") {
                           for (float& value : values) value *= 1e30f;
                         }
                       }};
  const auto model = open_tiny(tiny);
  const auto pass = must(model.engine->create_pass({}));
  const auto result = run(*pass, random_ids(5));
  expect_refused(result, ErrorCode::kNonFinite, "after layer 2");
  expect_refused(pass->step(), ErrorCode::kNonFinite, "after layer 2");  // and never an answer
  expect_refused(pass->logits(0), ErrorCode::kNonFinite, "after layer 2");
  expect_refused(pass->begin(random_ids(1)), ErrorCode::kNonFinite, "after layer 2");
}

TEST(Pass, WeightsThatAreNotFiniteAreRefusedByName) {
  for (const std::string bad : {"token_embd.weight", "blk.1.ffn_down.weight", "output_norm.weight"}) {
    const TinyModel tiny{.edit = [&](std::string_view name, std::span<float> values) {
      if (name == bad) values[values.size() / 2] = std::numeric_limits<float>::infinity();
    }};
    expect_refused(try_tiny(tiny), ErrorCode::kNonFinite, bad);
  }
}

TEST(Memory, ManyPassesLeaveNothingBehind) {
  const auto model = open_tiny();
  const auto ids = random_ids(100);
  const auto once = [&] {
    const auto pass = run_pass(*model.engine, ids);
    must(pass->lens(99, 3));
    must(pass->attribution(1, 99, Pass::Centre::kVocabularyMean));
    must(must(pass->effects(1, 50))->step());
    const auto fork = must(model.engine->create_pass({.prefix = pass.get(), .prefix_length = 70}));
    must(run(*fork, random_ids(10)));
  };
  once();
  const AllocationMeter meter;
  for (int i = 0; i < 20; ++i) once();
  const std::size_t peak = meter.peak_bytes();
  for (int i = 0; i < 20; ++i) once();
  EXPECT_LE(meter.peak_bytes(), peak + peak / 10);
}

TEST(Memory, ASharedPrefixIsHeldOnce) {
  const auto model = open_tiny();
  const auto pass = run_pass(*model.engine, random_ids(128));
  const auto fork = must(model.engine->create_pass({.prefix = pass.get(), .prefix_length = 128}));
  EXPECT_LE(fork->n_bytes(), pass->n_bytes());
  EXPECT_GT(fork->n_bytes(), 0u);
}

}  // namespace
}  // namespace lookback::test
