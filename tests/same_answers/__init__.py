"""The answers of two builds of the program to the same random command lines."""
