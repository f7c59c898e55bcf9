"""The sandbox family: commands and files in sandboxes, their life, images and nodes."""
