#!/bin/sh
# Fetches uPlot, the plotting library inside report.html, from the npm registry.
# Usage: assets/update-vendor.sh VERSION
set -eu
cd "$(dirname "$0")/vendor"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
(cd "$scratch" && npm pack --silent "uplot@$1" && tar xzf uplot-*.tgz)
cp "$scratch/package/dist/uPlot.iife.min.js" "$scratch/package/dist/uPlot.min.css" .
cp "$scratch/package/LICENSE" LICENSE-uPlot
echo "uPlot $1, MIT, from the npm package uplot; see update-vendor.sh" > README
