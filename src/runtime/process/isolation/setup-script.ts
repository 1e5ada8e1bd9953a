// The script that makes a container around itself and then becomes the container's program. It runs
// in the namespaces that are the container's own. What to do comes as arguments, step by step, from
// plan.ts: no argument is ever read as a part of the script.
//
// File descriptor 4 reports to the runtime: the text of an error, or the line "ok" right before the
// program begins.

/** The place of the toolbox in a container. */
export const TOOLS = '/.coxswain';

/**
 * $1 is the container's directory, $2 the toolbox, $3 the loader's name, $4 the mount point of the
 * root directory; steps follow.
 */
export const SETUP = `
set -eu
exec 5>&2 2>&4
dir=$1; tools=$2; loader=$3; root=$4; shift 4
read -r supervisor < "$dir/pids"
tool() { name=$1; shift; "$tools/lib/$loader" --library-path "$tools/lib" "$tools/bin/$name" "$@"; }
# This shell's pid outside: its own pid namespace has no /proc yet.
read -r pid rest < /proc/self/stat
printf '%s\\n%s\\n' "$supervisor" "$pid" > "$dir/pids.tmp"
tool mv -- "$dir/pids.tmp" "$dir/pids"
old=
# Creates the mount point $1 for the file or directory $2.
point() {
  [ -e "$1" ] && return
  if [ -d "$2" ]; then tool mkdir -p -- "$1"; return; fi
  [ -d "\${1%/*}/" ] || tool mkdir -p -- "\${1%/*}/"
  : > "$1"
}
while [ $# -gt 0 ]; do
  case $1 in
    write) printf '%s' "$3" > "$2"; shift 3 ;;
    propagate) tool mount "--make-$2" "$3"; shift 3 ;;
    overlay) tool mount -t overlay -o "$2" overlay "$root"; shift 2 ;;
    enter)
      # The toolbox goes with the container: its programs run there from now on.
      tool mkdir -p -- "$root${TOOLS}" "$root/$2"
      tool mount --bind "$tools" "$root${TOOLS}"
      tool mount -o remount,bind,ro,nosuid,nodev "$root${TOOLS}"
      cd "$root"
      "$3" . "./$2"
      cd /
      old=/$2
      tools=${TOOLS}
      shift 3 ;;
    mount)
      [ -d "$4" ] || tool mkdir -p -- "$4"
      tool mount -t "$2" -o "$3" "$2" "$4"
      shift 4 ;;
    bind) point "$3" "$old$2"; tool mount --rbind -- "$old$2" "$3"; shift 3 ;;
    # A path that the image may not have.
    bind-existing) if [ -e "$3" ]; then tool mount --rbind -- "$old$2" "$3"; fi; shift 3 ;;
    readonly-existing)
      if [ -e "$2" ]; then
        tool mount --rbind -- "$2" "$2"
        tool mount -o remount,bind,ro "$2"
      fi
      shift 2 ;;
    mask)
      if [ -d "$2" ]; then tool mount -t tmpfs -o ro,size=0k tmpfs "$2"
      elif [ -e "$2" ]; then tool mount --bind "$old/dev/null" "$2"
      fi
      shift 2 ;;
    remount) tool mount -o "remount,bind,$2" "$3"; shift 3 ;;
    # Every mount below the path $3, too. The kernel writes blanks in paths as \\040.
    remount-below)
      while read -r id parent device root_of at rest; do
        at=$(printf '%b.' "$at")
        at=\${at%.}
        case $at in "$3"/*) tool mount -o "remount,bind,$2" "$at" ;; esac
      done < /proc/self/mountinfo
      shift 3 ;;
    link) tool ln -sfn -- "$2" "$3"; shift 3 ;;
    directory) tool mkdir -p -- "$2"; shift 2 ;;
    leave)
      tool mount --make-rslave "$old"
      tool umount -l "$old"
      tool rm -d -f -- "$old"
      old=
      shift 1 ;;
    readonly-root) tool mount -o remount,bind,ro /; shift 1 ;;
    program)
      # The file that runs is the one that the container's PATH finds.
      if ! (PATH=$2; command -v -- "$3" > /dev/null); then
        echo "exec: \\"$3\\": executable file not found in \\$PATH" >&4
        exit 127
      fi
      shift 3 ;;
    exec)
      shift
      echo ok >&4
      exec 2>&5 4>&- 5>&-
      exec "$@" ;;
    *) echo "unknown step $1" >&4; exit 125 ;;
  esac
done
echo "the steps do not end with exec" >&4
exit 125
`;

/**
 * $1 is the working directory, $2 the toolbox, $3 the loader's name, the rest the command. Runs as
 * the container's user, in its root; file descriptor 3 is the environment file.
 */
export const BECOME = `
cd -- "$1" || exit 126
tools=$2; loader=$3; shift 3
. /proc/self/fd/3
exec 3<&-
exec "$tools/lib/$loader" --library-path "$tools/lib" "$tools/bin/env" -i -- "$@"
`;
