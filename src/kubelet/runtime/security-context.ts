// The security settings of pods and containers, in the runtime's form: a container's settings take
// precedence over its pod's.

import { normalizeSysctl } from '../sysctls.ts';
import type { StopSignal } from '#cri/index.ts';
import type { Input } from '#cri/types.ts';
import type * as v1 from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import type { Container, Pod } from '../types.ts';

type SecurityProfile = Input<'SecurityProfile'>;
type NamespaceOption = Input<'NamespaceOption'>;
type SeccompProfile = Immutable<v1.SeccompProfile>;
type AppArmorProfile = Immutable<v1.AppArmorProfile>;

/** Settings of the node, and of the pod on it. */
export interface PodSecurity {
  /** The directory of local seccomp profiles. */
  readonly seccompRoot: string;
  /** The profile of containers whose pod asks for none. */
  readonly seccompDefault: 'RuntimeDefault' | 'Unconfined';
  readonly userNamespace: Input<'UserNamespace'>;
  /** The groups that the pod's volumes give to its processes. */
  readonly volumeGroups: readonly number[];
}

/** Paths that are hidden or read-only in a container, unless its procMount is Unmasked. */
const MASKED_PATHS: readonly string[] = [
  '/proc/asound',
  '/proc/acpi',
  '/proc/interrupts',
  '/proc/kcore',
  '/proc/keys',
  '/proc/latency_stats',
  '/proc/timer_list',
  '/proc/timer_stats',
  '/proc/sched_debug',
  '/proc/scsi',
  '/sys/firmware',
  '/sys/devices/virtual/powercap',
];
const READONLY_PATHS: readonly string[] = [
  '/proc/bus',
  '/proc/fs',
  '/proc/irq',
  '/proc/sys',
  '/proc/sysrq-trigger',
];

/**
 * Returns the namespaces. `targetId`: the target of an ephemeral container, whose processes it
 * sees.
 */
export function namespaceOptions(
  pod: Pod,
  userNamespace: Input<'UserNamespace'>,
  targetId?: string,
): NamespaceOption {
  const { spec } = pod;
  return {
    network: spec.hostNetwork === true ? 'NODE' : 'POD',
    ipc: spec.hostIPC === true ? 'NODE' : 'POD',
    pid:
      targetId !== undefined
        ? 'TARGET'
        : spec.hostPID === true
          ? 'NODE'
          : spec.shareProcessNamespace === true
            ? 'POD'
            : 'CONTAINER',
    ...(targetId !== undefined ? { targetId } : {}),
    usernsOptions: userNamespace,
  };
}

export function sandboxSecurityContext(
  pod: Pod,
  { seccompRoot, userNamespace, volumeGroups }: PodSecurity,
): Input<'LinuxSandboxSecurityContext'> {
  const context = pod.spec.securityContext;
  const privileged = [...(pod.spec.initContainers ?? []), ...pod.spec.containers].some(
    (container) => container.securityContext?.privileged === true,
  );
  return {
    namespaceOptions: namespaceOptions(pod, userNamespace),
    privileged,
    seccomp: seccomp(context?.seccompProfile ?? { type: 'RuntimeDefault' }, seccompRoot),
    ...(context?.runAsUser !== undefined && pod.spec.os?.name !== 'windows'
      ? { runAsUser: { value: context.runAsUser } }
      : {}),
    ...(context?.runAsGroup !== undefined ? { runAsGroup: { value: context.runAsGroup } } : {}),
    supplementalGroups: podGroups(pod, volumeGroups),
    ...(context?.supplementalGroupsPolicy !== undefined
      ? { supplementalGroupsPolicy: context.supplementalGroupsPolicy }
      : {}),
    ...(context?.seLinuxOptions !== undefined ? { selinuxOptions: context.seLinuxOptions } : {}),
  };
}

export function containerSecurityContext(
  pod: Pod,
  container: Container,
  { seccompRoot, seccompDefault, userNamespace, volumeGroups }: PodSecurity,
  targetId?: string,
): Input<'LinuxContainerSecurityContext'> {
  const own = container.securityContext;
  const shared = pod.spec.securityContext;
  const runAsUser = own?.runAsUser ?? shared?.runAsUser;
  const runAsGroup = own?.runAsGroup ?? shared?.runAsGroup;
  const selinux = own?.seLinuxOptions ?? shared?.seLinuxOptions;
  const seccompProfile = own?.seccompProfile ?? shared?.seccompProfile;
  const apparmorProfile = own?.appArmorProfile ?? shared?.appArmorProfile;
  const unmasked = own?.procMount === 'Unmasked';
  return {
    namespaceOptions: namespaceOptions(pod, userNamespace, targetId),
    privileged: own?.privileged === true,
    readonlyRootfs: own?.readOnlyRootFilesystem === true,
    // By default a process may gain privileges, as setuid programs need.
    noNewPrivs: own?.allowPrivilegeEscalation === false,
    maskedPaths: unmasked ? [] : MASKED_PATHS,
    readonlyPaths: unmasked ? [] : READONLY_PATHS,
    supplementalGroups: podGroups(pod, volumeGroups),
    ...(shared?.supplementalGroupsPolicy !== undefined
      ? { supplementalGroupsPolicy: shared.supplementalGroupsPolicy }
      : {}),
    ...(runAsUser !== undefined ? { runAsUser: { value: runAsUser } } : {}),
    ...(runAsGroup !== undefined ? { runAsGroup: { value: runAsGroup } } : {}),
    ...(selinux !== undefined ? { selinuxOptions: selinux } : {}),
    ...(own?.capabilities !== undefined
      ? {
          capabilities: {
            addCapabilities: own.capabilities.add ?? [],
            dropCapabilities: own.capabilities.drop ?? [],
          },
        }
      : {}),
    ...(own?.privileged === true && seccompProfile === undefined
      ? {}
      : { seccomp: seccomp(seccompProfile ?? { type: seccompDefault }, seccompRoot) }),
    ...(apparmorProfile !== undefined ? { apparmor: apparmor(apparmorProfile) } : {}),
  };
}

function podGroups(pod: Pod, volumeGroups: readonly number[]): readonly number[] {
  const context = pod.spec.securityContext;
  const own = context?.supplementalGroups ?? [];
  const group = context?.fsGroup ?? [];
  return [...new Set([group, own, volumeGroups].flat())];
}

/** Throws Error for a local profile without a name: the container must not run without a profile. */
function seccomp(profile: SeccompProfile, seccompRoot: string): SecurityProfile {
  const { type, localhostProfile = '' } = profile;
  switch (type) {
    case 'Localhost':
      if (localhostProfile === '')
        throw new Error('localhostProfile must be set if seccompProfile type is Localhost.');
      return { profileType: 'Localhost', localhostRef: `${seccompRoot}/${localhostProfile}` };
    case 'RuntimeDefault':
      return { profileType: 'RuntimeDefault' };
    default:
      return { profileType: 'Unconfined' };
  }
}

function apparmor(profile: AppArmorProfile): SecurityProfile {
  switch (profile.type) {
    case 'Localhost':
      return { profileType: 'Localhost', localhostRef: profile.localhostProfile ?? '' };
    case 'Unconfined':
      return { profileType: 'Unconfined' };
    default:
      return { profileType: 'RuntimeDefault' };
  }
}

/**
 * Returns the error for a container that must not run as root, if it would or if its user is
 * unknown.
 */
export function verifyRunAsNonRoot(
  pod: Pod,
  container: Container,
  imageUser: { readonly uid: number | undefined; readonly username: string },
): string | undefined {
  const required =
    container.securityContext?.runAsNonRoot ?? pod.spec.securityContext?.runAsNonRoot;
  if (required !== true) return undefined;
  const where =
    `(pod: "${pod.metadata.name}_${pod.metadata.namespace}(${pod.metadata.uid})", container: ` +
    `${container.name})`;
  const runAsUser = container.securityContext?.runAsUser ?? pod.spec.securityContext?.runAsUser;
  if (runAsUser !== undefined) {
    return runAsUser === 0 ? `container's runAsUser breaks non-root policy ${where}` : undefined;
  }
  if (imageUser.uid !== undefined) {
    return imageUser.uid === 0
      ? `container has runAsNonRoot and image will run as root ${where}`
      : undefined;
  }
  if (imageUser.username === '')
    return `container has runAsNonRoot and image will run as root ${where}`;
  return (
    `container has runAsNonRoot and image has non-numeric user (${imageUser.username}), cannot ` +
    `verify user is non-root ${where}`
  );
}

/** Returns the sysctls of the sandbox by name. 'net/ipv4/x' and 'net.ipv4.x' are equivalent. */
export function sysctls(pod: Pod): Readonly<Record<string, string>> {
  const entries = (pod.spec.securityContext?.sysctls ?? []).map(({ name, value }) => [
    normalizeSysctl(name),
    value ?? '',
  ]);
  return Object.fromEntries(entries) as Record<string, string>;
}

/** Returns the stop signal in the runtime's form; undefined: the image's own. */
export function stopSignal(container: Container): StopSignal | undefined {
  const signal = (container.lifecycle as { readonly stopSignal?: string } | undefined)?.stopSignal;
  return signal === undefined
    ? undefined
    : (signal.replace('+', 'PLUS').replace('-', 'MINUS') as StopSignal);
}
