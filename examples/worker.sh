#!/bin/sh
# A worker in POSIX sh: refuses mail of the senders in a file, one address a line, and sends all other mail on.
#
#     [stage-deny]
#     PROGRAM = /usr/local/lib/pepsi/worker.sh "dbname=pepsi" /etc/pepsi/denied inbox
#
# The dispatcher runs it with "worker" behind these three arguments, or "-c FILE worker". It needs psql.
#
# A worker takes message ids on standard input, one a line, and answers each in turn with one line on standard output:
# 0 when it has written what becomes of the message, and another number from 1 to 255 when it has not, or when the
# message failed. 74 means that the database is away, 75 that it takes no further connection. The first line that it
# writes is "ready".

dsn=$1 denied=$2 next=$3
for last do :; done
if [ "$#" -lt 4 ] || [ "$last" != worker ]; then
    echo "usage: $0 DSN DENIED NEXT_STAGE worker" >&2
    exit 2
fi

# From here on only answer() reaches the dispatcher: whatever else is printed goes to its log.
exec 3>&1 1>&2
answer() { printf '%s\n' "$1" >&3; }

# The dispatcher knows its workers by this name. A commit that a crash of the server takes back is simply made again.
PGAPPNAME=pepsi-stage-${PEPSI_STAGE:?the dispatcher sets it} PGOPTIONS='-c synchronous_commit=off'
export PGAPPNAME PGOPTIONS

# Runs the SQL on standard input. What comes from outside is handed over as variables, and written :'name' in the SQL:
# so psql quotes it, and no text can end a string early.
sql() { psql -X -q -A -t -v ON_ERROR_STOP=1 "$@" -d "$dsn" 3>&- 2>"$errors"; }

# Which status says what went wrong with the last sql().
trouble() {
    cat "$errors" >&2
    case $(cat "$errors") in
        *'too many c'* | *'connection slots'*) echo 75 ;;
        *) echo 74 ;;
    esac
}

errors=$(mktemp) || exit 1
trap 'rm -f "$errors"' EXIT

# Asked to end: at once when there is nothing to do, else when the message in hand is answered.
busy='' stopping=''
trap 'stopping=yes; [ "$busy" ] || exit 0' TERM
trap '' INT

if ! echo 'SELECT 1 FROM pepsi.schema_release LIMIT 1' | sql >/dev/null; then
    [ "$(trouble)" = 75 ] && exit 75
    exit 1
fi
answer ready

handle() {
    # Nothing comes back for a row that is not running, or that another start of the dispatcher claimed.
    row=$(sql -v id="$1" -v epoch="$PEPSI_EPOCH" <<'SQL'
SELECT claim || ' ' || translate(mail_from, E'\r\n', '  ') FROM pepsi.workqueue_load(:'id', :'epoch');
SQL
    ) || { answer "$(trouble)"; return; }
    if [ -z "$row" ]; then
        echo "warning: message $1 is left alone: it is not ours"
        answer 0
        return
    fi
    claim=${row%% *} sender=${row#* }

    grep -F -x -i -q -e "$sender" -- "$denied"
    case $? in
        0)  status="65 sender is denied"
            hit=$(sql -v id="$1" -v claim="$claim" -v reason="denied: $sender" <<'SQL'
SELECT pepsi.workqueue_fail(:'id', :'claim', :'reason');
SQL
            ) ;;
        1)  status=0
            hit=$(sql -v id="$1" -v claim="$claim" -v stage="$next" <<'SQL'
SELECT pepsi.workqueue_advance(:'id', :'claim', :'stage');
SQL
            ) ;;
        *)  status=0
            hit=$(sql -v id="$1" -v claim="$claim" -v reason="cannot read $denied" <<'SQL'
SELECT pepsi.workqueue_pause(:'id', :'claim', 60, :'reason');
SQL
            ) ;;
    esac || { answer "$(trouble)"; return; }
    if [ "$hit" != t ]; then
        echo "warning: message $1 is no longer ours"
        status=0
    fi
    answer "$status"
}

# The dispatcher closes its end only when every id is answered. If it died with ids unread, they are not for us any
# more: the next dispatcher hands them out again.
while [ -z "$stopping" ] && read -r id; do
    kill -0 "$PPID" 2>/dev/null || exit 1
    case $id in
        '' | *[!0-9]*) echo "'$id' is not a message id"; exit 1 ;;
    esac
    busy=yes
    handle "$id"
    busy=''
done
exit 0
