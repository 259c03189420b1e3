"""Files of word processors, PDF files and e-mails, each of which is one document."""
