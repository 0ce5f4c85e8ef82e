"""Commands that use a release on rows of your own: coordinates, predictions, lists."""
