"""Balanced class weights and decision thresholds, from charged answers."""
