"""HTTP towards people and machines that watch: probes, metrics, the live page."""
