// KvCache: what a pass keeps of each position, in pages of 64 that several passes may share.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/aligned_buffer.h"
#include "kernels/attention.h"
#include "lookback/result.h"
#include "lookback/types.h"

namespace lookback::model {

/// Keys and values of every layer; queries and residual streams where asked. Positions are written once and never changed, so a fork shares its pages, and appends in place where nobody else has appended yet.
class KvCache {
 public:
  /// What is kept of a position.
  struct Shape {
    std::uint32_t n_layer = 0;
    std::uint32_t n_head = 0;  ///< of queries; 0: none kept
    std::uint32_t n_kv_head = 0;
    std::uint32_t head_dim = 0;
    std::uint32_t n_embd = 0;
    std::uint32_t n_stream = 0;  ///< residual streams, the last of them behind the last layer; 0: none kept
  };

  explicit KvCache(const Shape& shape) : shape_(shape) {}
  KvCache(KvCache&&) = default;
  KvCache& operator=(KvCache&&) = default;

  /// The first n positions, shared.
  KvCache fork(std::uint32_t n) const;

  /// n more positions, for the caller to write. Errors: out_of_memory; the cache is then as before.
  Result<void> append(std::uint32_t n);
  /// What another cache of this shape holds of n positions below a layer, which both have: keys, values and queries of
  /// layers before n_layer, and the first n_stream streams.
  void copy_lower(const KvCache& from, std::uint32_t first_pos, std::uint32_t n, std::uint32_t n_layer,
                  std::uint32_t n_stream);

  const Shape& shape() const { return shape_; }
  std::uint32_t length() const { return length_; }
  std::uint64_t n_bytes() const { return pages_.size() * page_floats() * sizeof(float); }

  // One position's numbers: [head_dim], a stream [n_embd]; hidden is the last stream.
  float* k(std::uint32_t layer, std::uint32_t kv_head, std::uint32_t pos);
  float* v(std::uint32_t layer, std::uint32_t kv_head, std::uint32_t pos);
  float* q(std::uint32_t layer, std::uint32_t head, std::uint32_t pos);
  float* stream(std::uint32_t index, std::uint32_t pos);
  float* hidden(std::uint32_t pos);
  const float* k(std::uint32_t layer, std::uint32_t kv_head, std::uint32_t pos) const;
  const float* v(std::uint32_t layer, std::uint32_t kv_head, std::uint32_t pos) const;
  const float* q(std::uint32_t layer, std::uint32_t head, std::uint32_t pos) const;
  const float* stream(std::uint32_t index, std::uint32_t pos) const;
  const float* hidden(std::uint32_t pos) const;

  /// One pointer a page, to this layer's [n_kv_head, kPagePositions, head_dim].
  std::vector<const float*> k_pages(std::uint32_t layer) const;
  std::vector<const float*> v_pages(std::uint32_t layer) const;

 private:
  /// [planes, kPagePositions, head_dim] and then [n_stream, kPagePositions, n_embd]; planes are k [n_layer, n_kv_head],
  /// v [n_layer, n_kv_head], q [n_layer, n_head].
  struct Page {
    base::AlignedBuffer data;
    std::uint32_t used = 0;  // positions that some pass has written or is writing
  };

  std::size_t plane_floats() const { return std::size_t{kernels::kPagePositions} * shape_.head_dim; }
  std::size_t n_planes() const { return std::size_t{shape_.n_layer} * (2 * shape_.n_kv_head + shape_.n_head); }
  std::size_t page_floats() const;
  std::size_t k_plane(std::uint32_t layer, std::uint32_t kv_head) const;
  std::size_t v_plane(std::uint32_t layer, std::uint32_t kv_head) const;
  std::size_t q_plane(std::uint32_t layer, std::uint32_t head) const;
  float* at(std::size_t plane, std::uint32_t pos) const;
  float* stream_at(std::uint32_t index, std::uint32_t pos) const;
  std::vector<const float*> pages_at(std::size_t plane) const;
  Result<std::shared_ptr<Page>> make_page() const;
  Result<void> own_last_page();
  static void copy_planes(float* to, const float* from, std::size_t n_planes, std::size_t plane_floats,
                          std::size_t n_floats);

  Shape shape_;
  std::uint32_t length_ = 0;
  std::vector<std::shared_ptr<Page>> pages_;
};

}  // namespace lookback::model
