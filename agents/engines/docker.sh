# Docker: a container's name is its tag, and there is one of a name at the most. The options are those of `docker run`,
# the image is the last of them. A container that has ended stays until its job's outcome is written.
# A job's var may have nearly any name but BELLHOP_…: so has what is set before docker run.
BELLHOP_OP=$1 && shift
IFS='
'
set -f

# containers prints NAME ID STATUS of all that have a tag.
containers() {
	docker ps --all --no-trunc --filter label=bellhop --format '{{.Names}} {{.ID}} {{.State}}' || exit 1
}

case $BELLHOP_OP in
submit)
	BELLHOP_TAG=$1 && shift
	# By name alone: a value on the command line is seen by all on this machine.
	# shellcheck disable=SC2046,SC2086 # an option a line
	said=$(docker run --detach --name "$BELLHOP_TAG" --label bellhop \
		--env BELLHOP_JOB_ID --env BELLHOP_KEY --env BELLHOP_ATTEMPT --env BELLHOP_FENCE --env TRACEPARENT \
		$(printf '%s\n' "$BELLHOP_VARS" | sed -n 's/^./--env=&/p') $BELLHOP_OPTIONS "$@" 2>&1)
	code=$?
	printf '%s\n' "$said" | tail -n 1
	[ $code = 0 ] && exit
	printf '%s\n' "$said" >&2
	# One that could not be started is there, and will never run.
	if [ "$(docker inspect --format '{{.State.Status}}' "$BELLHOP_TAG" 2>/dev/null)" = created ]; then docker rm --force "$BELLHOP_TAG" >/dev/null 2>&1; fi
	case $code in 126 | 127) exit 65 ;; esac # the image has no such command
	case $said in
	*"unknown flag"* | *"invalid reference format"*) exit 65 ;;
	*"manifest unknown"* | *"pull access denied"*) exit 65 ;; # the registry has no such image for us
	esac
	exit 1
	;;
find)
	known=$(containers) || exit 1
	{ printf '%s\n' "$known" && echo . && cat; } | awk '
		$1 == "." { asked = 1; next }
		!asked { of[$1] = $2; state[$1] = $3; next }
		$1 in of { print $1, of[$1], state[$1] }' | while IFS=' ' read -r tag id state; do
		# Whoever made it died before it was started.
		if [ "$state" = created ]; then docker start "$id" >/dev/null || exit 1; fi
		echo "$tag $id"
	done
	;;
poll)
	known=$(containers) || exit 1
	ended=$(printf '%s\n' "$known" | awk '$3 == "exited" || $3 == "dead" { print $2 }')
	codes=
	if [ -n "$ended" ]; then # shellcheck disable=SC2086 # one that is removed meanwhile is left out
		codes=$(docker inspect --format '{{.Id}} {{.State.ExitCode}} {{.State.OOMKilled}}' $ended 2>/dev/null)
	fi
	{ printf '%s\n' "$codes" && echo . && printf '%s\n' "$known" && echo . && cat; } | awk '
		$1 == "." { part++; next }
		part == 0 { code[$1] = $2; oom[$1] = $3; next }
		part == 1 { id[$1] = $2; state[$1] = $3; next }
		!($1 in state) { next }
		{
			s = state[$1]; i = id[$1]
			if (s == "created" || s == "restarting") print $1, "pending"
			else if (s == "running" || s == "paused" || s == "removing") print $1, "running"
			else if (!(i in code)) print $1, "running"
			else if (code[i] == 0) print $1, "succeeded 0"
			else print $1, "failed", code[i], (oom[i] == "true" ? "out of memory" : "")
		}'
	;;
kill)
	tags=$(awk '{ print $1 }')
	[ -n "$tags" ] || exit 0
	if [ -n "$BELLHOP_OVER" ]; then
		# shellcheck disable=SC2086
		docker rm --force --volumes $tags >/dev/null 2>"${TMPDIR:-/tmp}/bellhop.$$"
	else
		docker kill $tags >/dev/null 2>"${TMPDIR:-/tmp}/bellhop.$$"
	fi
	said=$(grep -v -i -e 'no such container' -e 'is not running' "${TMPDIR:-/tmp}/bellhop.$$")
	rm -f "${TMPDIR:-/tmp}/bellhop.$$"
	[ -z "$said" ] || { printf '%s\n' "$said" >&2 && exit 1; }
	;;
logs)
	docker logs "$1" 2>&1
	;;
esac
