"""The suite about itself: where its time goes, what is unstable, and what it draws a sample of."""
