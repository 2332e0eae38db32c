"""How far more data will carry a draft: laws fitted to measured points, with a range, and an honest no."""
