#include "weights/torch/torch_file.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "core/files/file.h"
#include "core/files/json.h"
#include "support/backend_test.h"
#include "support/files.h"
#include "support/golden.h"
#include "support/torch_writer.h"

namespace hearth {
namespace {

namespace fs = std::filesystem;
using test::message_of;
using Json = nlohmann::json;

fs::path corpus() { return test::folder_of(__FILE__) / "golden"; }

// What golden/make.py records of each file: null for one that is refused.
const Json& golden() {
  static const Json files = load_json(corpus() / "contents.json").at("files");
  return files;
}

template <class E> std::string refusal(const std::string& file) {
  return message_of<E>([&] { TorchFile::open(corpus() / file); }, corpus());
}

class TorchFileTest : public testing::Test {
 protected:
  std::unique_ptr<Backend> device = test::make_test_backend("reference");
  test::TemporaryFolder folder;
};

TEST_F(TorchFileTest, tensors_are_those_that_torch_reads) {
  int checked = 0;
  for (const auto& [name, tensors] : golden().items()) {
    if (tensors.is_null()) continue;
    const auto file = TorchFile::open(corpus() / name);
    std::map<std::string, TensorInfo> readable = file->list();
    std::erase_if(readable, [](const auto& named) { return !named.second.unreadable.empty(); });
    EXPECT_EQ(readable.size(), tensors.size()) << name;
    for (const auto& [tensor, wanted] : tensors.items()) {
      ASSERT_TRUE(file->has(tensor)) << name << " " << tensor;
      const std::vector<int64_t> shape = wanted.at("shape");
      const Tensor x = file->read(tensor, {}, *device);
      EXPECT_EQ(name_of(x.dtype()), wanted.at("type")) << name << " " << tensor;
      EXPECT_EQ(x.shape(), Shape(std::span<const int64_t>(shape))) << name << " " << tensor;
      EXPECT_EQ(readable.at(tensor).shape, x.shape());
      EXPECT_EQ(readable.at(tensor).dtype, x.dtype());
      EXPECT_TRUE(x.contiguous());
      std::vector<float> values;
      for (const Json& v : wanted.at("values")) values.push_back(float(v.get<double>()));
      if (x.dtype() != DType::f8_e4m3 && x.dtype() != DType::f8_e5m2) { EXPECT_EQ(x.to_vector(), values) << name << " " << tensor; }
      file->release(tensor);
      ++checked;
    }
    file->release_all();
    EXPECT_FALSE(file->has("none such"));
    EXPECT_THROW(file->read("none such", {}, *device), WeightError);
  }
  EXPECT_GT(checked, 500);
}

// Nothing in the repository widens these 1-byte values: their bits are compared with those of the rounded values.
TEST_F(TorchFileTest, eight_bit_floats_have_their_bits) {
  const auto file = TorchFile::open(corpus() / "zip_2.pt");
  const auto value = [](uint8_t bits, int mantissa, int bias) {
    const int exponent = (bits & 0x7f) >> mantissa, fraction = bits & ((1 << mantissa) - 1);
    const double magnitude =
        exponent ? std::ldexp(1 + std::ldexp(fraction, -mantissa), exponent - bias) : std::ldexp(fraction, 1 - bias - mantissa);
    return bits & 0x80 ? -magnitude : magnitude;
  };
  for (const auto& [name, mantissa, bias] : {std::tuple("type.f8_e4m3", 3, 7), std::tuple("type.f8_e5m2", 2, 15)}) {
    const Tensor x = file->read(name, {}, *device);
    const Json& wanted = golden().at("zip_2.pt").at(name).at("values");
    ASSERT_EQ(x.numel(), int64_t(wanted.size()));
    for (size_t i = 0; i < wanted.size(); ++i) EXPECT_EQ(value(x.data<uint8_t>()[i], mantissa, bias), wanted[i].get<double>()) << name << i;
  }
}

TEST_F(TorchFileTest, dense_aligned_tensors_stay_in_the_file) {
  const auto file = TorchFile::open(corpus() / "zip_2.pt");
  for (const char* name : {"whole", "cube", "part", "one", "last", "scalar", "type.f64", "parameter", "marked", "deep"})
    EXPECT_TRUE(file->mapped(name)) << name;
  for (const char* name : {"transposed", "rows", "columns", "expanded", "windows", "halves", "none such"})
    EXPECT_FALSE(file->mapped(name)) << name;
  const Tensor a = file->read("whole", {}, *device), b = file->read("part", {}, *device);
  EXPECT_EQ(a.data<float>() + 5, b.data<float>());  // one storage
  EXPECT_NE(file->read("rows", {}, *device).data<float>(), a.data<float>());
  int unaligned = 0;  // as in legacy files; must be readable
  const auto legacy = TorchFile::open(corpus() / "legacy_2.pt");
  for (const auto& [name, info] : legacy->list()) unaligned += !legacy->mapped(name) && legacy->contents().tensors.at(name).contiguous;
  EXPECT_GT(unaligned, 5);
}

TEST_F(TorchFileTest, tensors_outlive_their_file) {
  Tensor x;
  { x = TorchFile::open(corpus() / "zip_2.pt")->read("part", {}, *device); }
  EXPECT_EQ(x.to_vector(), (std::vector<float>{5, 6, 7, 8, 9, 10}));
}

TEST_F(TorchFileTest, a_file_modified_after_opening_is_detected) {
  fs::copy(corpus() / "zip_2.pt", folder / "a.pt");
  fs::permissions(folder / "a.pt", fs::perms::owner_write, fs::perm_options::add);
  const auto file = TorchFile::open(folder / "a.pt");
  file->require_unchanged();
  fs::resize_file(folder / "a.pt", fs::file_size(folder / "a.pt") + 1);
  EXPECT_NE(message_of<IoError>([&] { file->read("part", {}, *device); }).find("was modified"), std::string::npos);
}

TEST_F(TorchFileTest, reports_layout_and_other_contents) {
  for (const auto& [name, format] :
       {std::pair("zip_2.pt", "zip"), std::pair("rezipped.pt", "zip"), std::pair("legacy_1.pt", "legacy"), std::pair("raw_4.pt", "raw")})
    EXPECT_EQ(TorchFile::open(corpus() / name)->contents().format, format);
  const TorchContents c = TorchFile::open(corpus() / "lightning.ckpt")->contents();
  EXPECT_EQ(c.part, "state_dict");
  EXPECT_EQ(c.others, (std::map<std::string, std::string>{{"callbacks", "a dict of 1"},
                                                          {"epoch", "the integer 3"},
                                                          {"global_step", "the integer 12345678901"},
                                                          {"hyper_parameters", "a call of a_config.Settings"},
                                                          {"large", "a large integer"},
                                                          {"nothing", "None"},
                                                          {"optimizer_states", "a list of 1"},
                                                          {"place", "a call of pathlib.PurePosixPath"},
                                                          {"score", "a call of numpy.core.multiarray.scalar"},
                                                          {"version", "the text '1.9.0'"}}));
  EXPECT_EQ(TorchFile::open(corpus() / "ema.pth")->contents().part, "params_ema");
  EXPECT_EQ(TorchFile::open(corpus() / "empty_state_dict.pt")->contents().part, "model");
  const TorchContents nested = TorchFile::open(corpus() / "nested.pt")->contents();
  EXPECT_EQ(nested.part, "");
  EXPECT_EQ(nested.others,
            (std::map<std::string, std::string>{{"list.1", "the integer 5"}, {"step", "the integer 7"}, {"words", "a list of 2"}}));
}

TEST_F(TorchFileTest, tensors_of_other_kinds_are_named) {
  const auto file = TorchFile::open(corpus() / "unreadable.pt");
  std::map<std::string, std::string> unreadable;
  for (const auto& [name, info] : file->list())
    if (!info.unreadable.empty()) unreadable[name] = info.unreadable;
  EXPECT_EQ(unreadable, (std::map<std::string, std::string>{
                            {"axes", "has 9 axes, at most 8 are supported"},
                            {"complex", "has the type torch.ComplexFloatStorage, which is not supported"},
                            {"meta", "is created by torch._utils._rebuild_meta_tensor_no_storage, which is not supported"},
                            {"negated", "is a view by the text 'neg', which is not supported"},
                            {"quantised", "is created by torch._utils._rebuild_qtensor, which is not supported"},
                            {"sparse", "is created by torch._utils._rebuild_sparse_tensor, which is not supported"},
                            {"stretched", "repeats its values to 1000000000 elements, more than the file has bytes"},
                            {"subclass", "is a tensor of the class a_library.Subclass, which is not supported"},
                        }));
  EXPECT_EQ(message_of<UnsupportedError>([&] { file->read("sparse", {}, *device); }, corpus()),
            "FOLDER/unreadable.pt: 'sparse' is created by torch._utils._rebuild_sparse_tensor, which is not supported");
  // A model reports the reason, whether it requests the tensor or not.
  Weights weights(file, *device);
  weights.tensor("subclass", {2});
  const std::string told = message_of<WeightError>([&] { weights.finish(); });
  EXPECT_NE(told.find("1 unreadable: 'subclass' is a tensor of the class a_library.Subclass"), std::string::npos) << told;
  EXPECT_NE(told.find("'sparse' is created by torch._utils._rebuild_sparse_tensor"), std::string::npos) << told;
}

TEST_F(TorchFileTest, malicious_files_are_refused_without_execution) {
  const std::string says = ", which no checkpoint needs: the file is refused, and nothing was executed";
  EXPECT_EQ(refusal<IoError>("hostile.pt"), "FOLDER/hostile.pt: data.pkl: requests a call of posix.system" + says);
  EXPECT_EQ(refusal<IoError>("hostile_beside.ckpt"), "FOLDER/hostile_beside.ckpt: data.pkl: requests a call of __builtin__.eval" + says);
  EXPECT_EQ(refusal<IoError>("hostile_legacy.bin"), "FOLDER/hostile_legacy.bin: the object: requests a call of posix.system" + says);
  for (int protocol = 0; protocol < 6; ++protocol) {
    const std::string name = fmt::format("hostile_{}.bin", protocol);
    EXPECT_EQ(refusal<IoError>(name), "FOLDER/" + name + ": requests a call of posix.system" + says);
  }
  EXPECT_EQ(refusal<IoError>("module.pt"),
            "FOLDER/module.pt: is created by a call of a_library.net.Net, which is not executed; expected a dict of "
            "tensors");
}

TEST_F(TorchFileTest, files_without_a_dict_of_tensors_are_refused) {
  EXPECT_EQ(refusal<IoError>("one_tensor.pt"),
            "FOLDER/one_tensor.pt: holds a call of torch._utils._rebuild_tensor_v2, expected a dict of tensors");
  EXPECT_EQ(refusal<IoError>("list.pt"), "FOLDER/list.pt: holds a list of 1, expected a dict of tensors");
  EXPECT_EQ(refusal<UnsupportedError>("deflated.pt"),
            "FOLDER/deflated.pt: member 'state_dict/byteorder' is compressed (method 8), expected uncompressed members");
  EXPECT_EQ(refusal<UnsupportedError>("big_endian.pt"), "FOLDER/big_endian.pt: its byteorder is 'big', expected little");
  EXPECT_EQ(refusal<UnsupportedError>("script.pt"),
            "FOLDER/script.pt: is a TorchScript archive, which holds code; expected a checkpoint of tensors");
  const auto told = [&](std::string_view bytes) {
    write_file(folder / "x.bin", bytes);
    return message_of<IoError>([&] { TorchFile::open(folder / "x.bin"); }, folder.path());
  };
  EXPECT_EQ(told(""), "FOLDER/x.bin: is empty");
  EXPECT_EQ(
      told("<html>"),
      "FOLDER/x.bin: the pickle's instruction at byte 0 has the code 0x3c, which does not exist: the file is damaged or not a pickle");
  EXPECT_EQ(told("\x80\x02N."), "FOLDER/x.bin: holds None, expected a dict of tensors");
  EXPECT_NE(message_of<IoError>([&] { TorchFile::open(folder / "none.bin"); }), "");
  std::string tar(600, '\0');
  tar.replace(257, 5, "ustar");
  write_file(folder / "x.bin", tar);
  EXPECT_EQ(message_of<UnsupportedError>([&] { TorchFile::open(folder / "x.bin"); }, folder.path()),
            "FOLDER/x.bin: is a tar archive, as PyTorch wrote them before 0.2; expected a later format");
}

// Cutting off a file anywhere is an error, except after everything that is needed.
TEST_F(TorchFileTest, files_that_are_cut_off) {
  for (const char* name : {"state_dict.bin", "legacy_2.pt", "raw_4.pt", "none.pt"}) {
    const std::string whole = read_file(corpus() / name);
    for (size_t length = 0; length < whole.size(); ++length)
      EXPECT_THROW(parse_torch_file(std::string_view(whole).substr(0, length), name), IoError) << name << length;
  }
}

// A checkpoint of one tensor with one change.
TEST_F(TorchFileTest, false_sizes_and_offsets_are_detected) {
  using test::PickledTensor;
  const auto zip = [&](const PickledTensor& t, size_t bytes = 24, const std::string& key = "0") {
    return test::torch_zip(test::pickled({t}), {{key, std::string(bytes, 1)}});
  };
  const auto legacy = [&](const PickledTensor& t, size_t bytes = 24, const std::string& key = "0") {
    return test::torch_legacy(test::pickled({t}), {{key, std::string(bytes, 1)}}, 4);
  };
  const auto told = [](const std::string& bytes) { return message_of<IoError>([&] { parse_torch_file(bytes, "f"); }); };
  const PickledTensor good{.name = "x", .elements = 6, .sizes = {2, 3}, .strides = {3, 1}};
  EXPECT_EQ(told(zip(good)), "");
  EXPECT_EQ(told(legacy(good)), "");
  const auto with = [&](auto change) {
    PickledTensor t = good;
    change(t);
    EXPECT_EQ(told(zip(t)), told(legacy(t)));
    return told(zip(t));
  };
  EXPECT_EQ(with([](auto& t) { t.strides = {1, 2}; }), "");
  EXPECT_EQ(with([](auto& t) { t.offset = 1; }), "f: tensor 'x' reaches to element 7 of a storage that has 6");
  EXPECT_EQ(with([](auto& t) { t.offset = -1; }), "f: tensor 'x' starts at the integer -1, expected an offset of 0 or more");
  EXPECT_EQ(with([](auto& t) { t.strides = {4, 1}; }), "f: tensor 'x' reaches to element 7 of a storage that has 6");
  EXPECT_EQ(with([](auto& t) {
              t.strides = {-3, 1};
            }),
            "f: tensor 'x' has the integer -3 among its strides, expected integers of 0 or more");
  EXPECT_EQ(with([](auto& t) { t.sizes = {3, 3}; }), "f: tensor 'x' reaches to element 9 of a storage that has 6");
  EXPECT_EQ(with([](auto& t) { t.sizes = {6}; }), "f: tensor 'x' has 1 sizes and 2 strides");
  EXPECT_EQ(with([](auto& t) { t.offset = INT64_MAX; }), "f: tensor 'x' reaches to element 9223372036854775813 of a storage that has 6");
  for (const std::vector<int64_t>& sizes : {std::vector<int64_t>{INT64_MAX, 1}, {INT64_MAX, INT64_MAX}, {int64_t(1) << 62, 4}})
    EXPECT_EQ(with([&](auto& t) { t.sizes = sizes; }), "f: tensor 'x' has more elements than any file can hold");
  EXPECT_EQ(with([](auto& t) { t.sizes = {INT64_MAX, 0}, t.strides = {0, 0}; }), "f: tensor 'x' has more elements than any file can hold");
  PickledTensor nice = good;
  nice.type = "NiceStorage";
  EXPECT_EQ(told(zip(nice)), "f: tensor 'x': has torch.NiceStorage as the class of a storage, which is not supported");
  EXPECT_EQ(told(legacy(nice)), "f: has torch.NiceStorage as the class of a storage, which is not supported");
  EXPECT_EQ(told(zip([&] {
              PickledTensor t = good;
              t.elements = 5;
              return t;
            }())),
            "f: tensor 'x': storage '0' has 24 bytes, which does not match 5 elements of torch.FloatStorage");
  EXPECT_EQ(told(zip(good, 23)), "f: tensor 'x': storage '0' has 23 bytes, which does not match 6 elements of torch.FloatStorage");
  EXPECT_EQ(told(zip(good, 24, "1")), "f: has no member 'archive/data/0'");
  EXPECT_EQ(told(legacy(good, 20)), "f: storage '0' has 5 elements, its tensors need 6");
  EXPECT_EQ(told(legacy(good, 24, "1")), "f: holds the storage the text '1', which no tensor refers to");
}

TEST_F(TorchFileTest, one_storage_is_of_one_type) {
  const test::PickledTensor a{.name = "a", .elements = 2, .sizes = {2}, .strides = {1}};
  test::PickledTensor b = a;
  b.name = "b";
  b.type = "HalfStorage";
  EXPECT_EQ(message_of<IoError>([&] {
              parse_torch_file(test::torch_legacy(test::pickled({a, b}), {{"0", std::string(8, 1)}}, 4), "f");
            }),
            "f: storage '0' has 2 elements of torch.FloatStorage and 2 of torch.HalfStorage");
  EXPECT_EQ(message_of<IoError>([&] {
              parse_torch_file(test::torch_zip(test::pickled({a, a}), {{"0", std::string(8, 1)}}), "f");
            }),
            "f: has the tensor 'a' twice");
  EXPECT_EQ(message_of<IoError>([&] {
              parse_torch_file(test::torch_legacy(test::pickled({a}), {{"0", std::string(8, 1)}, {"0", std::string(8, 1)}}, 4), "f");
            }),
            "f: holds the storage '0' twice");
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const size_t at = text.find(from);
  EXPECT_NE(at, text.npos) << from;
  return at == text.npos ? text : text.replace(at, from.size(), to);
}

// Features of files from the first years of PyTorch.
TEST_F(TorchFileTest, old_legacy_files) {
  const test::PickledTensor x{.name = "x", .elements = 6, .sizes = {4}, .strides = {1}};
  const std::string whole = test::torch_legacy(test::pickled({x}), {{"0", std::string(24, 1)}}, 4);
  const uint64_t begin = whole.size() - 24;
  EXPECT_EQ(parse_torch_file(whole, "f").tensors.at("x").begin, begin);
  // A part of a storage: its key, first element and number of elements.
  const std::string part = replaced(whole, "NtQ", "(U\1vK\2K\4ttQ");
  EXPECT_EQ(parse_torch_file(part, "f").tensors.at("x").begin, part.size() - 24 + 8);
  EXPECT_EQ(parse_torch_file(part, "f").tensors.at("x").end, part.size());
  const auto told = [](const std::string& bytes) { return message_of<IoError>([&] { parse_torch_file(bytes, "f"); }); };
  EXPECT_EQ(told(replaced(whole, "NtQ", "(U\1vK\2K\3ttQ")), "f: tensor 'x' reaches to element 4 of a storage that has 3");
  EXPECT_EQ(told(replaced(whole, "NtQ", "(U\1vK\3K\4ttQ")), "f: elements 3 to 3 + 4 of a storage that has 6");
  EXPECT_EQ(told(replaced(whole, "NtQ", "K\1tQ")), "f: has the integer 1, expected a part of a storage");
  const auto unsupported = [](const std::string& bytes) { return message_of<UnsupportedError>([&] { parse_torch_file(bytes, "f"); }); };
  EXPECT_EQ(unsupported(replaced(whole, "little_endian\x88", "little_endian\x89")),
            "f: was written on a big-endian machine, expected a little-endian one");
  EXPECT_EQ(unsupported(replaced(whole, "M\xe9\x03", "M\xea\x03")), "f: has the integer 1002 as its version, expected 1001");
}

TEST_F(TorchFileTest, other_spellings) {
  const auto others = [](const std::string& pickle) { return parse_torch_file(pickle, "f").others; };
  const std::map<std::string, std::string> one{{"a", "the integer 1"}};
  EXPECT_EQ(others("ccollections\nOrderedDict\n](](U\1aK\1ee\x85R."), one);  // from Python 2
  EXPECT_EQ(others("ccollections\ndefaultdict\nc__builtin__\nlist\n\x85RU\1aK\1s."), one);
  EXPECT_EQ(others("ccollections\nOrderedDict\nca\nb\n)RN\x62\x85RU\1aK\1s."), one);  // the argument is not a list
  EXPECT_EQ(others("ccollections\nOrderedDict\n)RU\1aK\1s}U\1cK\2sb."), one);         // attributes are not entries
  const std::string plain = test::pickled({{.name = "x", .elements = 6, .sizes = {6}, .strides = {1}}});
  const std::string six("(\x8a\x08\6\0\0\0\0\0\0\0t", 12);
  const std::string sized = test::torch_zip(replaced(plain, six, "ctorch\nSize\n" + six + "\x85R"), {{"0", std::string(24, 1)}});
  EXPECT_EQ(parse_torch_file(sized, "f").tensors.at("x").info.shape, Shape({6}));
  const auto told = [](const std::string& bytes) { return message_of<IoError>([&] { parse_torch_file(bytes, "f"); }); };
  std::string passed_over = "}U\x0astate_dict}U\1nK\1ssU\5model";  // it has no tensors
  passed_over += plain.substr(2, plain.size() - 3) + "s.";
  const TorchContents model = parse_torch_file(test::torch_zip(passed_over, {{"0", std::string(24, 1)}}), "f");
  EXPECT_EQ(model.part, "model");
  EXPECT_EQ(model.others, (std::map<std::string, std::string>{{"state_dict", "a dict of 1"}}));
  EXPECT_EQ(told("}U\1acurllib.request\nurlopen\n)Rs."),
            "f: requests a call of urllib.request.urlopen, which no checkpoint needs: the file is refused, and nothing was executed");
  EXPECT_EQ(told(test::zipped({{"a/data.pkl", "N."}, {"b/data.pkl", "N."}})), "f: has two objects, 'a/data.pkl' and 'b/data.pkl'");
  EXPECT_EQ(told(test::zipped({{"a/b/data.pkl", "N."}})), "f: is a zip archive without data.pkl, expected a PyTorch checkpoint");
  EXPECT_EQ(told(test::zipped({{"data.pkl", "N."}})), "f: holds None, expected a dict of tensors");
  const std::string many = test::pickled({{.name = "x", .sizes = std::vector<int64_t>(65, 1), .strides = std::vector<int64_t>(65, 1)}});
  EXPECT_EQ(told(test::torch_zip(many, {{"0", std::string(4, 1)}})),
            "f: tensor 'x' has a tuple of 65 as its sizes, expected a tuple of at most 64");
}

// Values that contain themselves, or the same value many times, neither overflow the stack nor take excessive time.
TEST_F(TorchFileTest, self_references_are_refused) {
  const auto told = [](const std::string& pickle) {
    return message_of<IoError>([&] { parse_torch_file(test::torch_zip(pickle, {}), "f"); });
  };
  EXPECT_EQ(told("\x80\x02}q\x01U\1ah\x01s."), "f: has dicts that are nested more than 64 levels deep");
  std::string doubled = "\x80\x02}q";  // 60 dicts, each twice in the previous one
  for (int i = 0; i < 60; ++i) doubled += fmt::format("{0}(U\1a}}q{1}U\1bh{1}u0h{1}q", char(i), char(i + 1));
  doubled += fmt::format("{}0h{}.", char(61), '\0');
  EXPECT_EQ(told(doubled), "f: has more entries than a checkpoint can have");
  std::string wide = "\x80\x02](";  // a list of 100 000 numbers, 100 000 times in a dict
  for (int i = 0; i < 100000; ++i) wide += "N";
  wide +=
      "eq\x01"
      "0}(";
  for (int i = 0; i < 100000; ++i) wide += fmt::format("K{}h\x01", char(i % 128));
  EXPECT_EQ(told(wide + "u."), "f: has more entries than a checkpoint can have");
  std::string deep = "\x80\x02";  // a hundred thousand nested lists
  for (int i = 0; i < 100000; ++i) deep += "]";
  for (int i = 1; i < 100000; ++i) deep += "a";
  EXPECT_EQ(told(deep.insert(2, "}U\1a") + "s."), "f: has dicts that are nested more than 64 levels deep");
}

}  // namespace
}  // namespace hearth
