#include "formats/safetensors_header.h"

#include <optional>
#include <set>
#include <string>

#include "base/checked_math.h"
#include "formats/json_sax.h"
#include "formats/limits.h"
#include "formats/refusal.h"
#include "formats/tensor_stream.h"

namespace lookback::formats {
namespace {

/// The events of the JSON parser:
///     {NAME: {"dtype": "F16", "shape": [2, 3], "data_offsets": [0, 12]}, …, "__metadata__": {TEXT: TEXT}}
class HeaderHandler final : public JsonHandler {
 public:
  HeaderHandler(std::string_view file, std::string_view json, std::uint64_t json_offset)
      : file_(file),
        begin_(json.data()),
        reached_(json.data()),
        json_offset_(json_offset),
        n_json_bytes_(json.size()) {}

  const char** reached() { return &reached_; }
  const std::optional<Error>& error() const { return error_; }
  std::vector<TensorInfo> take_tensors() { return std::move(tensors_); }

  bool start_object(std::size_t) override {
    if (place_ == Place::kBefore) return move_to(Place::kRoot);
    if (place_ != Place::kRoot) return unexpected("an object");
    if (name_ == kMetadataName) return move_to(Place::kMetadata);
    return move_to(Place::kTensor);
  }

  bool key(std::string& key) override {
    if (place_ == Place::kRoot) {
      name_ = key;
      if (name_.size() > kMaxNameBytes)
        return bad("a tensor's name is longer than " + std::to_string(kMaxNameBytes) + " bytes");
      if (!names_.insert(key).second)
        return refuse_here(ErrorCode::kDuplicateTensor, "tensor " + in_quotes(name_) + " stands twice");
      return true;
    }
    field_ = key;
    if (place_ == Place::kMetadata) return true;
    if (field_ == "dtype") return dtype_ ? bad_tensor("dtype stands twice") : true;
    if (field_ == "shape") return shape_ ? bad_tensor("shape stands twice") : true;
    if (field_ == "data_offsets") return offsets_ ? bad_tensor("data_offsets stands twice") : true;
    return bad_tensor("field " + in_quotes(field_) + ", expected dtype, shape and data_offsets");
  }

  bool string(std::string& text) override {
    if (place_ == Place::kMetadata) return true;
    if (place_ != Place::kTensor || field_ != "dtype") return unexpected("a string");
    if (text == "F32") dtype_ = quant::DType::kF32;
    if (text == "F16") dtype_ = quant::DType::kF16;
    if (text == "BF16") dtype_ = quant::DType::kBF16;
    if (dtype_) return true;
    return refuse_here(ErrorCode::kUnsupportedDtype,
                       "tensor " + in_quotes(name_) + ": dtype " + in_quotes(text) + ", expected F32, F16 or BF16");
  }

  bool start_array(std::size_t) override {
    if (place_ != Place::kTensor || field_ == "dtype") return unexpected("an array");
    (field_ == "shape" ? shape_ : offsets_).emplace();
    return move_to(Place::kNumbers);
  }

  bool number_unsigned(std::uint64_t number) override {
    if (place_ != Place::kNumbers) return unexpected("a number");
    std::vector<std::uint64_t>& numbers = *(field_ == "shape" ? shape_ : offsets_);
    if (numbers.size() == kMaxDims)
      return bad_tensor(field_ + " has more than " + std::to_string(kMaxDims) + " numbers");
    numbers.push_back(number);
    return true;
  }

  bool end_array() override { return move_to(Place::kTensor); }

  bool end_object() override {
    if (place_ == Place::kRoot) return move_to(Place::kAfter);
    if (place_ == Place::kTensor && !tensor_done()) return false;
    return move_to(Place::kRoot);
  }

  // What has no place anywhere in the header. Integers come here only when below 0.
  bool null() override { return unexpected("null"); }
  bool boolean(bool) override { return unexpected("a boolean"); }
  bool number_integer(std::int64_t) override { return unexpected("a number below 0"); }
  bool number_float(double, const std::string&) override { return unexpected("a number that is no 64-bit integer"); }
  bool binary(binary_t&) override { return unexpected("binary data"); }

  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception&) override {
    return bad("the header is not JSON");
  }

 private:
  enum class Place { kBefore, kRoot, kMetadata, kTensor, kNumbers, kAfter };
  static constexpr std::string_view kMetadataName = "__metadata__";

  bool move_to(Place place) {
    place_ = place;
    return true;
  }

  bool refuse_here(ErrorCode code, const std::string& what) {
    error_ = refuse(code, file_, what, json_offset_ + static_cast<std::uint64_t>(reached_ - begin_));
    return false;
  }
  bool bad(const std::string& what) { return refuse_here(ErrorCode::kBadHeader, what); }
  bool bad_tensor(const std::string& what) { return bad("tensor " + in_quotes(name_) + ": " + what); }
  bool unexpected(const std::string& what) {
    switch (place_) {
      case Place::kBefore:
        return bad("the header is " + what + ", expected an object");
      case Place::kRoot:
        return bad_tensor(what + ", expected an object");
      case Place::kMetadata:
        return bad("__metadata__, " + in_quotes(field_) + ": " + what + ", expected a string");
      default:
        return bad_tensor(field_ + ": " + what + ", expected " +
                          (field_ == "dtype" ? "a string" : "an array of sizes"));
    }
  }

  bool tensor_done() {
    if (!dtype_) return bad_tensor("dtype is absent");
    if (!shape_) return bad_tensor("shape is absent");
    if (!offsets_) return bad_tensor("data_offsets is absent");
    if (offsets_->size() != 2)
      return bad_tensor("data_offsets has " + std::to_string(offsets_->size()) + " numbers, expected 2");
    const std::uint64_t position = json_offset_ + static_cast<std::uint64_t>(reached_ - begin_);
    const std::uint64_t begin = (*offsets_)[0];
    const std::uint64_t end = (*offsets_)[1];
    if (end < begin) {
      return refuse_here(ErrorCode::kBadOffset, "tensor " + in_quotes(name_) + ": data_offsets " +
                                                    shape_text(*offsets_) + " end before they begin");
    }
    auto n_bytes = tensor_bytes_needed(file_, name_, *dtype_, *shape_, position);
    if (!n_bytes) {
      error_ = n_bytes.error();
      return false;
    }
    if (*n_bytes != end - begin) {
      return bad_tensor(std::string(quant::dtype_name(*dtype_)) + " " + shape_text(*shape_) + " needs " +
                        std::to_string(*n_bytes) + " bytes, data_offsets " + shape_text(*offsets_) + " span " +
                        std::to_string(end - begin));
    }
    const auto offset = base::checked_add(json_offset_ + n_json_bytes_, begin);
    if (!offset)
      return refuse_here(ErrorCode::kBadOffset, "tensor " + in_quotes(name_) + ": data_offsets beyond 64 bits");
    tensors_.push_back({name_, "", "", *dtype_, std::move(*shape_), *n_bytes, *offset});
    dtype_.reset();
    shape_.reset();
    offsets_.reset();
    return true;
  }

  std::string_view file_;
  const char* begin_;
  const char* reached_;
  std::uint64_t json_offset_;
  std::uint64_t n_json_bytes_;

  Place place_ = Place::kBefore;
  std::string name_;   // of the tensor being read
  std::string field_;  // of it
  std::optional<quant::DType> dtype_;
  std::optional<std::vector<std::uint64_t>> shape_;
  std::optional<std::vector<std::uint64_t>> offsets_;

  std::set<std::string> names_;
  std::vector<TensorInfo> tensors_;
  std::optional<Error> error_;
};

}  // namespace

Result<std::vector<TensorInfo>> parse_safetensors_header(std::string_view file, std::string_view json,
                                                         std::uint64_t json_offset) {
  HeaderHandler handler(file, json, json_offset);
  parse_json(json, handler, handler.reached());
  if (handler.error()) return *handler.error();
  return handler.take_tensors();
}

}  // namespace lookback::formats
