"""The files of sandboxes: loop disks, overlay mounts, records."""
