"""One task family a file: how its data become sequences with labels, and predictions become scores."""
