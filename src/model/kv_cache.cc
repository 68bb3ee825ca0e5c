#include "model/kv_cache.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"

namespace lookback::model {

using kernels::kPagePositions;

std::size_t KvCache::page_floats() const {
  return n_planes() * plane_floats() + std::size_t{shape_.n_stream} * kPagePositions * shape_.n_embd;
}

std::size_t KvCache::k_plane(std::uint32_t layer, std::uint32_t kv_head) const {
  return std::size_t{layer} * shape_.n_kv_head + kv_head;
}

std::size_t KvCache::v_plane(std::uint32_t layer, std::uint32_t kv_head) const {
  return (std::size_t{shape_.n_layer} + layer) * shape_.n_kv_head + kv_head;
}

std::size_t KvCache::q_plane(std::uint32_t layer, std::uint32_t head) const {
  return std::size_t{2} * shape_.n_layer * shape_.n_kv_head + std::size_t{layer} * shape_.n_head + head;
}

float* KvCache::at(std::size_t plane, std::uint32_t pos) const {
  CHECK(pos < length_, "a position of the cache");
  auto* data = reinterpret_cast<float*>(pages_[pos / kPagePositions]->data.data());
  return data + plane * plane_floats() + std::size_t{pos % kPagePositions} * shape_.head_dim;
}

float* KvCache::stream_at(std::uint32_t index, std::uint32_t pos) const {
  CHECK(pos < length_ && index < shape_.n_stream, "a stream that the cache keeps");
  auto* data = reinterpret_cast<float*>(pages_[pos / kPagePositions]->data.data());
  const std::size_t row = std::size_t{index} * kPagePositions + pos % kPagePositions;
  return data + n_planes() * plane_floats() + row * shape_.n_embd;
}

float* KvCache::k(std::uint32_t layer, std::uint32_t kv_head, std::uint32_t pos) {
  return at(k_plane(layer, kv_head), pos);
}
float* KvCache::v(std::uint32_t layer, std::uint32_t kv_head, std::uint32_t pos) {
  return at(v_plane(layer, kv_head), pos);
}
float* KvCache::q(std::uint32_t layer, std::uint32_t head, std::uint32_t pos) { return at(q_plane(layer, head), pos); }
float* KvCache::stream(std::uint32_t index, std::uint32_t pos) { return stream_at(index, pos); }
float* KvCache::hidden(std::uint32_t pos) { return stream_at(shape_.n_stream - 1, pos); }

const float* KvCache::k(std::uint32_t layer, std::uint32_t kv_head, std::uint32_t pos) const {
  return at(k_plane(layer, kv_head), pos);
}
const float* KvCache::v(std::uint32_t layer, std::uint32_t kv_head, std::uint32_t pos) const {
  return at(v_plane(layer, kv_head), pos);
}
const float* KvCache::q(std::uint32_t layer, std::uint32_t head, std::uint32_t pos) const {
  return at(q_plane(layer, head), pos);
}
const float* KvCache::stream(std::uint32_t index, std::uint32_t pos) const { return stream_at(index, pos); }
const float* KvCache::hidden(std::uint32_t pos) const { return stream_at(shape_.n_stream - 1, pos); }

std::vector<const float*> KvCache::pages_at(std::size_t plane) const {
  std::vector<const float*> pointers;
  pointers.reserve(pages_.size());
  for (const auto& page : pages_) {
    pointers.push_back(reinterpret_cast<const float*>(page->data.data()) + plane * plane_floats());
  }
  return pointers;
}

std::vector<const float*> KvCache::k_pages(std::uint32_t layer) const { return pages_at(k_plane(layer, 0)); }
std::vector<const float*> KvCache::v_pages(std::uint32_t layer) const { return pages_at(v_plane(layer, 0)); }

KvCache KvCache::fork(std::uint32_t n) const {
  CHECK(n <= length_, "a fork is no longer than its origin");
  KvCache copy(shape_);
  copy.length_ = n;
  copy.pages_.assign(pages_.begin(), pages_.begin() + (n + kPagePositions - 1) / kPagePositions);
  return copy;
}

Result<std::shared_ptr<KvCache::Page>> KvCache::make_page() const {
  auto data = base::AlignedBuffer::create(page_floats() * sizeof(float), "a page of keys and values");
  if (!data) return data.error();
  auto page = std::make_shared<Page>();
  page->data = std::move(*data);
  return page;
}

/// The first n_floats of each plane.
void KvCache::copy_planes(float* to, const float* from, std::size_t n_planes, std::size_t plane_floats,
                          std::size_t n_floats) {
  for (std::size_t plane = 0; plane < n_planes; ++plane) {
    std::copy_n(from + plane * plane_floats, n_floats, to + plane * plane_floats);
  }
}

void KvCache::copy_lower(const KvCache& from, std::uint32_t first_pos, std::uint32_t n, std::uint32_t n_layer,
                         std::uint32_t n_stream) {
  CHECK(n_layer <= shape_.n_layer && n_stream <= shape_.n_stream, "layers and streams that there are");
  for (std::uint32_t done = 0; done < n;) {
    const std::uint32_t pos = first_pos + done;
    const std::size_t count = std::min(n - done, kPagePositions - pos % kPagePositions);
    const auto copy = [&](std::size_t plane, std::size_t n_planes) {
      copy_planes(at(plane, pos), from.at(plane, pos), n_planes, plane_floats(), count * shape_.head_dim);
    };
    copy(k_plane(0, 0), std::size_t{n_layer} * shape_.n_kv_head);
    copy(v_plane(0, 0), std::size_t{n_layer} * shape_.n_kv_head);
    if (shape_.n_head > 0) copy(q_plane(0, 0), std::size_t{n_layer} * shape_.n_head);
    if (n_stream > 0) {
      copy_planes(stream_at(0, pos), from.stream_at(0, pos), n_stream, std::size_t{kPagePositions} * shape_.n_embd,
                  count * shape_.n_embd);
    }
    done += static_cast<std::uint32_t>(count);
  }
}

/// Makes the partly filled last page one that this cache may append to.
Result<void> KvCache::own_last_page() {
  const std::uint32_t n = length_ % kPagePositions;
  if (n == 0) return {};
  auto& last = pages_[length_ / kPagePositions];
  if (last.use_count() == 1) last->used = n;  // whoever wrote further is gone
  if (last->used == n) return {};
  auto page = make_page();
  if (!page) return page.error();
  const auto* from = reinterpret_cast<const float*>(last->data.data());
  auto* to = reinterpret_cast<float*>((*page)->data.data());
  copy_planes(to, from, n_planes(), plane_floats(), std::size_t{n} * shape_.head_dim);
  const std::size_t streams = n_planes() * plane_floats();
  copy_planes(to + streams, from + streams, shape_.n_stream, std::size_t{kPagePositions} * shape_.n_embd,
              std::size_t{n} * shape_.n_embd);
  (*page)->used = n;
  last = std::move(*page);
  return {};
}

Result<void> KvCache::append(std::uint32_t n) {
  if (n == 0) return {};
  const std::size_t n_pages = (std::size_t{length_} + n + kPagePositions - 1) / kPagePositions;
  std::vector<std::shared_ptr<Page>> added;
  for (std::size_t i = pages_.size(); i < n_pages; ++i) {
    auto page = make_page();
    if (!page) return page.error();
    added.push_back(std::move(*page));
  }
  LOOKBACK_TRY(own_last_page());
  pages_.insert(pages_.end(), added.begin(), added.end());
  const std::size_t first_touched = length_ / kPagePositions;
  length_ += n;
  for (std::size_t i = first_touched; i < n_pages; ++i) {
    pages_[i]->used = static_cast<std::uint32_t>(std::min<std::size_t>(kPagePositions, length_ - i * kPagePositions));
  }
  return {};
}

}  // namespace lookback::model
