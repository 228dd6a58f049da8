#!/bin/bash
echo "yes, please wake the agent"
