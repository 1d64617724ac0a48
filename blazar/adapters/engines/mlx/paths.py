"""Words of mlx-lm's command line that name files and folders which it reads (0.32.2). Pure data."""

from blazar.domain.told_paths import absolute, whole

PATHS = {"--adapter-path": whole, "--draft-model": absolute}
