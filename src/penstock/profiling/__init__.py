"""Which constraints hold in data, and with which k: `penstock profile`."""
