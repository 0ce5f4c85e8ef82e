"""What an account says to people: shares that add up, what still fits, and the words for both."""
