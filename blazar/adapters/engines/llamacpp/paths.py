"""Words of llama-server's command line that name files and folders which it reads (b11434). Pure data.

Where one is not there it ends itself, or answers without what was asked for. What it would write is not listed, nor the weights
themselves, which are looked for before anything is planned.
"""

from blazar.domain.told_paths import listed, whole, with_scales

_WHOLE = """
-mm --mmproj
-md --model-draft --spec-draft-model
-lcs --lookup-cache-static -lcd --lookup-cache-dynamic
--chat-template-file --grammar-file -jf --json-schema-file
--video-ffmpeg-dir --mcp-servers-config
"""

PATHS = {
    **dict.fromkeys(_WHOLE.split(), whole),
    **dict.fromkeys(("--lora", "--control-vector"), listed),
    **dict.fromkeys(("--lora-scaled", "--control-vector-scaled"), with_scales),
}
