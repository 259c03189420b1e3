"""What identifies a person in a clinical text: rules for identifiers that have a form, and lists of names."""
