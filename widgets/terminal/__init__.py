"""A driver for Textual that sends only the cells that changed. `driver.choose_driver()` gives the class for `App`."""
