"""Messages and resources in which hospitals exchange documents: HL7 version 2 and FHIR."""
