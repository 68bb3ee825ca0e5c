#include "model/switches.h"

#include <algorithm>
#include <string>
#include <tuple>

namespace lookback::model {
namespace {

auto order(const kernels::CutLink& link) { return std::tuple(link.head, link.query, link.key); }

Error bad_argument(std::string message) { return {ErrorCode::kBadArgument, std::move(message), std::nullopt}; }

}  // namespace

Result<Switches> Switches::create(const ModelConfig& config, std::span<const Off> off) {
  Switches switches;
  if (off.empty()) return switches;
  switches.layers_.resize(config.n_layer);
  for (const Off& one : off) {
    const std::string where = "layer " + std::to_string(one.layer) + " head " + std::to_string(one.head);
    if (one.layer >= config.n_layer || one.head >= config.n_head) {
      return bad_argument("off: " + where + ", but the model has " + std::to_string(config.n_layer) + " layers of " +
                          std::to_string(config.n_head) + " heads");
    }
    Layer& layer = switches.layers_[one.layer];
    if (!one.link) {
      layer.heads.push_back(one.head);
      continue;
    }
    if (one.link->key > one.link->query || one.link->query >= config.n_ctx) {
      return bad_argument("off: " + where + " query " + std::to_string(one.link->query) + " key " +
                          std::to_string(one.link->key) + ", expected key <= query < " + std::to_string(config.n_ctx));
    }
    layer.links.push_back({one.head, one.link->query, one.link->key});
  }
  for (std::uint32_t index = 0; index < config.n_layer; ++index) {
    Layer& layer = switches.layers_[index];
    std::sort(layer.heads.begin(), layer.heads.end());
    layer.heads.erase(std::unique(layer.heads.begin(), layer.heads.end()), layer.heads.end());
    std::sort(layer.links.begin(), layer.links.end(), [](const auto& a, const auto& b) { return order(a) < order(b); });
    layer.links.erase(std::unique(layer.links.begin(), layer.links.end(),
                                  [](const auto& a, const auto& b) { return order(a) == order(b); }),
                      layer.links.end());
    // Sorted and each once, so a row of query q that is cut empty is a run of q + 1 links.
    std::uint32_t run = 0;
    for (std::size_t i = 0; i < layer.links.size(); ++i) {
      const auto& link = layer.links[i];
      const bool same_row = i > 0 && layer.links[i - 1].head == link.head && layer.links[i - 1].query == link.query;
      run = same_row ? run + 1 : 1;
      if (run == link.query + 1) {
        return bad_argument("off: layer " + std::to_string(index) + " head " + std::to_string(link.head) + " query " +
                            std::to_string(link.query) + " would have no key left");
      }
    }
  }
  return switches;
}

std::span<const std::uint32_t> Switches::heads_off(std::uint32_t layer) const {
  return layers_.empty() ? std::span<const std::uint32_t>{} : layers_[layer].heads;
}

std::span<const kernels::CutLink> Switches::cut_links(std::uint32_t layer) const {
  return layers_.empty() ? std::span<const kernels::CutLink>{} : layers_[layer].links;
}

std::uint32_t Switches::first_difference(const Switches& other, std::uint32_t n_layer) const {
  for (std::uint32_t layer = 0; layer < n_layer; ++layer) {
    if (!std::ranges::equal(heads_off(layer), other.heads_off(layer))) return layer;
    if (!std::ranges::equal(cut_links(layer), other.cut_links(layer),
                            [](const auto& a, const auto& b) { return order(a) == order(b); })) {
      return layer;
    }
  }
  return n_layer;
}

}  // namespace lookback::model
