// Controls of the volumes that a pod may mount, and of the sysctls that it may set.

import {
  type Check,
  type Control,
  named,
  plural,
  type PodToCheck,
  quoted,
  sorted,
  type Violation,
} from '../control.ts';
import { hostPathVolumes } from './host.ts';

/** Types of volumes without access to the node, or with access that an administrator controls. */
const VOLUME_TYPES = [
  'configMap',
  'csi',
  'downwardAPI',
  'emptyDir',
  'ephemeral',
  'image',
  'persistentVolumeClaim',
  'projected',
  'secret',
] as const;

/**
 * Safe sysctls: they belong to the pod's own network and IPC namespaces, and do not affect other
 * pods. Later versions allow more.
 */
const SYSCTLS = [
  'kernel.shm_rmid_forced',
  'net.ipv4.ip_local_port_range',
  'net.ipv4.tcp_syncookies',
  'net.ipv4.ping_group_range',
  'net.ipv4.ip_unprivileged_port_start',
];
const SYSCTLS_27 = [...SYSCTLS, 'net.ipv4.ip_local_reserved_ports'];
const SYSCTLS_29 = [
  ...SYSCTLS_27,
  'net.ipv4.tcp_keepalive_time',
  'net.ipv4.tcp_fin_timeout',
  'net.ipv4.tcp_keepalive_intvl',
  'net.ipv4.tcp_keepalive_probes',
];
const SYSCTLS_32 = [...SYSCTLS_29, 'net.ipv4.tcp_rmem', 'net.ipv4.tcp_wmem'];

export const restrictedVolumes: Control = {
  id: 'restrictedVolumes',
  level: 'restricted',
  replaces: hostPathVolumes.id,
  versions: [{ since: 0, check: checkVolumes }],
};

export const sysctls: Control = {
  id: 'sysctls',
  level: 'baseline',
  versions: [
    { since: 0, check: sysctlCheck(SYSCTLS) },
    { since: 27, check: sysctlCheck(SYSCTLS_27) },
    { since: 29, check: sysctlCheck(SYSCTLS_29) },
    { since: 32, check: sysctlCheck(SYSCTLS_32) },
  ],
};

function checkVolumes({ spec }: PodToCheck): Violation | undefined {
  const restricted = (spec.volumes ?? []).filter((volume) =>
    VOLUME_TYPES.every((type) => volume[type] === undefined),
  );
  if (restricted.length === 0) return undefined;
  const names = restricted.map(({ name }) => name);
  // A volume has a name and one other key, its source.
  const types = sorted(
    restricted.map((volume) => Object.keys(volume).find((key) => key !== 'name') ?? 'unknown'),
  );
  const use = names.length === 1 ? 'uses' : 'use';
  return {
    reason: 'restricted volume types',
    detail: `${named('volume', names)} ${use} ${plural('restricted volume type', types.length)} ${quoted(types)}`,
  };
}

function sysctlCheck(allowed: readonly string[]): Check {
  return ({ spec }) => {
    const forbidden = (spec.securityContext?.sysctls ?? [])
      .map(({ name }) => name)
      .filter((name) => !allowed.includes(name));
    return forbidden.length === 0
      ? undefined
      : { reason: 'forbidden sysctls', detail: forbidden.join(', ') };
  };
}
