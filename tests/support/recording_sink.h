// RecordingSink: keeps all that a FileReader hands out, and holds it to the order that TensorSink promises.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "formats/tensor_info.h"

namespace lookback::test {

class RecordingSink final : public formats::TensorSink {
 public:
  struct Tensor {
    formats::TensorInfo info;
    std::vector<std::byte> bytes;
    bool ended = false;
  };

  Result<void> on_metadata(const formats::Metadata&) override {
    EXPECT_EQ(n_metadata++, 0) << "metadata comes once";
    EXPECT_TRUE(tensors.empty()) << "metadata comes before tensors";
    return {};
  }
  Result<void> on_directory(std::span<const formats::TensorInfo> infos) override {
    EXPECT_FALSE(directory.has_value()) << "the directory comes once";
    directory.emplace(infos.begin(), infos.end());
    return {};
  }
  Result<void> begin_tensor(const formats::TensorInfo& info) override {
    EXPECT_TRUE(current_ == nullptr || current_->ended) << info.name << " begins inside another";
    EXPECT_FALSE(tensors.contains(info.name)) << info.name << " comes twice";
    current_ = &tensors[info.name];
    current_->info = info;
    if (info.name == fail_at) return Error{ErrorCode::kWrongState, "the sink's own error", std::nullopt};
    return {};
  }
  Result<void> tensor_bytes(std::span<const std::byte> bytes) override {
    EXPECT_TRUE(current_ != nullptr && !current_->ended);
    EXPECT_FALSE(bytes.empty());
    current_->bytes.insert(current_->bytes.end(), bytes.begin(), bytes.end());
    return {};
  }
  Result<void> end_tensor() override {
    EXPECT_TRUE(current_ != nullptr && !current_->ended);
    EXPECT_EQ(current_->bytes.size(), current_->info.n_bytes) << current_->info.name;
    current_->ended = true;
    return {};
  }

  int n_metadata = 0;
  std::optional<std::vector<formats::TensorInfo>> directory;
  std::map<std::string, Tensor> tensors;
  std::string fail_at;  ///< begin_tensor of this name fails

 private:
  Tensor* current_ = nullptr;
};

}  // namespace lookback::test
