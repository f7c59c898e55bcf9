"""What starts and watches the service: configuration, wiring, supervision, logs, command line."""
