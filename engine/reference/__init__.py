"""A small real target and draft for machines with no GPU, served over SGLang's HTTP surface."""
