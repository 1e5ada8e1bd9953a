// /metrics/cadvisor: cAdvisor's families, with cAdvisor's names and labels. Common values come from
// the container runtime (CRI), and so exist for simulated pods, too; others come from cgroups.

import { sampleText, type Sample } from '#machinery/metrics/instruments.ts';
import { amountOf } from '../pod/resources.ts';
import type { NodeUsage } from '../node/node-usage.ts';
import type { ContainerUsage, MemorySample, PodUsage, Usage } from '../node/usage.ts';
import type { Container, Pod } from '../types.ts';
import type { ContainerCgroup } from '../cgroups/reader.ts';
import type { Descriptors } from '../cgroups/descriptors.ts';
import type { CgroupStats } from '../cgroups/types.ts';
import { CGROUP_FAMILIES, DEVICE_FAMILIES } from './cadvisor-cgroups.ts';

const LABELS = ['container', 'id', 'image', 'name', 'namespace', 'pod'];
/** The period of CPU quotas, in microseconds. */
const CPU_PERIOD = 100_000;
/** The CPU shares of one core. */
const CPU_SHARES = 1024;

export interface CadvisorInput {
  /** Undefined if it could not be read: the text then has only the metrics of the machine. */
  readonly usage: Usage | undefined;
  readonly pods: readonly Pod[];
  /** By the ID of a container or sandbox. Default: none. */
  readonly cgroups?: ReadonlyMap<string, ContainerCgroup>;
  /** The names of block devices by 'MAJOR:MINOR'. */
  readonly deviceNames?: ReadonlyMap<string, string>;
  readonly podUid: (pod: Pod) => string;
  readonly machine: {
    readonly cpuCores: number;
    readonly memoryBytes: number;
    readonly machineID: string;
    readonly systemUUID: string;
    readonly bootID: string;
    readonly kernelVersion: string;
    readonly osVersion: string;
  };
  /** The wall-clock time in milliseconds. */
  readonly now: number;
}

/**
 * A cgroup with statistics: of a container, of a whole pod (the label container is empty then), or
 * of the machine (the id is '/').
 */
interface Group {
  readonly labels: readonly string[];
  readonly usage: Pick<ContainerUsage, 'cpu' | 'memory' | 'writableLayer' | 'startedAt' | 'swap'>;
  readonly processCount?: number;
  readonly spec: Container | undefined;
  readonly cgroup?: CgroupStats;
  readonly descriptors?: Descriptors;
}

export function cadvisorMetrics(input: CadvisorInput): string {
  const { usage, pods, podUid, machine, now, cgroups = new Map(), deviceNames = new Map() } = input;
  const specs = new Map(pods.map((pod) => [podUid(pod), pod]));
  const { node, pods: podUsages = [] } = usage ?? {};
  const groups = [
    ...machineGroup(node),
    ...podUsages.flatMap((pod) => groupsOf(pod, specs.get(pod.uid), cgroups)),
  ];
  const families: string[] = [];
  const family = (
    type: 'counter' | 'gauge',
    name: string,
    help: string,
    labels: readonly string[],
    samples: readonly Sample[],
  ): void => {
    if (samples.length > 0) families.push(sampleText({ name, help, labels }, type, samples));
  };
  const perGroup = (
    type: 'counter' | 'gauge',
    name: string,
    help: string,
    value: (group: Group) => number | undefined,
    time: (group: Group) => number | undefined = () => undefined,
  ): void => {
    const samples = groups.flatMap((group): Sample[] => {
      const found = value(group);
      return found === undefined ? [] : [[group.labels, found, time(group)]];
    });
    family(type, name, help, LABELS, samples);
  };
  const memoryTime = ({ usage: { memory } }: Group): number | undefined => memory?.time;

  family(
    'gauge',
    'cadvisor_version_info',
    'A constant 1 with the versions of kernel and operating system as labels.',
    ['cadvisorRevision', 'cadvisorVersion', 'dockerVersion', 'kernelVersion', 'osVersion'],
    [[['', '', '', machine.kernelVersion, machine.osVersion], 1]],
  );
  family(
    'counter',
    'container_cpu_usage_seconds_total',
    'CPU time that was used, in core-seconds.',
    [...LABELS, 'cpu'],
    groups.flatMap(({ labels, usage: { cpu } }): Sample[] =>
      cpu?.coreNanoseconds === undefined
        ? []
        : [[[...labels, 'total'], cpu.coreNanoseconds / 1e9, cpu.time]],
    ),
  );
  family(
    'gauge',
    'container_fs_usage_bytes',
    'Bytes of the writable layer.',
    [...LABELS, 'device'],
    groups.flatMap(({ labels, usage: { writableLayer } }): Sample[] =>
      writableLayer?.usedBytes === undefined
        ? []
        : [
            [
              [...labels, writableLayer.fsId?.mountpoint ?? ''],
              writableLayer.usedBytes.value,
              writableLayer.timestamp / 1e6,
            ],
          ],
    ),
  );
  perGroup(
    'gauge',
    'container_last_seen',
    'When the container was last seen, in seconds since the Unix epoch.',
    () => now / 1000,
  );
  family(
    'counter',
    'container_memory_failures_total',
    'Page faults.',
    [...LABELS, 'failure_type', 'scope'],
    groups.flatMap(({ labels, usage: { memory } }) => pageFaultSamples(labels, memory)),
  );
  perGroup(
    'gauge',
    'container_memory_rss',
    'Resident anonymous memory.',
    (group) => group.usage.memory?.rssBytes,
    memoryTime,
  );
  perGroup(
    'gauge',
    'container_memory_swap',
    'Swap that is used.',
    (group) => group.usage.swap?.usageBytes,
  );
  perGroup(
    'gauge',
    'container_memory_usage_bytes',
    'Memory that is used, caches included.',
    (group) => group.usage.memory?.usageBytes,
    memoryTime,
  );
  perGroup(
    'gauge',
    'container_memory_working_set_bytes',
    'Working set.',
    (group) => group.usage.memory?.workingSetBytes,
    memoryTime,
  );
  for (const { type, name, help, value } of CGROUP_FAMILIES)
    perGroup(type, name, help, ({ cgroup }) => cgroup && value(cgroup));
  for (const { name, help, value } of DEVICE_FAMILIES)
    family(
      'counter',
      name,
      help,
      [...LABELS, 'device'],
      groups.flatMap(({ labels, cgroup }) =>
        (cgroup?.devices ?? []).map((device): Sample => {
          const id = `${device.major}:${device.minor}`;
          return [[...labels, deviceNames.get(id) ?? id], value(device)];
        }),
      ),
    );
  family(
    'counter',
    'container_blkio_device_usage_total',
    'Bytes read from and written to block devices.',
    [...LABELS, 'device', 'major', 'minor', 'operation'],
    groups.flatMap(({ labels, cgroup }) => blkioSamples(labels, cgroup, deviceNames)),
  );
  for (const [name, help, value] of NETWORK) {
    family(
      'counter',
      name,
      help,
      [...LABELS, 'interface'],
      podUsages.flatMap((pod) => networkSamples(pod, value)),
    );
  }
  perGroup(
    'gauge',
    'container_processes',
    'Processes.',
    ({ processCount, cgroup }) => processCount ?? cgroup?.processes?.length,
  );
  perGroup(
    'gauge',
    'container_file_descriptors',
    'Open files of all processes.',
    ({ descriptors }) => descriptors?.files,
  );
  perGroup(
    'gauge',
    'container_sockets',
    'Open sockets of all processes.',
    ({ descriptors }) => descriptors?.sockets,
  );
  family(
    'gauge',
    'container_ulimits_soft',
    'Soft limits of the first process; -1 for none.',
    [...LABELS, 'ulimit'],
    groups.flatMap(({ labels, descriptors }): Sample[] => {
      const limit = descriptors?.maxOpenFiles;
      if (limit === undefined) return [];
      return [[[...labels, 'max_open_files'], limit === Number.POSITIVE_INFINITY ? -1 : limit]];
    }),
  );
  family(
    'gauge',
    'container_scrape_error',
    '1 if the usage of containers could not be read, 0 otherwise.',
    [],
    [[[], usage === undefined ? 1 : 0]],
  );
  perGroup(
    'gauge',
    'container_spec_cpu_period',
    'The period of the CPU quota, in microseconds.',
    ({ spec }) => (spec === undefined ? undefined : CPU_PERIOD),
  );
  perGroup(
    'gauge',
    'container_spec_cpu_quota',
    'The CPU quota of a period, in microseconds.',
    ({ spec }) => {
      const limit = spec?.resources?.limits?.['cpu'];
      return limit === undefined
        ? undefined
        : Math.round((amountOf('cpu', limit) / 1000) * CPU_PERIOD);
    },
  );
  perGroup('gauge', 'container_spec_cpu_shares', 'The CPU shares.', ({ spec }) => {
    if (spec === undefined) return undefined;
    const request = spec.resources?.requests?.['cpu'];
    return Math.max(
      2,
      Math.floor(((request === undefined ? 0 : amountOf('cpu', request)) / 1000) * CPU_SHARES),
    );
  });
  perGroup(
    'gauge',
    'container_spec_memory_limit_bytes',
    'The memory limit; 0 without one.',
    ({ spec }) => {
      if (spec === undefined) return undefined;
      const limit = spec.resources?.limits?.['memory'];
      return limit === undefined ? 0 : amountOf('memory', limit);
    },
  );
  perGroup(
    'gauge',
    'container_start_time_seconds',
    'When it started, in seconds since the Unix epoch.',
    ({ usage: { startedAt } }) => (startedAt > 0 ? startedAt / 1000 : undefined),
  );
  const machineLabels = ['boot_id', 'machine_id', 'system_uuid'];
  const machineValues = [machine.bootID, machine.machineID, machine.systemUUID];
  family('gauge', 'machine_cpu_cores', 'CPUs of the machine.', machineLabels, [
    [machineValues, machine.cpuCores],
  ]);
  family('gauge', 'machine_memory_bytes', 'Memory of the machine.', machineLabels, [
    [machineValues, machine.memoryBytes],
  ]);
  family(
    'gauge',
    'machine_scrape_error',
    '1 if the machine could not be read, 0 otherwise.',
    [],
    [[[], 0]],
  );
  return families.join('');
}

/**
 * Returns the root cgroup. Dashboards select it by the id '/' for the usage of the whole machine.
 */
function machineGroup(node: NodeUsage | undefined): readonly Group[] {
  if (node === undefined) return [];
  const {
    time,
    cpuNanoseconds: coreNanoseconds,
    workingSetBytes,
    usageBytes,
    rssBytes,
    swap,
  } = node;
  const memory = { time, workingSetBytes, usageBytes, ...(rssBytes !== undefined && { rssBytes }) };
  const usage = {
    cpu: { time, coreNanoseconds },
    memory,
    startedAt: 0,
    ...(swap !== undefined && { swap: { time, ...swap } }),
  };
  return [{ labels: ['', '/', '', '', '', ''], usage, spec: undefined }];
}

/**
 * The cgroup of a container has no children, so that both of cAdvisor's scopes have the same value;
 * for a pod only the sum is available.
 */
function pageFaultSamples(
  labels: readonly string[],
  memory: MemorySample | undefined,
): readonly Sample[] {
  const { time, pageFaults, majorPageFaults } = memory ?? {};
  const scopes = labels[0] === '' ? ['hierarchy'] : ['container', 'hierarchy'];
  const types = [
    ['pgfault', pageFaults],
    ['pgmajfault', majorPageFaults],
  ] as const;
  return types.flatMap(([type, count]) =>
    count === undefined
      ? []
      : scopes.map((scope): Sample => [[...labels, type, scope], count, time]),
  );
}

function blkioSamples(
  labels: readonly string[],
  cgroup: CgroupStats | undefined,
  deviceNames: ReadonlyMap<string, string>,
): readonly Sample[] {
  return (cgroup?.devices ?? []).flatMap(({ major, minor, readBytes, writtenBytes }) => {
    const device = deviceNames.get(`${major}:${minor}`) ?? '';
    const sample = (operation: string, value: number): Sample => [
      [...labels, device, String(major), String(minor), operation],
      value,
    ];
    return [sample('Read', readBytes), sample('Write', writtenBytes)];
  });
}

/** Returns the cgroup above that of a sandbox, if it is the pod's own. */
function podPath({ uid, sandboxId }: PodUsage, cgroups: Cgroups): string {
  const parent = cgroups.get(sandboxId)?.path.replace(/\/[^/]*$/, '') ?? '';
  const name = parent.replace(/^.*\//, '');
  return name.includes(uid) || name.includes(uid.replaceAll('-', '_'))
    ? parent
    : `/kubepods/pod${uid}`;
}

type Cgroups = ReadonlyMap<string, ContainerCgroup>;

function groupsOf(pod: PodUsage, spec: Pod | undefined, cgroups: Cgroups): readonly Group[] {
  const path = podPath(pod, cgroups);
  const specOf = (name: string): Container | undefined =>
    [
      ...(spec?.spec.containers ?? []),
      ...(spec?.spec.initContainers ?? []),
      ...(spec?.spec.ephemeralContainers ?? []),
    ].find((container) => container.name === name);
  return [
    {
      labels: ['', path, '', '', pod.namespace, pod.name],
      usage: pod,
      processCount: pod.processCount,
      spec: undefined,
    },
    ...pod.containers.map((container): Group => ({
      labels: [
        container.name,
        cgroups.get(container.id)?.path ?? `${path}/${container.id}`,
        container.image,
        container.id,
        pod.namespace,
        pod.name,
      ],
      usage: container,
      spec: specOf(container.name),
      cgroup: cgroups.get(container.id)?.stats,
      descriptors: cgroups.get(container.id)?.descriptors,
    })),
  ];
}

type Interface = NonNullable<NonNullable<PodUsage['network']>['defaultInterface']>;

const NETWORK: readonly (readonly [
  name: string,
  help: string,
  value: (one: Interface) => number | undefined,
])[] = [
  ['container_network_receive_bytes_total', 'Bytes received.', ({ rxBytes }) => rxBytes?.value],
  [
    'container_network_receive_errors_total',
    'Errors while receiving.',
    ({ rxErrors }) => rxErrors?.value,
  ],
  ['container_network_transmit_bytes_total', 'Bytes sent.', ({ txBytes }) => txBytes?.value],
  [
    'container_network_transmit_errors_total',
    'Errors while sending.',
    ({ txErrors }) => txErrors?.value,
  ],
];

/**
 * Returns the network series. The network belongs to the sandbox, so the series have the sandbox's
 * id.
 */
function networkSamples(
  { network, uid, sandboxId, namespace, name }: PodUsage,
  value: (one: Interface) => number | undefined,
): Sample[] {
  if (network === undefined) return [];
  const { defaultInterface, interfaces, timestamp } = network;
  const all =
    interfaces.length > 0 ? interfaces : defaultInterface === undefined ? [] : [defaultInterface];
  return all.flatMap((one): Sample[] => {
    const found = value(one);
    const labels = [
      '',
      `/kubepods/pod${uid}/${sandboxId}`,
      '',
      sandboxId,
      namespace,
      name,
      one.name,
    ];
    return found === undefined ? [] : [[labels, found, timestamp / 1e6]];
  });
}
