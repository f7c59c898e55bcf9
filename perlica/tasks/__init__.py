"""What a task ends with and tells: its end, the final message, announcements, the review."""
