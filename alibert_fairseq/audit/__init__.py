"""What can be extracted from a pretrained model: canaries, membership, masked words, subwords, and a page of it."""
