"""What 'pepsi demo' plays: sample mail, a sink, and the story of each message."""
