"""Array-only functions compiled by numba; the only folder that imports it."""
