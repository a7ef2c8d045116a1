#!/bin/bash
# The smallest agent: tells each line in capitals. Try it: printf "hello\n" | agents/examples/upper.sh
echo OK
while IFS= read -r line; do
  echo "LOG ${line^^}"
  echo OK
done
