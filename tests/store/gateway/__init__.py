"""Tests of the gateway: keys, policies, routing, transcripts, and real processes."""
