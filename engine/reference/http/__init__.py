"""The HTTP surface: routes, request bodies, errors."""
