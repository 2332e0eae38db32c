"""Regeneration: prompts answered again by the target model."""
