#include "models/sana/codec.h"

#include "parts/golden_case_test.h"

namespace hearth::models::sana {
namespace {

struct TiledCase : parts::GoldenCase {
  explicit TiledCase(Backend& backend)
      : GoldenCase(__FILE__, "dc_tiled", backend), c(AutoencoderDcConfig::from(config())), tile(fact("tile")), weights_(weights()) {}
  Tensor image() const { return input("image", {fact("batch"), fact("height"), fact("width"), c.image_channels}); }
  Tensor latents() const {  // of the diffusion model
    const int64_t f = c.factor(), h = fact("height").get<int64_t>() / f, w = fact("width").get<int64_t>() / f;
    return ops::scaled(input("z", {fact("batch"), h, w, c.latent_channels}), c.scaling_factor, 0);
  }
  DcCodec codec() { return DcCodec(Scope(weights_), c); }

  AutoencoderDcConfig c;
  int64_t tile;

 private:
  Weights weights_;
};

// Observed 8.6e-7.
BACKEND_TEST(DcCodec, tiles_are_those_of_the_reference) {
  TiledCase c(device);
  const DcCodec codec = c.codec();
  EXPECT_CLOSE(codec.encode_in_tiles(c.image(), c.tile).mean, c.golden.values("encoded"), 5e-6);
  EXPECT_CLOSE(codec.decode_in_tiles(c.latents(), c.tile), c.golden.values("decoded"), 5e-6);
}

// One tile is the whole; tiles change what is near their edges.
BACKEND_TEST(DcCodec, an_image_within_one_tile_is_not_divided) {
  TiledCase c(device);
  const DcCodec codec = c.codec();
  const auto whole = codec.decode(c.latents()).to_vector();
  EXPECT_EQ(codec.decode_in_tiles(c.latents(), 24).to_vector(), whole);
  EXPECT_NE(codec.decode_in_tiles(c.latents(), c.tile).to_vector(), whole);
  EXPECT_EQ(codec.encode_in_tiles(c.image(), 24).mean.to_vector(), codec.encode(c.image()).mean.to_vector());
}

TEST(DcCodecConfig, tiles_have_512_pixels) {
  const AutoencoderDcConfig published = AutoencoderDcConfig::from(parts::Structure(__FILE__, "dc_f32").config());
  const diffusion::CodecConfig codec = codec_config(published);
  EXPECT_EQ(codec.factor, 32);
  EXPECT_EQ(codec.tile, 16);
  EXPECT_EQ(codec.latent_channels, 32);
  EXPECT_FALSE(codec.draws);
}

TEST(DcCodecConfig, a_tile_that_has_no_eighth_is_refused) {
  const auto device = test::make_test_backend("reference");
  TiledCase c(*device);
  const DcCodec codec = c.codec();
  parts::expect_error<UsageError>([&] { codec.decode_in_tiles(c.latents(), 12); }, {"multiple of 8"});
}

}  // namespace
}  // namespace hearth::models::sana
