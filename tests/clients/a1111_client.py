#!/usr/bin/env python3
"""Uses a running server through webuiapi, a client of A1111's API: text-to-image, image-to-image, inpainting, hires fix, options, samplers,
progress, interrupt, PNG info.

    python3 -m venv clients && clients/bin/pip install webuiapi
    hearth serve --port 8080 &
    clients/bin/python tests/clients/a1111_client.py http://127.0.0.1:8080
"""
import sys
import threading
import time

import webuiapi
from PIL import Image, ImageDraw

SIZE = 64


def check(condition, what):
    if not condition:
        sys.exit(f"failed: {what}")
    print(f"ok: {what}")


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: a1111_client.py URL")
    api = webuiapi.WebUIApi(baseurl=sys.argv[1].rstrip("/") + "/sdapi/v1", steps=4)

    models = api.util_get_model_names()
    check(models and api.util_get_current_model() in models, f"models {models}")
    api.util_set_model(models[0])
    check("Euler a" in api.util_get_sampler_names(), "samplers")
    check("karras" in api.util_get_scheduler_names(), "schedulers")
    check(len(api.get_latent_upscale_modes()) == 6 and len(api.get_upscalers()) > 2, "upscalers")
    for empty in (api.get_loras, api.get_hypernetworks, api.get_face_restorers, api.get_realesrgan_models, api.get_prompt_styles,
                  api.get_sd_vae):
        check(empty() == [], empty.__name__)
    check(api.get_scripts() == {"txt2img": [], "img2img": []}, "scripts")
    check(api.get_memory()["ram"]["total"] > 0 and isinstance(api.get_cmd_flags(), dict), "memory and flags")
    api.refresh_checkpoints()

    size = dict(width=SIZE, height=SIZE)
    first = api.txt2img(prompt="a red house", negative_prompt="rain", seed=1003, cfg_scale=6, **size)
    check(first.image.size == (SIZE, SIZE), "txt2img")
    check(first.info["seed"] == 1003 and first.info["infotexts"][0] == first.image.info["parameters"], "its info")
    again = api.txt2img(prompt="a red house", negative_prompt="rain", seed=1003, cfg_scale=6, **size)
    check(first.image.tobytes() == again.image.tobytes(), "the same seed gives the same image")
    several = api.txt2img(prompt="a red house", seed=1003, n_iter=2, batch_size=2, **size)
    check(len(several.images) == 4 and several.info["all_seeds"] == [1003, 1004, 1005, 1006], "batches")
    large = api.txt2img(prompt="a red house", enable_hr=True, hr_scale=2, hr_upscaler=webuiapi.HiResUpscaler.Latent,
                        denoising_strength=0.7, **size)
    check(large.image.size == (2 * SIZE, 2 * SIZE), "hires fix")

    varied = api.img2img(images=[first.image], prompt="a blue house", seed=5, denoising_strength=0.5, **size)
    check(varied.image.size == (SIZE, SIZE), "img2img")
    mask = Image.new("RGB", first.image.size)
    ImageDraw.Draw(mask).rectangle((0, 0, SIZE // 2 - 1, SIZE), fill="white")
    inpainted = api.img2img(images=[first.image], mask_image=mask, mask_blur=0, inpaint_full_res=False, inpainting_fill=1,
                            prompt="a blue house", seed=5, **size)
    kept = (SIZE // 2, 0, SIZE, SIZE)
    check(inpainted.image.crop(kept).tobytes() == first.image.crop(kept).tobytes(), "inpainting keeps what the mask has black")
    check(inpainted.image.tobytes() != first.image.tobytes(), "and changes the rest")

    check(api.png_info(first.image).info == first.image.info["parameters"], "png-info")

    options = api.get_options()
    options["CLIP_stop_at_last_layers"] = 2
    api.set_options(options)
    check(api.get_options()["CLIP_stop_at_last_layers"] == 2, "options")
    options["CLIP_stop_at_last_layers"] = 1
    api.set_options(options)

    result = []
    run = threading.Thread(target=lambda: result.append(api.txt2img(prompt="a red house", steps=900, **size)))
    run.start()
    watching = webuiapi.WebUIApi(baseurl=api.baseurl)
    progress = watching.get_progress()
    while not progress["current_image"]:
        time.sleep(0.01)
        progress = watching.get_progress()
    check(0 < progress["progress"] < 1 and progress["state"]["sampling_steps"] == 900, "progress with a preview")
    watching.interrupt()
    run.join()
    check(len(result) == 1 and len(result[0].images) == 1, "interrupt returns the image so far")
    watching.util_wait_for_ready(check_interval=0.1)

    try:
        api.txt2img(prompt="x", sampler_name="no such sampler", **size)
        check(False, "an unknown sampler is refused")
    except RuntimeError as e:
        check(e.args[0] == 400, "an unknown sampler is refused")


if __name__ == "__main__":
    main()
