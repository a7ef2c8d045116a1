#!/bin/bash
# The smallest agent: tells each line in capitals. Try it: bellhop agent try agents/examples/upper.sh "hello"
echo OK
while IFS= read -r line; do
  echo "LOG ${line^^}"
  echo OK
done
