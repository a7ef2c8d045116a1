# spark-submit on YARN, in cluster mode: an application's name is its tag. Options are those of spark-submit; the last is the
# application (a jar, or a .py file). Needs spark-submit and yarn.
op=$1 && shift
set -f
IFS='
'

# applications prints ID NAME STATE FINAL of all that have a tag.
applications() {
	said=$(yarn application -list -appStates ALL 2>/dev/null) || { echo "yarn application -list: exit code $?" >&2 && exit 1; }
	printf '%s\n' "$said" | awk -F '\t' '
		{ for (i = 1; i <= NF; i++) { gsub(/^ +| +$/, "", $i) } }
		$1 ~ /^application_/ && $2 ~ /^bellhop-/ { print $1, $2, $6, $7 }'
}

# conf prints a value for the environment that YARN writes into a script, between double quotes: so it is read as it is.
# {{, }} and < would be YARN's, and Spark cuts blanks at both ends. A dot behind it keeps newlines there.
conf() {
	case $1 in
	[![:graph:]]* | *[![:graph:]]) set -- "$(quoted "$1")" && printf '""%s"".' "${1%.}" ;;
	*) set -- "$(quoted "$1")" && printf %s. "${1%.}" ;;
	esac
}
quoted() { printf '%s.' "$1" | sed 's/[\\"$`]/\\&/g; s/[{}<]/&""/g'; }

case $op in
submit)
	tag=$1 && shift
	# shellcheck disable=SC2086 # an option a line
	set -- $BELLHOP_OPTIONS "$@"
	for name in BELLHOP_JOB_ID BELLHOP_KEY BELLHOP_ATTEMPT BELLHOP_FENCE TRACEPARENT $BELLHOP_VARS; do
		case $name in
		BELLHOP_* | TRACEPARENT) from=$name ;;
		*) from=BELLHOP_VAR_$name ;;
		esac
		eval "value=\$(conf \"\$$from\")"
		value=${value%.}
		set -- --conf "spark.yarn.appMasterEnv.$name=$value" --conf "spark.executorEnv.$name=$value" "$@"
	done
	said=$(spark-submit --master yarn --deploy-mode cluster --name "$tag" --conf spark.yarn.submit.waitAppCompletion=false \
		--conf spark.yarn.maxAppAttempts=1 --conf spark.yarn.tags="$tag" "$@" 2>&1)
	code=$?
	if [ $code = 0 ]; then
		printf '%s\n' "$said" | grep -o 'application_[0-9]*_[0-9]*' | tail -n 1
		exit
	fi
	printf '%s\n' "$said" | tail -n 5 >&2
	case $said in
	*"Unrecognized option"* | *"Error: Missing application resource"* | *"does not exist"*) exit 65 ;;
	esac
	exit 1
	;;
find)
	known=$(applications) || exit 1
	{ printf '%s\n' "$known" && echo . && cat; } | awk '
		$1 == "." { asked = 1; next }
		!asked { of[$2] = $1; next }
		$1 in of { print $1, of[$1] }'
	;;
poll)
	known=$(applications) || exit 1
	{ printf '%s\n' "$known" && echo . && cat; } | awk '
		$1 == "." { asked = 1; next }
		!asked { state[$2] = $3; last[$2] = $4; next }
		!($1 in state) { next }
		{
			s = state[$1]
			if (s == "NEW" || s == "NEW_SAVING" || s == "SUBMITTED" || s == "ACCEPTED") print $1, "pending"
			else if (s == "RUNNING") print $1, "running"
			else if (s == "FINISHED" && last[$1] == "SUCCEEDED") print $1, "succeeded 0"
			else print $1, "failed 1", tolower(s == "FINISHED" ? last[$1] : s)
		}'
	;;
kill)
	# What has ended YARN forgets by itself.
	known=$(applications) || exit 1
	ids=$( { printf '%s\n' "$known" && echo . && cat; } | awk '
		$1 == "." { asked = 1; next }
		!asked { if ($3 !~ /^(FINISHED|FAILED|KILLED)$/) of[$2] = $1; next }
		$1 in of { print of[$1] }')
	for id in $ids; do
		yarn application -kill "$id" >/dev/null 2>&1 || exit 1
	done
	;;
logs)
	[ -n "$2" ] || exit 0
	yarn logs -applicationId "$2" 2>/dev/null
	;;
esac
