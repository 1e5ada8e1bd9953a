// Decides how a container is made: the steps of setup-script.ts, as a value. Pure.

import { posix } from 'node:path';
import { type ContainerConfig, CriError, type PodSandboxConfig } from '#cri/index.ts';
import type { ImageConfig } from '../../images/image-config.ts';
import type { ContainerAccount } from './accounts.ts';
import { capabilityOptions } from './capabilities.ts';
import { TOOLS } from './setup-script.ts';

/** One step: its name and arguments. */
export type Step = readonly [string, ...string[]];

type Mount = NonNullable<ContainerConfig['mounts']>[number];

export interface PlanInput {
  readonly config: ContainerConfig;
  readonly sandbox: PodSandboxConfig;
  readonly image: ImageConfig;
  readonly account: ContainerAccount;
  /** The image's files. */
  readonly lower: string;
  /** The directories of the container's changes: `upper` and `work`. */
  readonly changes: string;
  /** Where the pivot leaves the old root: a name that no image can guess. */
  readonly oldRoot: string;
  readonly pivotRoot: string;
  /** Files of the pod, by their paths in the container. */
  readonly podFiles: ReadonlyMap<string, string>;
  /** The directory of the pod's shared memory; undefined is the host's. */
  readonly sharedMemory: string | undefined;
  /** The device nodes of the host that a privileged container has. */
  readonly hostDevices: readonly string[];
  /**
   * The sources of mounts, by their container path: directories of images, and host paths without
   * links.
   */
  readonly sources: ReadonlyMap<string, string>;
  readonly cgroups: 'v1' | 'v2' | 'none';
}

const STANDARD_DEVICES = ['null', 'zero', 'full', 'random', 'urandom', 'tty'];
const DEVICE_LINKS = [
  ['/proc/self/fd', '/dev/fd'],
  ['/proc/self/fd/0', '/dev/stdin'],
  ['/proc/self/fd/1', '/dev/stdout'],
  ['/proc/self/fd/2', '/dev/stderr'],
  ['pts/ptmx', '/dev/ptmx'],
] as const;
const CGROUP_V1 = ['cpu', 'cpuacct', 'cpuset', 'memory', 'pids'];

/** Returns the steps up to the program. Throws InvalidArgument for a mount that cannot be made. */
export function planSteps(input: PlanInput): readonly Step[] {
  const { config, account, changes, lower } = input;
  const context = config.linux?.securityContext;
  const privileged = context?.privileged === true;
  const mounts = (config.mounts ?? []).map(checkMount);
  // Mounts of the host reach a container only through its volumes; a container's own mounts reach
  // the host only through a volume that asks for it.
  const outward = mounts.some(({ propagation }) => propagation === 'PROPAGATION_BIDIRECTIONAL');
  const nodev = privileged ? '' : ',nodev';
  return [
    ...(outward ? [] : [['propagate', 'rslave', '/'] satisfies Step]),
    ...oomScore(config),
    ['overlay', `lowerdir=${lower},upperdir=${changes}/upper,workdir=${changes}/work${nodev}`],
    ['enter', input.oldRoot, input.pivotRoot],
    ['mount', 'proc', 'nosuid,noexec,nodev', '/proc'],
    ['mount', 'tmpfs', 'nosuid,noexec,mode=755,size=65536k', '/dev'],
    ['mount', 'devpts', 'nosuid,noexec,newinstance,ptmxmode=0666,mode=0620,gid=5', '/dev/pts'],
    ['mount', 'mqueue', 'nosuid,noexec,nodev', '/dev/mqueue'],
    ...(input.sharedMemory === undefined
      ? [['bind', '/dev/shm', '/dev/shm'] satisfies Step]
      : [['bind', input.sharedMemory, '/dev/shm'] satisfies Step]),
    ...STANDARD_DEVICES.map((name): Step => ['bind', `/dev/${name}`, `/dev/${name}`]),
    ...DEVICE_LINKS.map(([target, path]): Step => ['link', target, path]),
    ...(privileged ? input.hostDevices : []).map((path): Step => ['bind', path, path]),
    ['mount', 'sysfs', privileged ? 'nosuid,noexec,nodev' : 'ro,nosuid,noexec,nodev', '/sys'],
    ...cgroupSteps(input.cgroups, privileged),
    ...[...input.podFiles]
      .filter(([path]) => !mounts.some(({ containerPath }) => containerPath === path))
      .map(([path, source]): Step => ['bind', source, path]),
    ...mounts.flatMap((mount) => mountSteps(mount, input, nodev !== '')),
    ...(config.devices ?? []).map(({ hostPath, containerPath }): Step => [
      'bind',
      hostPath ?? '',
      containerPath ?? '',
    ]),
    ['directory', workingDirectory(config, input.image)],
    ...(privileged ? [] : (context?.maskedPaths ?? [])).map((path): Step => ['mask', path]),
    ...(privileged ? [] : (context?.readonlyPaths ?? [])).map((path): Step => [
      'readonly-existing',
      path,
    ]),
    ['leave'],
    ...(context?.readonlyRootfs === true ? [['readonly-root'] satisfies Step] : []),
    ['program', pathOf(environment(input, account)), programOf(config, input.image)[0]],
  ];
}

/** Returns the options of setpriv(1) that give the program its user, groups and capabilities. */
export function privilegeOptions(
  config: ContainerConfig,
  account: ContainerAccount,
): readonly string[] {
  return [
    `--reuid=${account.uid}`,
    `--regid=${account.gid}`,
    `--groups=${account.groups.join(',')}`,
    ...capabilityOptions(config.linux?.securityContext),
  ];
}

/**
 * Returns the command of a container: its own, or else the image's. Throws InvalidArgument if there
 * is none.
 */
export function programOf(
  config: ContainerConfig,
  image: ImageConfig,
): readonly [string, ...string[]] {
  const given = config.command ?? [];
  const args = config.args ?? [];
  const entrypoint = given.length > 0 ? given : image.entrypoint;
  const rest = args.length > 0 || given.length > 0 ? args : image.cmd;
  const [program, ...others] = [...entrypoint, ...rest];
  if (!program) throw new CriError('InvalidArgument', 'no command specified');
  return [program, ...others];
}

export function workingDirectory(config: ContainerConfig, image: ImageConfig): string {
  return posix.join('/', config.workingDir || image.workingDir || '/');
}

/** Returns the environment of the program: the image's, then the container's own. */
export function environment(
  { config, image, sandbox }: Pick<PlanInput, 'config' | 'image' | 'sandbox'>,
  account: ContainerAccount,
): Readonly<Record<string, string>> {
  const env: Record<string, string> = {
    PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
    HOME: account.home,
    ...(sandbox.hostname && { HOSTNAME: sandbox.hostname }),
  };
  for (const variable of image.env) {
    const at = variable.indexOf('=');
    if (at > 0) env[variable.slice(0, at)] = variable.slice(at + 1);
  }
  const decoder = new TextDecoder();
  for (const { key, value } of config.envs ?? [])
    if (key) env[key] = value === undefined ? '' : decoder.decode(value);
  return env;
}

const pathOf = (env: Readonly<Record<string, string>>): string => env['PATH'] ?? '';

function oomScore(config: ContainerConfig): readonly Step[] {
  const score = config.linux?.resources?.oomScoreAdj;
  return score === undefined || score === 0
    ? []
    : [['write', '/proc/self/oom_score_adj', String(score)]];
}

function cgroupSteps(version: PlanInput['cgroups'], privileged: boolean): readonly Step[] {
  const options = `${privileged ? '' : 'ro,'}nosuid,noexec,nodev`;
  if (version === 'none') return [];
  if (version === 'v2') return [['mount', 'cgroup2', options, '/sys/fs/cgroup']];
  return [
    ['mount', 'tmpfs', 'nosuid,noexec,nodev,mode=755,size=64k', '/sys/fs/cgroup'],
    ...CGROUP_V1.map((name): Step => [
      'mount',
      'cgroup',
      `${options},${name}`,
      `/sys/fs/cgroup/${name}`,
    ]),
  ];
}

const refuse = (message: string): never => {
  throw new CriError('InvalidArgument', message);
};

export type CheckedMount = Mount & { readonly containerPath: string };

/**
 * Returns the mount with a normalized path if it is possible. Throws InvalidArgument with other
 * runtimes' words.
 */
export function checkMount(mount: Mount): CheckedMount {
  const { containerPath = '', hostPath = '', image, readonly, recursiveReadOnly } = mount;
  if (!posix.isAbsolute(containerPath))
    refuse(`mount path ${JSON.stringify(containerPath)} is not absolute`);
  const path = posix.normalize(containerPath).replace(/(.)\/$/, '$1');
  if (path === '/' || path === TOOLS || path.startsWith(`${TOOLS}/`))
    refuse(`a volume cannot be mounted at ${path}`);
  if (image?.image) {
    if (readonly !== true) refuse('image volumes must be mounted read-only');
  } else if (!posix.isAbsolute(hostPath)) {
    refuse(`the source of the mount at ${path} is not an absolute path`);
  }
  if ((mount.uidMappings ?? []).length > 0 || (mount.gidMappings ?? []).length > 0)
    refuse('mounts with mapped users are not supported');
  if (recursiveReadOnly === true) {
    if (readonly !== true) refuse('recursive read-only mount must be read-only');
    if ((mount.propagation ?? 'PROPAGATION_PRIVATE') !== 'PROPAGATION_PRIVATE')
      refuse('recursive read-only mount must have private propagation');
  }
  return { ...mount, containerPath: path };
}

const PROPAGATION = {
  PROPAGATION_PRIVATE: 'rprivate',
  PROPAGATION_HOST_TO_CONTAINER: 'rslave',
  PROPAGATION_BIDIRECTIONAL: 'rshared',
} as const;

function mountSteps(mount: CheckedMount, { sources }: PlanInput, nodev: boolean): readonly Step[] {
  const { containerPath: path, readonly } = mount;
  const source = sources.get(path);
  if (source === undefined) throw new CriError('Internal', `the mount at ${path} has no source`);
  const options = [...(readonly === true ? ['ro'] : []), ...(nodev ? ['nodev'] : [])].join(',');
  const recursive = mount.recursiveReadOnly === true;
  return [
    ['bind', source, path],
    ['propagate', PROPAGATION[mount.propagation ?? 'PROPAGATION_PRIVATE'], path],
    ...(options === '' ? [] : [['remount', options, path] satisfies Step]),
    ...(readonly === true && recursive ? [['remount-below', options, path] satisfies Step] : []),
  ];
}
