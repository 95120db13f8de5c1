"""The report: claims of the paper tested on result files, with tables and figures."""
