#!/bin/bash
# An agent in bash that goes on where it died: it reserves, charges, awaits the parcel, and mails. It needs jq.
kept() { jq -e --arg name "$1" '.steps // {} | has($name)' <<<"$job" >/dev/null; }
step() { # NAME COMMAND…: runs the command once, and returns when bellhop has kept its output
  kept "$1" && return
  local name=$1 output reply; shift
  output=$("$@" </dev/null) || { jq -nc --arg name "$name" '{fail: "\($name) failed"}'; return 1; }
  jq -nc --arg name "$name" --arg output "$output" '{step: {$name, $output}}'
  read -r reply; [[ $reply == '{"step":'* ]] || { echo '{"fail":"a step was not kept"}'; return 1; }
}
await() { # EVENT TIMEOUT: ends this run if the event has not come; the next one goes on from here
  kept "event.$1" || { jq -nc --arg event "$1" --arg timeout "$2" '{await: {$event, $timeout}}'; return 1; }
}
order() {
  local id; id=$(jq -r .args <<<"$job")
  step reserve ./reserve "$id" && step charge ./charge "$id" && await "parcel.$id" 3d && step mail ./mail "$id" &&
    echo '{"ok":true}'
}
echo '{"bellhop":1}'
while read -r job; do order; done
