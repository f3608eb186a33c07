"""What each model call is asked and the typed answer it must give. Nothing is imported here."""
