"""The security lane: hostile definitions, open HTTP endpoints, tools that do more than they say."""
