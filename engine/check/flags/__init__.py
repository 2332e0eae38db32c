"""SGLang's command line as data: the flags of each release, and what argparse makes of a list of words."""
