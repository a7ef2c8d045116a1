# Slurm: a job's name there is its tag. What it writes goes to a file TAG.log in the working directory (workdir), which
# the nodes share with the machine of the scheduler. Needs sbatch, squeue and scancel, and asks sacct where there is one.
# A job's var may have nearly any name but BELLHOP_…: so has what is set before sbatch.
BELLHOP_OP=$1 && shift

# quoted prints words so that a shell reads them as they are.
quoted() {
	for word; do
		printf " '"
		printf %s "$word" | sed "s/'/'\\\\''/g"
		printf "'"
	done
}

# jobs prints NAME ID STATE EXIT of all that Slurm knows, those that have ended not long ago among them.
jobs() {
	squeue -h -u "$(id -un)" -t all -O 'Name:64,JobID:24,State:20,exit_code:16' || exit 1
}

case $BELLHOP_OP in
submit)
	BELLHOP_TAG=$1 && shift
	IFS='
'
	set -f
	# shellcheck disable=SC2086 # an option a line
	said=$(printf '#!/bin/sh\nexec%s\n' "$(quoted "$@")" |
		sbatch --parsable --no-requeue --job-name="$BELLHOP_TAG" --output="$BELLHOP_TAG.log" --open-mode=truncate $BELLHOP_OPTIONS 2>&1)
	code=$?
	if [ $code = 0 ]; then
		printf '%s\n' "$said" | tail -n 1 | cut -d ';' -f 1
		exit
	fi
	printf '%s\n' "$said" >&2
	case $said in # what no other try changes
	*[Ii]nvalid*specified* | *"nvalid option"* | *"unrecognized option"* | *"node configuration is not available"*) exit 65 ;;
	esac
	exit 1
	;;
find)
	known=$(jobs) || exit 1
	{ printf '%s\n' "$known" && echo . && cat; } | awk '
		$1 == "." { asked = 1; next }
		!asked { split($2, id, "|"); of[$1] = id[1]; next }
		$1 in of { print $1, of[$1] }'
	;;
poll)
	known=$(jobs) || exit 1
	asked=$(cat)
	# What squeue has forgotten is with the accounting, where that is kept.
	gone=$( { printf '%s\n' "$known" && echo . && printf '%s\n' "$asked"; } | awk '
		$1 == "." { asked = 1; next }
		!asked { of[$1] = 1; next }
		!($1 in of) && $2 != "" { printf "%s%s", comma, $2; comma = "," }')
	if [ -n "$gone" ] && command -v sacct >/dev/null; then
		known=$known'
'$(sacct -n -X -P --delimiter=' ' -j "$gone" -o JobName%64,JobID,State,ExitCode 2>/dev/null | sed 's/ by [0-9]*//')
	fi
	{ printf '%s\n' "$known" && echo . && printf '%s\n' "$asked"; } | awk '
		$1 == "." { asked = 1; next }
		!asked { state[$1] = $3; code[$1] = $4; next }
		!($1 in state) { next }
		{
			s = state[$1]
			if (split(code[$1], c, ":") < 2) { c[2] = code[$1] % 128; c[1] = int(code[$1] / 256) } # as wait(2) has it
			exit_code = c[1] + 0
			if (exit_code == 0 && c[2] + 0 > 0) exit_code = 128 + c[2]
			if (s ~ /^(PENDING|CONFIGURING|REQUEUED|REQUEUE_HOLD|SPECIAL_EXIT|RESV_DEL_HOLD|REQUEUE_FED)/) print $1, "pending"
			else if (s ~ /^(RUNNING|COMPLETING|SUSPENDED|STOPPED|SIGNALING|STAGE_OUT|RESIZING)/) print $1, "running"
			else if (s == "COMPLETED") print $1, "succeeded 0"
			else print $1, "failed", (exit_code > 0 ? exit_code : 1), tolower(s)
		}'
	;;
kill)
	asked=$(cat)
	printf '%s\n' "$asked" | awk '$2 != "" { print $2 }' | xargs -r scancel --quiet || exit 1
	printf '%s\n' "$asked" | awk '$1 != "" && $2 == "" { print "--name=" $1 }' | xargs -r -n 1 scancel --quiet || exit 1
	if [ -n "$BELLHOP_OVER" ]; then
		printf '%s\n' "$asked" | awk '$1 ~ /^bellhop-/ { print $1 ".log" }' | xargs -r rm -f
	fi
	;;
logs)
	cat "$1.log"
	;;
esac
