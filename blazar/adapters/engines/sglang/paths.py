"""Words of SGLang's command line that name files and folders which it reads (0.5.23). Pure data.

Many of its words name a file or a repository: only what begins at the root is a path for certain.
"""

from blazar.domain.told_paths import absolute, named, template, whole

_WHOLE = """
--quantization-param-path --speculative-ngram-external-corpus-path --decrypted-config-file --decrypted-draft-config-file
--lmcache-config-file --flexkv-config-file --pdmux-config-path
"""
_EITHER = (
    "--tokenizer-path --speculative-draft-model-path --speculative-draft-model --speculative-token-map --kt-weight-path"
)

PATHS = {
    **dict.fromkeys(_WHOLE.split(), whole),
    **dict.fromkeys(_EITHER.split(), absolute),
    "--chat-template": template,
    "--lora-paths": named,
}
