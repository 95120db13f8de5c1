"""The report: claims of the paper judged by result files, with tables and figures."""
