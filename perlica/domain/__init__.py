"""Values and pure rules that every other room speaks in; imports nothing of Perlica."""
