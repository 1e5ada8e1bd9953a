// Files that pods may replace are opened with machinery/files/ only: opening a FIFO or a device
// blocks a thread of libuv's pool, or the event loop. Reads the source as text: this is quick, and
// the message names a solution.
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const source = join(dirname(dirname(fileURLToPath(import.meta.url))), 'src');

/** Functions that open the target of a path. */
const OPENING = new RegExp(
  [
    /\b(?:open|read|write|append)(?:File)?(?:Sync)?\b/,
    /\b(?:cp|copyFile|createReadStream|createWriteStream|truncate)(?:Sync)?\b/,
  ]
    .map(({ source }) => source)
    .join('|'),
);
const IMPORT = /import (?:type )?\{([^}]*)\} from 'node:fs(?:\/promises)?';/g;

/** Files that open a file by themselves, each with the reason why that is safe. */
const ALLOWED: Readonly<Record<string, string>> = {
  'kubelet/node/apparmor-enabled.ts': 'reads /sys',
  'kubelet/node/kernel-log.ts': 'reads /dev/kmsg',
  'kubelet/checkpoints/checkpoint-file.ts': 'makes a new file only (wx), and opens its directory',
  'kubelet/certificates/pair-store.ts': 'reads files of an administrator, in a directory of root',
  'kubelet/node/linux-cgroups.ts': 'reads /proc and /sys/fs/cgroup',
  'kubelet/node/linux-system.ts': 'reads /proc',
  'kubelet/node/linux-topology-files.ts': 'reads /sys',
  'kubelet/node/process-files.ts': 'reads /proc',
  'kubelet/node/swap-facts.ts': 'reads /proc',
  'kubelet/node/system-containers.ts': 'reads /proc',
  'kubelet/shutdown/logind.ts': 'writes the configuration of logind, in a directory of root',
  'kubelet/node/machine.ts': 'reads /proc and the machine’s own files',
  'kubelet/node/node-details.ts': 'reads /proc',
  'kubelet/node/writable-cgroups.ts': 'reads and writes cgroups, which the kernel has made',
  'kubelet/node/node-usage.ts': 'reads /proc',
  'kubelet/volumes/atomic-writer.ts':
    'makes new files only (wx), in a directory that it has just made',
  'kubelet/volumes/csi/volume-data.ts': 'makes a new file only (wx)',
  'kubelet/volumes/host-path.ts': 'creates with O_NONBLOCK, bounded',
  'kubelet/volumes/iscsi/iscsi-volumes.ts': 'reads its own records, in directories of root',
  'kubelet/volumes/iscsi/system.ts': 'reads and writes /sys',
  'kubelet/volumes/mounter.ts': 'reads /proc',
  'kubelet/volumes/mounts.ts': 'makes new files only (wx)',
  'kubelet/volumes/subpath.ts': 'makes a new file only (wx)',
  'runtime/containerd/host.ts': 'reads /proc and /sys',
  'runtime/containerd/launch.ts':
    'the configuration and log of our own containerd, in its own directory',
  'runtime/containerd/reset.ts': 'reads /proc',
  'runtime/host-processes.ts': 'reads /proc',
  'runtime/process-identity.ts': 'reads /proc',
  'runtime/images/image-store.ts': 'reads its own index, in a directory of root',
  'runtime/images/registry-client.ts': 'makes a new file only (wx)',
  'runtime/images/unpack.ts': 'reads the file that registry-client.ts has just made',
  'runtime/process/isolation/cgroups.ts': 'reads and writes cgroups, which the kernel has made',
  'runtime/process/isolation/network.ts': 'writes /proc/sys',
  'runtime/process/isolation/pod-files.ts':
    'reads /etc/resolv.conf of the host, and makes files in a directory of root',
  'runtime/process/isolation/pods.ts': 'reads /proc',
  'runtime/process/isolation/readings.ts': 'reads /proc',
  'runtime/process/isolation/reset.ts': 'reads /proc',
  'runtime/process/log-writer.ts': 'opens with O_NONBLOCK and O_NOFOLLOW, and checks the type',
  'runtime/process/stats.ts': 'reads /proc',
  'runtime/process/supervisor.ts': 'makes a new file only (wx)',
  'runtime/toolbox.ts': 'copies programs of the host into a directory of root',
  'runtime/simulated/container.ts': 'the pods are simulated: nothing of theirs runs',
  'runtime/simulated/journal.ts': 'the pods are simulated: nothing of theirs runs',
  'runtime/simulated/journal-file.ts': 'the same',
};

const opening = ['kubelet', 'runtime']
  .flatMap((layer) =>
    readdirSync(join(source, layer), { recursive: true, encoding: 'utf8' }).map(
      (file) => `${layer}/${file}`,
    ),
  )
  .filter((file) => file.endsWith('.ts') && !/test\.ts$|\/testing\//.test(file))
  .filter((file) =>
    [...readFileSync(join(source, file), 'utf8').matchAll(IMPORT)].some(([, names = '']) =>
      OPENING.test(names.replaceAll(/type \w+/g, '')),
    ),
  );

test('kubelet and runtimes open files of pods with machinery/files/', () => {
  const others = opening.filter((file) => !Object.hasOwn(ALLOWED, file));
  expect(
    others,
    'use machinery/files/untrusted.ts, or say in ALLOWED why no pod can put another file there',
  ).toEqual([]);
});

test('the list of exceptions has no superfluous entries', () => {
  expect(Object.keys(ALLOWED).filter((file) => !opening.includes(file))).toEqual([]);
});
