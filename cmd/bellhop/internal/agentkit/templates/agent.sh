#!/usr/bin/env bash
# An agent in bash, for bellhop's json dialect. It needs nothing but bash 4.4 and cat.
#
#     bellhop agent check ./agent.sh               # keeps it to the protocol? No database is needed
#     bellhop agent try ./agent.sh 'some words'    # one line, and all that is said
#
# In bellhop.yaml:
#
#     agents:
#       - {type: TYPE, command: [./agent.sh]}
#
# The part to change is work(). What is below it is the protocol.

# work does one job: $args is its line. Exit code 0 is success, any other fails
# the attempt. It runs in a shell of its own: its variables end with it, and what
# it prints on stderr is kept with the job.
work() {
  local word n=0 words
  read -ra words <<<"$args"
  for word in "${words[@]}"; do
    case $word in
      later) snooze 10m ;;                    # not now: again in ten minutes, and that is no attempt
      bad) fail 'bad input' '"retry":false' ;; # another try would give the same; '"retry":"10m"': not sooner
      slow) sleep 30 ;;                       # is killed when the job is cancelled
    esac
    n=$((n + 1))
    log "word $n: $word"                      # kept with the job: bellhop logs ID
    progress "$n" "${#words[@]}"              # bellhop ls, show, top
  done
  result "{\"words\":$n}"                     # JSON: bellhop wait ID; select result from bellhop.wait(ID)
}

# What work can say. quoted writes a text as JSON.
log() { say "{\"log\":$(quoted "$1"),\"level\":\"${2:-info}\"}"; } # or debug, or error
progress() { say "{\"progress\":{\"done\":$1,\"of\":$2}}"; }         # written once a second at the most
result() { say "{\"result\":$1}"; }
fail() { say "{\"fail\":$(quoted "$1")${2:+,$2}}"; exit "$ANSWERED"; }
snooze() { say "{\"snooze\":$(quoted "$1")}"; exit "$ANSWERED"; }

say() { printf '%s\n' "$1" >&3; }

quoted() {
  local s=${1//\\/\\\\}
  s=${s//\"/\\\"} s=${s//$'\n'/\\n} s=${s//$'\t'/\\t} s=${s//$'\r'/\\r}
  printf '"%s"' "${s//[[:cntrl:]]/?}"
}

# texted reads the text of a field into a variable: bellhop writes it as JSON.
# Quotes and backslashes are set aside while its end is looked for.
texted() { # variable, field, line
  local s=$3
  printf -v "$1" ''
  s=${s//'\\'/$'\1'} s=${s//'\"'/$'\2'}
  [[ $s == *"\"$2\":\""* ]] || return 0
  s=${s#*"\"$2\":\""} s=${s%%'"'*}
  s=${s//$'\2'/'"'}
  if [[ $s == *\\* ]]; then
    printf -v s %b "$s"
  fi
  printf -v "$1" %s "${s//$'\1'/\\}"
}

ANSWERED=120 # the exit code of a work that has said how it went
exec 3>&1 1>&2 # stdout is the protocol's
# cat reads on while a job runs, so that the end of stdin is noticed: it means
# stop, as SIGHUP does.
exec 4<&0 5< <(cat <&4; kill -HUP $$)

working=
stop() {
  trap '' HUP TERM INT
  if [[ -n $working ]]; then
    kill -- "-$working" 2>/dev/null # with what it started
    log stopped
  fi
  kill "$relay" 2>/dev/null
  exit 0
}
relay=$!
trap stop HUP TERM INT
set -m # each job is a process group of its own

say '{"bellhop":1,"type":"TYPE"}'
while IFS= read -r line <&5; do
  texted args args "$line" # empty for an item of a query: its columns are the field "item" of $line
  texted TRACEPARENT traceparent "$line" # what the job starts finds its trace
  export TRACEPARENT
  work </dev/null 5<&- &
  working=$!
  wait "$working"
  code=$?
  working=
  case $code in
    0) say '{"ok":true}' ;;
    "$ANSWERED") ;;
    *) say "{\"fail\":\"exit code $code\",\"exit_code\":$code}" ;;
  esac
done
stop
