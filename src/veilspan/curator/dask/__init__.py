"""The same door for tables that lie in parts on a Dask cluster."""
