// The flags of `cox kubelet` about the resources of the node.

import { type Command, InvalidArgumentError } from 'commander';
import { duration, list, yesOrNo } from './flags.ts';

export function withNodeResourceFlags(command: Command): Command {
  return command
    .option(
      '--eviction-hard <thresholds>',
      'evict pods at once below these: memory.available<500Mi,nodefs.available<10%',
      pairs('<'),
    )
    .option(
      '--eviction-soft <thresholds>',
      'evict pods below these after --eviction-soft-grace-period',
      pairs('<'),
    )
    .option(
      '--eviction-soft-grace-period <periods>',
      'how long soft thresholds must be met: memory.available=1m30s',
      pairs('='),
    )
    .option(
      '--eviction-minimum-reclaim <amounts>',
      'how much more than a threshold to free: imagefs.available=2Gi',
      pairs('='),
    )
    .option(
      '--eviction-max-pod-grace-period <seconds>',
      'maximum grace period of pods evicted for a soft threshold (default: 0)',
      wholeNumber,
    )
    .option(
      '--eviction-pressure-transition-period <duration>',
      'how long a pressure condition holds after its threshold was last met (default: 5m)',
      duration,
    )
    .option(
      '--local-storage-capacity-isolation [bool]',
      'evict pods above their limits of ephemeral storage (default: true)',
      yesOrNo,
    )
    .option(
      '--volume-stats-agg-period <duration>',
      'how long a measurement of a volume is valid (default: 1m)',
      duration,
    )
    .option(
      '--image-gc-high-threshold <percent>',
      'remove unused images when their disk is fuller than this (default: 85)',
      wholeNumber,
    )
    .option(
      '--image-gc-low-threshold <percent>',
      'remove unused images down to this (default: 80)',
      wholeNumber,
    )
    .option(
      '--minimum-image-ttl-duration <duration>',
      'keep younger images (default: 2m)',
      duration,
    )
    .option(
      '--image-credential-provider-config <file>',
      'a CredentialProviderConfig (v1) in YAML: plugins with credentials for images',
    )
    .option(
      '--image-credential-provider-bin-dir <dir>',
      'programs of the plugins of --image-credential-provider-config',
    )
    .option(
      '--serialize-image-pulls [bool]',
      'pull one image at a time (default: any number)',
      yesOrNo,
    )
    .option(
      '--registry-qps <number>',
      'image pulls per second; 0: no limit (default: 5, no limit on simulated nodes)',
      wholeNumber,
    )
    .option('--registry-burst <number>', 'image pulls in a burst (default: 10)', wholeNumber)
    .option('--kube-reserved <amounts>', 'resources for the kubelet: cpu=100m', pairs('='))
    .option(
      '--system-reserved <amounts>',
      'resources for the rest of the system: cpu=100m,memory=500Mi',
      pairs('='),
    )
    .option(
      '--enforce-node-allocatable <names>',
      'what is limited to its share: pods or none (default: pods)',
      list,
    )
    .option(
      '--cgroup-root <path>',
      "cgroup below which pods get cgroups of their own: / or /NAME (default: the runtime's choice)",
    )
    .option(
      '--pod-max-pids <number>',
      'maximum number of processes of a pod; -1: no limit; needs --cgroup-root (default: -1)',
      processLimit,
    )
    .option(
      '--cpu-manager-policy <policy>',
      'none, or static: whole CPUs of Guaranteed pods are their own (default: none)',
    )
    .option(
      '--cpu-manager-policy-options <options>',
      'options of the policy static: full-pcpus-only=true',
      pairs('='),
    )
    .option(
      '--cpu-manager-reconcile-period <duration>',
      'time between two checks of the CPUs of running containers (default: 10s)',
      duration,
    )
    .option(
      '--reserved-cpus <cpus>',
      'CPUs that no container has for itself: 0-1,8; instead of the amounts of --kube-reserved ' +
        'and --system-reserved',
    )
    .option(
      '--memory-manager-policy <policy>',
      'None, or Static: memory of Guaranteed pods is on few NUMA nodes (default: None)',
    )
    .option(
      '--reserved-memory <amounts>',
      'memory of NUMA nodes that containers do not get: 0:memory=1Gi,hugepages-2Mi=1Gi',
      reservedMemory,
    )
    .option(
      '--topology-manager-policy <policy>',
      'none, best-effort, restricted or single-numa-node: how CPUs, memory and devices are aligned ' +
        '(default: none)',
    )
    .option(
      '--topology-manager-scope <scope>',
      'what is aligned: container or pod (default: container)',
    )
    .option(
      '--topology-manager-policy-options <options>',
      'options of the policy: prefer-closest-numa-nodes=true',
      pairs('='),
    )
    .option(
      '--allowed-unsafe-sysctls <names>',
      "kernel parameters that pods may set; may end in '*': kernel.msg*",
      list,
    )
    .option(
      '--seccomp-default [bool]',
      "containers whose pod asks for no seccomp profile get the runtime's (default: false)",
      yesOrNo,
    )
    .option('--container-log-max-size <size>', 'size at which logs are rotated (default: 10Mi)')
    .option(
      '--container-log-max-files <number>',
      'number of log files of a container (default: 5)',
      wholeNumber,
    )
    .option(
      '--file-check-frequency <duration>',
      'time between two reads of --pod-manifest-path (default: 20s)',
      duration,
    )
    .option('--manifest-url <url>', 'manifests of further pods that run here without the API')
    .option(
      '--manifest-url-header <headers>',
      'headers of the requests to --manifest-url: Authorization:Bearer abc,X-Node:worker-1',
      headers,
    )
    .option(
      '--http-check-frequency <duration>',
      'time between two requests to --manifest-url (default: 20s)',
      duration,
    )
    .option('--event-qps <number>', 'events per second; 0: no limit (default: 50)', wholeNumber)
    .option('--event-burst <number>', 'events in a burst (default: 100)', wholeNumber)
    .option(
      '--node-status-update-frequency <duration>',
      'time between two checks of the status of the node (default: 10s)',
      duration,
    )
    .option('--resolv-conf <file>', "the node's resolv.conf (default: /etc/resolv.conf)");
}

function processLimit(text: string): number {
  return text === '-1' ? -1 : wholeNumber(text);
}

function wholeNumber(text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw new InvalidArgumentError('a whole number, 0 or more.');
  return Number(text);
}

/** Parses 'name<value,…' or 'name=value,…', and adds the pairs to those of earlier flags. */
const pairs =
  (separator: string) =>
  (
    text: string,
    before: Readonly<Record<string, string>> = {},
  ): Readonly<Record<string, string>> => {
    const entries = list(text).map((item): readonly [string, string] => {
      const sign = item.indexOf(separator);
      if (sign < 1)
        throw new InvalidArgumentError(`pairs are such as name${separator}value, not ${item}.`);
      return [item.slice(0, sign).trim(), item.slice(sign + 1).trim()];
    });
    return { ...before, ...Object.fromEntries(entries) };
  };

/** Parses 'name:value,…' and adds the values to those of earlier flags. */
export const headers = (
  text: string,
  before: Readonly<Record<string, readonly string[]>> = {},
): Readonly<Record<string, readonly string[]>> => {
  const all: Record<string, readonly string[]> = { ...before };
  for (const pair of list(text)) {
    const colon = pair.indexOf(':');
    // The text may be secret: the error does not show it.
    if (colon < 0) throw new InvalidArgumentError('malformed pair, expect string:string.');
    const name = pair.slice(0, colon).trim();
    all[name] = [...(all[name] ?? []), pair.slice(colon + 1).trim()];
  }
  return all;
};

interface MemoryReservation {
  readonly numaNode: number;
  readonly limits: Readonly<Record<string, string>>;
}

/** Parses '0:memory=1Gi,hugepages-2Mi=1Gi;1:memory=2Gi', and adds to what earlier flags have. */
export const reservedMemory = (
  text: string,
  before: readonly MemoryReservation[] = [],
): readonly MemoryReservation[] => [
  ...before,
  ...text.split(';').map((item) => {
    const match = /^(\d{1,5}):(.+)$/.exec(item.trim());
    if (match === null)
      throw new InvalidArgumentError(`reservations are such as 0:memory=1Gi, not ${item}.`);
    return { numaNode: Number(match[1]), limits: pairs('=')(match[2] ?? '') };
  }),
];

/** Parses 'memory.available<500Mi,nodefs.available<5%'. */
export const thresholds = pairs('<');
