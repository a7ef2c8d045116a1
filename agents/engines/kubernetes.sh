# Kubernetes: a Job's name is its tag. Options: --image=IMAGE, --namespace=NAME, --cpu=N, --memory=N, --service-account=NAME.
# One pod, tried once: another attempt is bellhop's to make. Needs kubectl.
op=$1 && shift

image='' namespace='' cpu='' memory='' account=''
set -f
IFS='
'
for option in $BELLHOP_OPTIONS; do
	case $option in
	--image=*) image=${option#*=} ;;
	--namespace=*) namespace=${option#*=} ;;
	--cpu=*) cpu=${option#*=} ;;
	--memory=*) memory=${option#*=} ;;
	--service-account=*) account=${option#*=} ;;
	*) echo "there is no option $option: --image, --namespace, --cpu, --memory, --service-account" >&2 && exit 65 ;;
	esac
done

kube() { kubectl ${namespace:+--namespace="$namespace"} "$@"; }

# json prints a text as JSON has it.
json() {
	printf '%s\001.' "$1" | awk 'BEGIN { RS = "\001"; ORS = "" } {
		if (NR > 1) s = s (NR > 2 ? "\\u0001" : "") last
		gsub(/\\/, "&&"); gsub(/"/, "\\\""); gsub(/\n/, "\\n"); gsub(/\t/, "\\t"); gsub(/\r/, "\\r")
		for (i = 2; i < 32; i++) if (i != 9 && i != 10 && i != 13) gsub(sprintf("%c", i), sprintf("\\u%04x", i))
		last = $0
	} END { print "\"" s "\"" }'
}

# plain is json where Kubernetes would put variables in for $(NAME), and $ for $$.
plain() { json "$1" | sed 's/\$/$$/g'; }

# jobs prints NAME UID ACTIVE SUCCEEDED FAILED of all that have a tag.
jobs() {
	kube get jobs --selector=bellhop=job --ignore-not-found \
		--output='go-template={{range .items}}{{.metadata.name}} {{.metadata.uid}} {{or .status.active 0}} {{or .status.succeeded 0}} {{or .status.failed 0}}{{"\n"}}{{end}}'
}

case $op in
submit)
	tag=$1 && shift
	[ -n "$image" ] || { echo "options name no image: options: [--image=debian:bookworm]" >&2 && exit 65; }
	command='' comma=''
	for word; do
		command=$command$comma$(plain "$word") comma=', '
	done
	limits='' comma=''
	[ -n "$cpu" ] && limits="\"cpu\": $(json "$cpu")" comma=', '
	[ -n "$memory" ] && limits="$limits$comma\"memory\": $(json "$memory")"
	env='' comma=''
	give() { # NAME VALUE
		env="$env$comma{\"name\": \"$1\", \"value\": $(plain "$2")}" comma=', '
	}
	for name in BELLHOP_JOB_ID BELLHOP_KEY BELLHOP_ATTEMPT BELLHOP_FENCE TRACEPARENT; do eval "give $name \"\$$name\""; done
	for name in $BELLHOP_VARS; do eval "give $name \"\$BELLHOP_VAR_$name\""; done # a name has letters, digits and _
	said=$(kube create --filename=- --output=name 2>&1 <<JOB
{"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "$tag", "labels": {"bellhop": "job"}},
 "spec": {"backoffLimit": 0, "completions": 1, "parallelism": 1, "template": {"metadata": {"labels": {"bellhop": "job"}}, "spec": {
  "restartPolicy": "Never", ${account:+"\"serviceAccountName\": $(json "$account"), "}"containers": [{"name": "job", "image": $(json "$image"),
  "command": [$command], "env": [$env], "resources": {"limits": {$limits}}}]}}}}
JOB
	)
	code=$?
	[ $code = 0 ] && echo "$tag" && exit
	printf '%s\n' "$said" >&2
	case $said in
	*AlreadyExists* | *"already exists"*) exit 1 ;; # by a call before this one: find tells
	*"is invalid"* | *Forbidden* | *"error validating"* | *"namespaces "*"not found"*) exit 65 ;;
	esac
	exit 1
	;;
find)
	known=$(jobs) || exit 1
	{ printf '%s\n' "$known" && echo . && cat; } | awk '
		$1 == "." { asked = 1; next }
		!asked { of[$1] = 1; next }
		$1 in of { print $1, $1 }'
	;;
poll)
	known=$(jobs) || exit 1
	# Of pods: NAME-OF-JOB PHASE EXIT REASON
	pods=$(kube get pods --selector=bellhop=job --ignore-not-found \
		--output='go-template={{range .items}}{{index .metadata.labels "job-name"}} {{.status.phase}} {{range .status.containerStatuses}}{{with .state.terminated}}{{.exitCode}} {{.reason}}{{end}}{{with .state.waiting}}- {{.reason}}{{end}}{{end}}{{"\n"}}{{end}}') || exit 1
	{ printf '%s\n' "$pods" && echo . && printf '%s\n' "$known" && echo . && cat; } | awk '
		$1 == "." { part++; next }
		part == 0 { phase[$1] = $2; code[$1] = $3; why[$1] = $4; next }
		part == 1 { active[$1] = $3; ok[$1] = $4; bad[$1] = $5; next }
		!($1 in active) { next }
		{
			if (ok[$1] > 0) print $1, "succeeded 0"
			else if (bad[$1] > 0) print $1, "failed", (code[$1] > 0 ? code[$1] : 1), why[$1]
			else if (phase[$1] == "Running") print $1, "running"
			else print $1, "pending", why[$1]
		}'
	;;
kill)
	tags=$(awk '$1 ~ /^bellhop-/ { print $1 }')
	[ -n "$tags" ] || exit 0
	if [ -n "$BELLHOP_OVER" ]; then # shellcheck disable=SC2086
		kube delete jobs --ignore-not-found --wait=false --cascade=background $tags >/dev/null
	else # its pods die, and it is there as one that failed
		failed=0 # one that is gone, or cannot be patched, keeps no other alive
		for tag in $tags; do
			said=$(kube patch job "$tag" --patch '{"spec": {"activeDeadlineSeconds": 1}}' 2>&1) && continue
			case $said in *"(NotFound)"*) ;; *) printf '%s\n' "$said" >&2 && failed=1 ;; esac
		done
		exit $failed
	fi
	;;
logs)
	kube logs --selector="job-name=$1" --tail=10000
	;;
esac
