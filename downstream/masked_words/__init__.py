"""Words that models put in masked places, AliBERT's Table 5 and Figure 5: `python -m downstream.masked_words`."""
