#!/bin/sh
# Runs a command in a room: namespaces of its own for mounts, processes, network, host name, IPC and cgroups, with an
# overlay over the machine's files as its root. What the command changes is gone afterwards; only the directory OUT is shared.
#
#   room.sh OUT COMMAND [ARGUMENT…]
#
# OUT is /out in the room, where the command starts in the directory of this process.
#
# The command is root, but cannot open block devices, load modules, set the time or reboot, and finds none of the
# machine's processes, sockets or networks. Needs root, overlayfs and util-linux.
set -eu

if [ "${1-}" != --inside ]; then
  out=$(realpath "$1")
  shift
  room=$(mktemp -d /tmp/critest-room.XXXXXX)
  cgroups=
  for dir in /sys/fs/cgroup/*/ /sys/fs/cgroup/; do
    # A hierarchy's root has cgroup.procs; with cgroup v2 alone, that is /sys/fs/cgroup itself.
    [ -e "$dir/cgroup.procs" ] && [ -w "$dir/cgroup.procs" ] || continue
    case $dir in */unified/) continue ;; esac
    mountpoint -q "$dir" || continue
    group=$dir$(basename "$room")
    mkdir "$group"
    for file in cpuset.cpus cpuset.mems; do
      [ -e "$group/$file" ] && cat "$dir$file" >"$group/$file"
    done
    # No block device of the machine can be opened, whatever the command makes with mknod.
    [ -e "$group/devices.deny" ] && echo 'b *:* rwm' >"$group/devices.deny"
    echo $$ >"$group/cgroup.procs"
    cgroups="$cgroups $group"
  done
  code=0
  unshare --mount --pid --fork --kill-child --net --uts --ipc --cgroup --propagation private -- \
    setpriv --bounding-set=-sys_module,-sys_rawio,-sys_boot,-sys_time,-syslog,-mac_admin,-mac_override,-wake_alarm -- \
    "$0" --inside "$room" "$out" "$@" || code=$?
  for group in $cgroups; do
    echo $$ >"$(dirname "$group")/cgroup.procs"
    find "$group" -depth -type d -exec rmdir {} \; || true
  done
  rmdir "$room" || true
  exit $code
fi

room=$2
out=$3
shift 3
directory=$PWD
mount -t tmpfs -o mode=755,size=8g room "$room"
mkdir "$room/upper" "$room/work" "$room/root"
mount -t overlay -o "lowerdir=/,upperdir=$room/upper,workdir=$room/work" overlay "$room/root"
root=$room/root
mount -t proc -o nosuid,nodev,noexec proc "$root/proc"
mount -t sysfs -o ro,nosuid,nodev,noexec sysfs "$root/sys"
mount -t tmpfs -o mode=755 tmpfs "$root/sys/fs/cgroup"
for dir in /sys/fs/cgroup/*/; do
  name=$(basename "$dir")
  mountpoint -q "$dir" && [ "$name" != unified ] || continue
  mkdir "$root/sys/fs/cgroup/$name"
  options=$name
  [ "$name" = systemd ] && options=none,name=systemd
  mount -t cgroup -o "$options" cgroup "$root/sys/fs/cgroup/$name" || rmdir "$root/sys/fs/cgroup/$name"
done
if [ -e /sys/fs/cgroup/cgroup.controllers ]; then
  mount -t cgroup2 cgroup2 "$root/sys/fs/cgroup"
  # A group whose processes are in it cannot have groups with limits.
  mkdir "$root/sys/fs/cgroup/init"
  while read -r pid; do
    echo "$pid" >"$root/sys/fs/cgroup/init/cgroup.procs" || true
  done <"$root/sys/fs/cgroup/cgroup.procs"
fi
mount -t tmpfs -o mode=755,nosuid tmpfs "$root/dev"
for device in null zero full random urandom tty net/tun fuse; do
  [ -e "/dev/$device" ] || continue
  mkdir -p "$(dirname "$root/dev/$device")"
  : >"$root/dev/$device"
  mount --bind "/dev/$device" "$root/dev/$device"
done
mkdir "$root/dev/pts" "$root/dev/shm" "$root/dev/mqueue"
mount -t devpts -o newinstance,ptmxmode=0666,mode=620 devpts "$root/dev/pts"
ln -s pts/ptmx "$root/dev/ptmx"
for link in 'fd /proc/self/fd' 'stdin /proc/self/fd/0' 'stdout /proc/self/fd/1' 'stderr /proc/self/fd/2'; do
  ln -s "${link#* }" "$root/dev/${link% *}"
done
mount -t tmpfs -o mode=1777 tmpfs "$root/dev/shm"
mount -t mqueue mqueue "$root/dev/mqueue"
for dir in tmp run var/tmp; do
  mount -t tmpfs -o mode=1777 tmpfs "$root/$dir"
done
mkdir -p "$root/var/lib/critest" "$root/out"
# An overlay cannot be the upper layer of another one, so images and containers are on a file system of their own.
mount -t tmpfs -o mode=755,size=8g tmpfs "$root/var/lib/critest"
mount --bind "$out" "$root/out"
hostname critest
ip link set lo up
mkdir "$root/old"
cd "$root"
pivot_root . old
umount -l /old
rmdir /old
cd "$directory"
# This shell is process 1: it reaps what the command leaves.
code=0
"$@" &
wait $! || code=$?
exit $code
