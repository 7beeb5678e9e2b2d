"""What all floors use: settings, numbers, threads, public words, and doubts as records."""
