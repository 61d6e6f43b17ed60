#include "weights/blocks.h"

#include <atomic>
#include <fstream>
#include <thread>

#include "core/memory.h"
#include "core/observe.h"
#include "core/quantized/blocks.h"
#include "core/threads.h"
#include "support/backend_test.h"
#include "support/files.h"
#include "weights/gguf/gguf.h"
#include "weights/gguf/gguf_writer.h"
#include "weights/packed_cache.h"
#include "weights/safetensors/safetensors.h"
#include "weights/seeded.h"

namespace hearth {
namespace {

namespace fs = std::filesystem;
using test::message_of;

constexpr int64_t width = 64, layers = 7;
constexpr double parts[] = {0, 0.3, 0.5, 0.9};

// Counts the blocks in memory.
struct Alive {
  Alive() {
    const int now = ++count;
    for (int seen = most; now > seen && !most.compare_exchange_weak(seen, now);) {}
  }
  ~Alive() { --count; }
  static inline std::atomic<int> count{0}, most{0};
};

struct TestBlock {
  explicit TestBlock(const Scope& w) : weight(w.linear("weight", width, width)), bias(w.tensor("bias", {width})) {}
  Tensor operator()(const Tensor& x) const {
    Tensor y = Tensor::like(x);
    x.backend().linear(x, weight, bias, {}, {}, y);
    return y;
  }
  Weight weight;
  Tensor bias;
  Alive alive;
};

struct TestNetwork {
  explicit TestNetwork(const Scope& w)
      : first(w / "first", 2, [](const Scope& block) { return TestBlock(block); }),
        tail(w.tensor("tail", {3})),
        rest(w / "rest", layers - 2, [](const Scope& block, int64_t) { return TestBlock(block); }) {}
  Tensor operator()(Tensor x) const {
    for (const TestBlock& block : first) x = block(x);
    for (const TestBlock& block : rest) x = block(x);
    return x;
  }
  Blocks<TestBlock> first;
  Tensor tail;
  Blocks<TestBlock> rest;
};

std::map<std::string, Shape> shapes() {
  std::map<std::string, Shape> all{{"tail", {3}}};
  for (int64_t i = 0; i < layers; ++i) {
    const std::string block = i < 2 ? fmt::format("first.{}", i) : fmt::format("rest.{}", i - 2);
    all[block + ".weight"] = {width, width}, all[block + ".bias"] = {width};
  }
  return all;
}

// A file of each kind, with the same names.
struct Files {
  test::TemporaryFolder folder;
  std::unique_ptr<Backend> host = test::make_test_backend("reference");

  std::map<std::string, Tensor> tensors(DType dtype) const {
    std::map<std::string, Tensor> all;
    for (const auto& [name, shape] : shapes()) all[name] = Tensor::from(*host, shape, seeded_values(name, shape), dtype);
    return all;
  }
  fs::path safetensors(DType dtype) const {
    write_safetensors(folder / "f.safetensors", tensors(dtype));
    return folder / "f.safetensors";
  }
  fs::path gguf(DType dtype) const {
    std::vector<GgufTensor> list;
    for (const auto& [name, shape] : shapes()) list.push_back({name, shape.rank() == 2 ? dtype : DType::f32, shape});
    write_gguf(folder / "f.gguf", {}, list, [&](size_t i, const WriteBytes& write) {
      const std::vector<float> values = seeded_values(list[i].name, list[i].shape);
      std::vector<std::byte> bytes(bytes_of(list[i].dtype, int64_t(values.size())));
      if (is_blocked(list[i].dtype)) encode_blocks(list[i].dtype, values.data(), int64_t(values.size()), bytes.data());
      else std::memcpy(bytes.data(), values.data(), bytes.size());
      write(bytes);
    });
    return folder / "f.gguf";
  }
};

Tensor input(Backend& device) { return Tensor::from(device, {1, 5, width}, seeded_values("x", {1, 5, width})); }

struct Loaded {
  Loaded(std::shared_ptr<TensorSource> source, Backend& device, LoadOptions options)
      : weights(std::move(source), device, std::move(options)), network(Scope(weights)) {
    weights.finish();
  }
  Weights weights;
  TestNetwork network;
};

// Three loops over the blocks, each time with the same result.
std::vector<float> results(const TestNetwork& network, Backend& device) {
  const Tensor x = input(device);
  const std::vector<float> y = network(x).to_vector();
  for (int i = 0; i < 2; ++i) EXPECT_EQ(network(x).to_vector(), y);
  return y;
}

void expect_streams(const std::function<std::shared_ptr<TensorSource>()>& open, Backend& device, const WeightTypes& types) {
  const std::vector<float> expected = results(Loaded(open(), device, {.types = types}).network, device);
  for (const double part : parts) {
    const auto use = std::make_shared<BlockUse>();
    Alive::count = Alive::most = 0;
    {
      const Loaded loaded(open(), device, {.types = types, .resident = part, .use = use});
      const Weights::Report& report = loaded.weights.report();
      EXPECT_EQ(report.parameters, layers * (width + 1) * width + 3);
      EXPECT_EQ(report.blocks, layers);
      EXPECT_EQ(report.blocks_in_memory, int64_t(part * layers));
      EXPECT_EQ(results(loaded.network, device), expected) << part;
      EXPECT_LE(Alive::most, report.blocks_in_memory + 2);
    }
    EXPECT_EQ(Alive::count, 0);
    const int64_t streamed = layers - int64_t(part * layers);
    EXPECT_GE(use->totals().loads, 3 * streamed - 1);
    EXPECT_LE(use->totals().loads, 3 * streamed + 1);
  }
}

BACKEND_TEST(Blocks, streaming_has_the_bits_of_staying) {
  const Files files;
  for (const DType dtype : {DType::f32, DType::bf16}) {
    const fs::path file = files.safetensors(dtype);
    const auto open = [&] { return SafetensorsFile::open(file); };
    expect_streams(open, device, {});
    expect_streams(open, device, {.hold = DType::f16});
    expect_streams(open, device, {.in_place = true});
  }
}

BACKEND_TEST(Blocks, streaming_in_place_has_the_bits_of_staying) {
  const Files files;
  for (const DType dtype : {DType::q8_0, DType::q4_0}) {
    const fs::path file = files.gguf(dtype);
    expect_streams([&] { return GgufFile::open(file); }, device, {.in_place = true});
    expect_streams([&] { return GgufFile::open(file); }, device, {.factors = DType::i16, .in_place = true});
  }
}

BACKEND_TEST(Blocks, generated_weights_stream_too) {
  Weights staying = Weights::seeded(device), streamed = Weights::seeded(device, {.resident = 0});
  EXPECT_EQ(results(TestNetwork(Scope(streamed)), device), results(TestNetwork(Scope(staying)), device));
}

// The dry twin loads the same blocks in the same order.
BACKEND_TEST(Blocks, memory_is_that_of_the_dry_twin) {
  const Files files;
  const auto peak = [&](Backend& on, const fs::path& file, const WeightTypes& types, double part) {
    const MemoryWatch watch(on.ledger());
    const int64_t before = on.ledger().use().now;
    {
      const auto source = file.extension() == ".gguf" ? std::shared_ptr<TensorSource>(GgufFile::open(file)) : SafetensorsFile::open(file);
      const Loaded loaded(source, on, {.types = types, .resident = part});
      Tensor x = Tensor::empty(on, {1, 5, width});
      on.fill(x, 1);
      for (int i = 0; i < 3; ++i) loaded.network(x);
      on.finish();
    }
    on.finish();  // the next block may still have been on its way
    on.release_cached();
    EXPECT_EQ(on.ledger().use().now, before);
    EXPECT_EQ(on.ledger().use().mapped, 0);
    return watch.peak() - before;
  };
  const auto compare = [&](const fs::path& file, const WeightTypes& types) {
    int64_t last = 0;
    for (const double part : {0.0, 0.5, 1.0}) {
      MemoryLedger ledger;
      const auto twin = device.dry_twin(ledger);
      const int64_t planned = peak(*twin, file, types, part), measured = peak(device, file, types, part);
      if (device.name() != "cpu") continue;                // the others do not count what they hold
      if (part < 1) EXPECT_LE(measured, planned) << part;  // less if the next block comes after the last one was released
      else EXPECT_EQ(measured, planned) << part;
      EXPECT_TRUE(part == 0 || planned > last + width * width) << part << ": " << planned << " after " << last;
      last = planned;
    }
  };
  compare(files.safetensors(DType::f32), {});
  compare(files.safetensors(DType::bf16), {});
  compare(files.gguf(DType::q8_0), {.in_place = true});
}

TEST(BlocksErrors, names_and_shapes_are_checked_at_once_and_numbers_when_reached) {
  const Files files;
  const auto device = test::make_test_backend("reference");
  const auto opened = [&](const std::function<void(std::map<std::string, Tensor>&)>& change) {
    auto tensors = files.tensors(DType::f32);
    change(tensors);
    write_safetensors(files.folder / "f.safetensors", tensors);
    return SafetensorsFile::open(files.folder / "f.safetensors");
  };
  for (const double part : {0.0, 0.5, 1.0}) {
    const auto source = opened([&](auto& tensors) {
      tensors.erase("first.1.bias");
      tensors["rest.2.weight"] = Tensor::zeros(*device, {width, 2});
      tensors["more"] = Tensor::zeros(*device, {1});
    });
    EXPECT_EQ(
        message_of<WeightError>([&] { Loaded(source, *device, {.resident = part}); }, files.folder.path()),
        "weights: FOLDER/f.safetensors: 1 missing: 'first.1.bias' [64]; 1 misshapen: 'rest.2.weight' has shape [64, 2], expected [64, "
        "64]; 1 unread: 'more' [1]");
  }
  const auto source = opened([](auto& tensors) { tensors.at("rest.2.weight").template data<float>()[5] = std::nanf(""); });
  const Loaded loaded(source, *device, {.resident = 0});
  for (int i = 0; i < 2; ++i)
    EXPECT_EQ(message_of<WeightError>([&] { loaded.network(input(*device)); }, files.folder.path()),
              "weights: FOLDER/f.safetensors: 1 non-finite: 'rest.2.weight' has 1 NaN or infinite values of 4096");
  std::ofstream(files.folder / "f.safetensors", std::ios::binary | std::ios::app) << "more";
  EXPECT_EQ(message_of<IoError>([&] { loaded.network(input(*device)); }, files.folder.path()),
            "FOLDER/f.safetensors: was modified since it was opened; open the model again");
}

// The file whose reads wait until they are allowed.
class GatedSource final : public TensorSource {
 public:
  explicit GatedSource(std::shared_ptr<TensorSource> source) : source_(std::move(source)) {}
  std::string describe() const override { return source_->describe(); }
  std::map<std::string, TensorInfo> list() const override { return source_->list(); }
  bool has(const std::string& name) const override { return source_->has(name); }
  Tensor read(const std::string& name, const Shape& wanted, Backend& backend) override {
    ++reads;
    for (int i = 0; i < 5000 && closed; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return source_->read(name, wanted, backend);
  }
  std::atomic<bool> closed{false};
  std::atomic<int> reads{0};

 private:
  std::shared_ptr<TensorSource> source_;
};

TEST(BlocksLoops, are_canceled_while_they_wait) {
  const Files files;
  const auto device = test::make_test_backend("reference");
  const auto source = std::make_shared<GatedSource>(SafetensorsFile::open(files.safetensors(DType::f32)));
  std::vector<float> expected;
  {
    const Loaded loaded(source, *device, {.resident = 0});
    expected = results(loaded.network, *device);
    loaded.network(input(*device));  // the first block is loaded ahead
    source->closed = true;
    std::atomic<bool> flag{false};
    std::thread user([&, before = int(source->reads)] {
      while (source->reads == before) std::this_thread::yield();
      flag = true;
      std::this_thread::sleep_for(std::chrono::milliseconds(200));
      source->closed = false;
    });
    {
      const CancelScope scope(flag);
      EXPECT_THROW(loaded.network(input(*device)), Canceled);
    }
    user.join();
    EXPECT_EQ(results(loaded.network, *device), expected);  // and the next run works
    // A loop that ends early leaves nothing behind that the next one has no room for.
    Alive::most = int(Alive::count);
    for (const TestBlock& block : loaded.network.rest)
      if (block.weight) break;
    EXPECT_EQ(results(loaded.network, *device), expected);
    EXPECT_LE(Alive::most, 2);
    source->closed = true;
    std::thread opens([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
      source->closed = false;
    });
    for (const TestBlock& block : loaded.network.first)
      if (block.weight) break;
    opens.join();
  }  // while a block is being loaded
  EXPECT_EQ(Alive::count, 0);
}

BACKEND_TEST(Blocks, concurrent_loops_share_the_blocks) {
  const Files files;
  const fs::path file = files.safetensors(DType::f32);
  const std::vector<float> expected = results(Loaded(SafetensorsFile::open(file), device, {}).network, device);
  Alive::count = Alive::most = 0;
  const Loaded loaded(SafetensorsFile::open(file), device, {.resident = 0.3});
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 5; ++i) EXPECT_EQ(loaded.network(input(device)).to_vector(), expected);
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_LE(Alive::most, 2 + 3 * 2);
  const auto held = loaded.network.rest[1];
  EXPECT_EQ(loaded.network.rest[1], held);
  EXPECT_EQ(results(loaded.network, device), expected);
}

// The first loop over all blocks writes the cache. The next network packs nothing, whether its blocks stay or not.
TEST(BlocksCache, is_written_by_the_first_loop_and_read_by_the_next_network) {
  const auto device = test::make_test_backend("cpu_avx2");
  if (!device) GTEST_SKIP() << "this processor lacks AVX2";
  const Files files;
  const auto source = std::make_shared<GatedSource>(SafetensorsFile::open(files.safetensors(DType::f32)));
  std::vector<std::string> warnings;
  const auto packed = [&] {
    std::vector<fs::path> found;
    for (const auto& entry : fs::directory_iterator(files.folder.path()))
      if (entry.path().extension() == ".packed") found.push_back(entry.path());
    return found;
  };
  const auto open = [&](double part) {
    const auto warn = [&](const std::string& line) { warnings.push_back(line); };
    return LoadOptions{.cache = std::make_shared<PackedCache>(files.folder.path(), "key", warn), .resident = part};
  };
  const std::vector<float> expected = results(Loaded(source, *device, {}).network, *device);
  for (const double first : {0.0, 0.5}) {
    {
      const Loaded interrupted(source, *device, open(first));
      for (const TestBlock& block : interrupted.network.rest)
        if (block.weight) break;
    }
    EXPECT_TRUE(packed().empty());
    {
      const Loaded loaded(source, *device, open(first));
      EXPECT_TRUE(packed().empty());
      EXPECT_EQ(results(loaded.network, *device), expected);
      EXPECT_EQ(packed().size(), 1u);
    }
    for (const double part : {0.0, 0.5, 1.0}) {
      const int64_t mapped = device->ledger().use().mapped;
      source->reads = 0;
      const Loaded loaded(source, *device, open(part));
      EXPECT_EQ(results(loaded.network, *device), expected) << part;
      const int biases = int(loaded.weights.report().blocks_in_memory) + 3 * int(layers - loaded.weights.report().blocks_in_memory);
      EXPECT_LE(source->reads, 1 + biases + 1);
      EXPECT_GE(device->ledger().use().mapped, mapped + int64_t(part) * layers * width * width * 4);
    }
    EXPECT_TRUE(warnings.empty());
    // Damage is noticed in the block that has it, and repaired.
    std::fstream(packed()[0], std::ios::in | std::ios::out | std::ios::binary).seekp(5 * width * width * 4).put('?');
    EXPECT_EQ(results(Loaded(source, *device, open(first)).network, *device), expected);
    EXPECT_EQ(warnings.size(), 1u);
    EXPECT_EQ(results(Loaded(source, *device, open(first)).network, *device), expected);
    EXPECT_EQ(warnings.size(), 1u);
    warnings.clear();
    fs::remove(packed()[0]);
  }
}

// Pages of weights in place are dropped with their block.
TEST(BlocksInPlace, take_memory_only_while_they_are_used) {
  const auto device = test::make_test_backend("cpu_avx2");
  if (!device) GTEST_SKIP() << "this processor lacks AVX2";
  const test::TemporaryFolder folder;
  constexpr int64_t rows = 8 << 10;  // 2 MiB of q8_0 per block
  std::vector<GgufTensor> list;
  for (int64_t i = 0; i < 16; ++i) list.push_back({fmt::format("blocks.{}.weight", i), DType::q8_0, {rows, 256}});
  write_gguf(folder / "f.gguf", {}, list,
             [&](size_t, const WriteBytes& write) { write(std::vector<std::byte>(bytes_of(DType::q8_0, rows * 256))); });
  struct Large {
    explicit Large(const Scope& w) : weight(w.linear("weight", rows, 256)) {}
    Weight weight;
  };
  const auto peak = [&](double part) {
    Weights weights(GgufFile::open(folder / "f.gguf"), *device, {.types = {.in_place = true}, .resident = part});
    const Blocks<Large> blocks(Scope(weights) / "blocks", 16, [](const Scope& w) { return Large(w); });
    weights.finish();
    int64_t most = 0;
    for (int loop = 0; loop < 2; ++loop)
      for (const Large& block : blocks) {
        EXPECT_TRUE(block.weight);
        most = std::max(most, MappedFile::resident_bytes());
      }
    return most;
  };
  const int64_t before = MappedFile::resident_bytes(), whole = peak(1) - before, streamed = peak(0) - before;
  EXPECT_GE(whole, 16 * int64_t(bytes_of(DType::q8_0, rows * 256)));
  EXPECT_LE(streamed, 4 * int64_t(bytes_of(DType::q8_0, rows * 256)));
  EXPECT_LE(MappedFile::resident_bytes(), before + (1 << 20));
}

}  // namespace
}  // namespace hearth
