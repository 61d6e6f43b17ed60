"""What the makers of Stable Diffusion publish beside their weights.   python make_published.py FOLDER

FOLDER holds copies of the makers' repositories, OWNER/NAME/ with model_index.json and the components' config files, no weights. Writes
published.json: of each the values that those files state, for the built-in configurations (src/models/*/configs) that stand for them. Keys
with an underscore (who wrote the file) and of components that draw nothing are left out.
"""
import json
import sys
from pathlib import Path

HERE = Path(__file__).parent
REPOSITORIES = {
    "sd15": "runwayml/stable-diffusion-v1-5",
    "sd15-inpainting": "runwayml/stable-diffusion-inpainting",
    "sd21": "stabilityai/stable-diffusion-2-1",
    "sd2-inpainting": "stabilityai/stable-diffusion-2-inpainting",
    "sdxl": "stabilityai/stable-diffusion-xl-base-1.0",
    "sdxl-inpainting": "diffusers/stable-diffusion-xl-1.0-inpainting-0.1",
    "sdxl-refiner": "stabilityai/stable-diffusion-xl-refiner-1.0",
    "playground-v2.5": "playgroundai/playground-v2.5-1024px-aesthetic",
}
FILES = ["model_index.json", "scheduler/scheduler_config.json", "unet/config.json", "vae/config.json", "text_encoder/config.json",
         "text_encoder_2/config.json"]
UNUSED = ("safety_checker", "feature_extractor", "image_encoder", "requires_safety_checker")


def values(path):
    return {key: value for key, value in json.loads(path.read_text()).items() if key == "_class_name" or not key.startswith("_") and key not in UNUSED}


def main(folder):
    published = {name: {"repository": repository, **{file: values(folder / repository / file) for file in FILES if (folder / repository / file).exists()}}
                 for name, repository in REPOSITORIES.items()}
    text = json.dumps(published, indent=0, sort_keys=True).replace("\n ", " ").replace("[\n", "[").replace(",\n", ", ").replace("\n]", "]")
    (HERE / "published.json").write_text(text.replace('}, "', '},\n"') + "\n")


main(Path(sys.argv[1]))
