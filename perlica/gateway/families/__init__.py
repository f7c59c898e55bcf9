"""Tool families: each holds its tools, its actions and how they are carried out."""
