"""Files and messages that hold a text each as text: DOCX, ODT, RTF, e-mails, HL7; in a process of its own."""
