// OnnxGraph: which node reads a value first. All that is kept of an ONNX graph.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace lookback::formats {

struct OnnxNode {
  std::string name;
  std::string op;
};

/// Nodes are told piece by piece, as they stream in. One that reads nothing first is counted, not kept.
class OnnxGraph {
 public:
  void set_name(std::string_view name) { node_.name = name; }
  /// Of the node being told.
  std::string_view name() const { return node_.name; }
  void set_op(std::string_view op) { node_.op = op; }
  void add_input(std::string_view value) {
    if (readers_.try_emplace(std::string(value), nodes_.size()).second) reads_first_ = true;
  }
  void node_done() {
    ++n_nodes_;
    if (reads_first_) nodes_.push_back(std::move(node_));
    node_ = {};
    reads_first_ = false;
  }

  std::size_t n_nodes() const { return n_nodes_; }
  /// The first node with `value` among its inputs, or null.
  const OnnxNode* first_reader(std::string_view value) const {
    const auto found = readers_.find(value);
    return found == readers_.end() ? nullptr : &nodes_[found->second];
  }

 private:
  OnnxNode node_;  // the one being told
  bool reads_first_ = false;
  std::size_t n_nodes_ = 0;
  std::vector<OnnxNode> nodes_;
  std::map<std::string, std::size_t, std::less<>> readers_;  // value → its first reader in nodes_
};

}  // namespace lookback::formats
