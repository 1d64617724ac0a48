"""`mistralrs serve` as data: spelling, the setting behind it, how to say it. `design.md` says what `resolve` supplies.

Spellings are those of 0.9. What a build does not list is left out with a warning, but for the rows that name the model.
"""

from blazar.domain.argv import FLOOR, Flag, Missing, always, fixed

MISTRALRS_FLAGS: tuple[Flag, ...] = (
    # What is served
    # A folder: a hub's name would be downloaded.
    Flag("--model-id", "model_path", always, "the folder of the model", Missing.REFUSE),
    Flag("--quantized-file", "quantized_file", why="its files there", missing=Missing.REFUSE),
    Flag("--format", "format", why="what the weights are"),
    Flag("--mmproj", "projector", why="for requests with images"),
    Flag("--chat-template", "chat_template_file"),
    # Window, requests at once, cache
    Flag("--max-seq-len", "ctx"),
    Flag("--max-seqs", "slots"),
    Flag("--max-batch-size", "batch", why="layers are dealt out for as many requests"),
    Flag("--max-num-batched-tokens", "step"),
    Flag("--paged-attn", "paged_attn"),
    Flag("--pa-memory-mb", "mistralrs.pa_memory_mb"),
    Flag("--pa-memory-fraction", "mistralrs_pa_memory_fraction"),
    Flag("--pa-context-len", "pa_context_len"),
    # Quantising while loading
    Flag("--isq", "mistralrs.isq"),
    Flag("--isq-organization", "mistralrs.isq_organization"),
    Flag("--imatrix", "mistralrs.imatrix"),
    Flag("--calibration-file", "mistralrs.calibration_file"),
    # The server
    Flag("--no-ui", FLOOR, fixed(), "the page beside the API would answer whoever opens it"),
)
