"""Where GitHub is, and the variables that name another place for it. Loads no HTTP client: the daemon reads this as it starts."""

API = "https://api.github.com"
FILES = "https://github.com"
BASE_VARIABLE, FILES_VARIABLE = "BLAZAR_GH_BASE", "BLAZAR_INSTALL_BASE_URL"
