"""Names of files as the projects publish them, for tests of the choice. Facts of their release pages and workflows, no sizes."""

from blazar.domain.releases import Asset

LLAMACPP = (
    "cudart-llama-b11429-bin-ubuntu-cuda-12.8-x64.tar.gz",
    "cudart-llama-b11429-bin-ubuntu-cuda-13.4-arm64.tar.gz",
    "cudart-llama-b11429-bin-ubuntu-cuda-13.4-x64.tar.gz",
    "cudart-llama-bin-win-cuda-12.4-x64.zip",
    "cudart-llama-bin-win-cuda-13.4-arm64.zip",
    "cudart-llama-bin-win-cuda-13.4-x64.zip",
    "llama-b11429-bin-android-arm64-snapdragon.tar.gz",
    "llama-b11429-bin-android-arm64.tar.gz",
    "llama-b11429-bin-linux-arm64-snapdragon.tar.gz",
    "llama-b11429-bin-macos-arm64.tar.gz",
    "llama-b11429-bin-macos-x64.tar.gz",
    "llama-b11429-bin-ubuntu-26.04-s390x.tar.gz",
    "llama-b11429-bin-ubuntu-arm64.tar.gz",
    "llama-b11429-bin-ubuntu-cuda-12.8-x64.tar.gz",
    "llama-b11429-bin-ubuntu-cuda-13.4-arm64.tar.gz",
    "llama-b11429-bin-ubuntu-cuda-13.4-x64.tar.gz",
    "llama-b11429-bin-ubuntu-openvino-2026.4.1-x64.tar.gz",
    "llama-b11429-bin-ubuntu-rocm-10.0-x64.tar.gz",
    "llama-b11429-bin-ubuntu-s390x.tar.gz",
    "llama-b11429-bin-ubuntu-sycl-fp16-x64.tar.gz",
    "llama-b11429-bin-ubuntu-sycl-fp32-x64.tar.gz",
    "llama-b11429-bin-ubuntu-vulkan-arm64.tar.gz",
    "llama-b11429-bin-ubuntu-vulkan-x64.tar.gz",
    "llama-b11429-bin-ubuntu-x64.tar.gz",
    "llama-b11429-bin-win-cpu-arm64.zip",
    "llama-b11429-bin-win-cpu-x64.zip",
    "llama-b11429-bin-win-cuda-12.4-x64.zip",
    "llama-b11429-bin-win-cuda-13.4-arm64.zip",
    "llama-b11429-bin-win-cuda-13.4-x64.zip",
    "llama-b11429-bin-win-opencl-adreno-arm64.zip",
    "llama-b11429-bin-win-openvino-2026.4.1-x64.zip",
    "llama-b11429-bin-win-rocm-10.0-x64.zip",
    "llama-b11429-bin-win-sycl-x64.zip",
    "llama-b11429-bin-win-vulkan-arm64.zip",
    "llama-b11429-bin-win-vulkan-x64.zip",
    "llama-b11429-ui.tar.gz",
    "llama-b11429-xcframework.zip",
)
MISTRALRS = (
    "mistralrs-0.9.5+cuda128.sm89-cp310-abi3-manylinux_2_39_x86_64.whl",
    "mistralrs-cpu-aarch64-unknown-linux-gnu-v8_0.tar.gz",
    "mistralrs-cpu-aarch64-unknown-linux-gnu.tar.gz",
    "mistralrs-cpu-x86_64-pc-windows-msvc.zip",
    "mistralrs-cpu-x86_64-unknown-linux-gnu.tar.gz",
    "mistralrs-cuda128-sm89-x86_64-unknown-linux-gnu.tar.gz",
    "mistralrs-cuda128-sm90-aarch64-unknown-linux-gnu.tar.gz",
    "mistralrs-cuda128-sm90-x86_64-unknown-linux-gnu.tar.gz",
    "mistralrs-cuda129-sm121-aarch64-unknown-linux-gnu.tar.gz",
    "mistralrs-cuda130-sm120-x86_64-unknown-linux-gnu.tar.gz",
    "mistralrs-cuda131-sm89-x86_64-unknown-linux-gnu.tar.gz",
    "mistralrs-cuda132-sm89-x86_64-unknown-linux-gnu.tar.gz",
    "mistralrs-cuda133-sm90-x86_64-unknown-linux-gnu.tar.gz",
    "mistralrs-metal-aarch64-apple-darwin.tar.gz",
)
SDCPP = (
    "cudart-sd-bin-win-cu12-x64.zip",
    "sd-master-cad0903-bin-Darwin-macOS-15.7.7-arm64.zip",
    "sd-master-cad0903-bin-Linux-Ubuntu-24.04-x86_64-rocm-7.13.0.zip",
    "sd-master-cad0903-bin-Linux-Ubuntu-24.04-x86_64-vulkan.zip",
    "sd-master-cad0903-bin-Linux-Ubuntu-24.04-x86_64.zip",
    "sd-master-cad0903-bin-win-cpu-x64.zip",
    "sd-master-cad0903-bin-win-cuda12-x64.zip",
    "sd-master-cad0903-bin-win-rocm-7.13.0-x64.zip",
    "sd-master-cad0903-bin-win-vulkan-x64.zip",
)


def assets_of(names: tuple[str, ...]) -> tuple[Asset, ...]:
    """Names as assets."""
    return tuple(Asset(name, f"http://there/{name}") for name in names)
