"""Runs queries on JSON documents over several systems and compares them."""
