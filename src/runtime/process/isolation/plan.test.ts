import { describe, expect, test } from 'vitest';
import type { ContainerConfig, PodSandboxConfig } from '#cri/index.ts';
import { capabilityOptions, containerCapabilities } from './capabilities.ts';
import { limitsV1, limitsV2 } from './cgroups.ts';
import { sysctlFiles } from './holder.ts';
import { checkMount, environment, planSteps, programOf, type PlanInput } from './plan.ts';

const image = {
  env: ['PATH=/image/bin', 'A=1', 'broken'],
  entrypoint: ['/entry'],
  cmd: ['default'],
  user: '',
  workingDir: '/work',
  stopSignal: '',
  diffIds: [],
};
const account = { uid: 0, gid: 0, groups: [0], home: '/root' };

function input(config: ContainerConfig, sandbox: PodSandboxConfig = {}): PlanInput {
  return {
    config,
    sandbox,
    image,
    account,
    lower: '/images/x/rootfs',
    changes: '/containers/c/changes',
    oldRoot: '.old',
    pivotRoot: '/sbin/pivot_root',
    podFiles: new Map([['/etc/hosts', '/pods/p/hosts']]),
    sharedMemory: '/shm/p',
    hostDevices: ['/dev/kvm'],
    sources: new Map((config.mounts ?? []).map((mount) => [mount.containerPath ?? '', '/source'])),
    cgroups: 'v2',
  };
}
const steps = (config: ContainerConfig): readonly string[] =>
  planSteps(input(config)).map((step) => step.join(' '));

describe('the steps of a container', () => {
  test('begin outside, enter the root, and end at the program', () => {
    const all = steps({});
    expect(all[0]).toBe('propagate rslave /');
    expect(all[1]).toMatch(/^overlay lowerdir=.*,nodev$/);
    expect(all[2]).toBe('enter .old /sbin/pivot_root');
    expect(all.slice(-2)).toEqual(['leave', 'program /image/bin /entry']);
    expect(all).toContain('bind /pods/p/hosts /etc/hosts');
    expect(all).toContain('directory /work');
    expect(all).not.toContain('bind /dev/kvm /dev/kvm');
  });

  test('a read-only root, masked and read-only paths', () => {
    const all = steps({
      linux: {
        securityContext: {
          readonlyRootfs: true,
          maskedPaths: ['/proc/kcore'],
          readonlyPaths: ['/proc/sys'],
        },
      },
    });
    expect(all).toContain('mask /proc/kcore');
    expect(all).toContain('readonly-existing /proc/sys');
    expect(all.indexOf('readonly-root')).toBeGreaterThan(all.indexOf('leave'));
  });

  test('a privileged container has the devices, and writable system files', () => {
    const all = steps({ linux: { securityContext: { privileged: true, maskedPaths: ['/x'] } } });
    expect(all).toContain('bind /dev/kvm /dev/kvm');
    expect(all).toContain('mount sysfs nosuid,noexec,nodev /sys');
    expect(all).not.toContain('mask /x');
  });

  test('mounts reach the host only where one asks for it', () => {
    const mount = (propagation: 'PROPAGATION_PRIVATE' | 'PROPAGATION_BIDIRECTIONAL') =>
      steps({ mounts: [{ hostPath: '/source', containerPath: '/data', propagation }] });
    expect(mount('PROPAGATION_PRIVATE')).toContain('propagate rslave /');
    expect(mount('PROPAGATION_PRIVATE')).toContain('propagate rprivate /data');
    expect(mount('PROPAGATION_BIDIRECTIONAL')).not.toContain('propagate rslave /');
    expect(mount('PROPAGATION_BIDIRECTIONAL')).toContain('propagate rshared /data');
  });

  test('a volume comes before the file of the pod at the same path', () => {
    const all = steps({ mounts: [{ hostPath: '/source', containerPath: '/etc/hosts' }] });
    expect(all).toContain('bind /source /etc/hosts');
    expect(all).not.toContain('bind /pods/p/hosts /etc/hosts');
  });

  test('recursive read-only mounts include what is mounted below', () => {
    const all = steps({
      mounts: [
        { hostPath: '/source', containerPath: '/data', readonly: true, recursiveReadOnly: true },
      ],
    });
    expect(all).toContain('remount ro,nodev /data');
    expect(all).toContain('remount-below ro,nodev /data');
  });
});

test.each([
  [{ containerPath: 'data', hostPath: '/x' }, 'not absolute'],
  [{ containerPath: '/', hostPath: '/x' }, 'cannot be mounted at /'],
  [{ containerPath: '/a/../.coxswain/bin', hostPath: '/x' }, 'cannot be mounted at /.coxswain'],
  [{ containerPath: '/data', hostPath: 'x' }, 'not an absolute path'],
  [{ containerPath: '/data', image: { image: 'x' } }, 'must be mounted read-only'],
  [{ containerPath: '/data', hostPath: '/x', recursiveReadOnly: true }, 'must be read-only'],
  [
    {
      containerPath: '/data',
      hostPath: '/x',
      readonly: true,
      recursiveReadOnly: true,
      propagation: 'PROPAGATION_HOST_TO_CONTAINER' as const,
    },
    'must have private propagation',
  ],
  [{ containerPath: '/d', hostPath: '/x', uidMappings: [{}] }, 'mapped users are not supported'],
])('a mount is rejected: %j', (mount, message) => {
  expect(() => checkMount(mount)).toThrow(message);
});

test('the command is the container’s own, or else the image’s', () => {
  expect(programOf({}, image)).toEqual(['/entry', 'default']);
  expect(programOf({ args: ['x'] }, image)).toEqual(['/entry', 'x']);
  expect(programOf({ command: ['sh'] }, image)).toEqual(['sh']);
  expect(() => programOf({}, { ...image, entrypoint: [], cmd: [] })).toThrow('no command');
});

test('the environment has the image’s variables below the container’s', () => {
  const envs = [{ key: 'A', value: new TextEncoder().encode('2') }];
  const { config, sandbox } = input({ envs }, { hostname: 'web' });
  expect(environment({ config, sandbox, image }, account)).toEqual({
    PATH: '/image/bin',
    HOME: '/root',
    HOSTNAME: 'web',
    A: '2',
  });
});

describe('capabilities', () => {
  test('defaults, additions and removals', () => {
    expect(containerCapabilities(undefined)).toHaveLength(14);
    expect(containerCapabilities({ privileged: true })).toHaveLength(41);
    const context = { capabilities: { addCapabilities: ['NET_ADMIN'], dropCapabilities: ['ALL'] } };
    expect(containerCapabilities(context)).toEqual(['net_admin']);
    expect(capabilityOptions(context)).toEqual([
      '--bounding-set=-all,+net_admin',
      '--inh-caps=-all',
    ]);
    const all = { capabilities: { addCapabilities: ['ALL'], dropCapabilities: ['CAP_SYS_ADMIN'] } };
    expect(containerCapabilities(all)).toHaveLength(40);
  });

  test('unknown names are rejected', () => {
    const context = { capabilities: { addCapabilities: ['ROOT'] } };
    expect(() => containerCapabilities(context)).toThrow('unknown capability');
  });

  test('ambient ones and no new privileges', () => {
    const context = {
      noNewPrivs: true,
      capabilities: { addAmbientCapabilities: ['CHOWN', 'NET_ADMIN'] },
    };
    expect(capabilityOptions(context)).toEqual(
      expect.arrayContaining([
        '--inh-caps=-all,+chown',
        '--ambient-caps=-all,+chown',
        '--no-new-privs',
      ]),
    );
  });
});

describe('sysctls', () => {
  const own = { net: true, ipc: true };
  test('of the pod’s namespaces are files', () => {
    expect(sysctlFiles({ 'net.core.somaxconn': '5', 'kernel.shm_rmid_forced': '1' }, own)).toEqual(
      new Map([
        ['/proc/sys/net/core/somaxconn', '5'],
        ['/proc/sys/kernel/shm_rmid_forced', '1'],
      ]),
    );
  });
  test.each(['kernel.panic', 'vm.swappiness', 'net.../../kernel.x', '..', 'kernel'])(
    'of the host are rejected: %s',
    (name) => expect(() => sysctlFiles({ [name]: '1' }, own)).toThrow(/sysctl/),
  );
  test('of a namespace that is shared with the host are rejected', () => {
    expect(() => sysctlFiles({ 'net.core.somaxconn': '5' }, { ...own, net: false })).toThrow(
      'not in a separate kernel namespace',
    );
  });
});

describe('limits', () => {
  const resources = {
    cpuShares: 1024,
    cpuPeriod: 100_000,
    cpuQuota: 20_000,
    memoryLimitInBytes: 1000,
    memorySwapLimitInBytes: 1500,
  };
  test('in version 1', () => {
    expect(limitsV1(resources).map((limit) => limit.slice(1).join(' '))).toEqual([
      'cpu.shares 1024',
      'cpu.cfs_period_us 100000',
      'cpu.cfs_quota_us 20000',
      'memory.limit_in_bytes 1000',
      'memory.memsw.limit_in_bytes 1500',
    ]);
    expect(() => limitsV1({ unified: { 'memory.high': '5' } })).toThrow('need cgroup v2');
  });
  test('in version 2', () => {
    expect(limitsV2(resources).map((limit) => limit.slice(1).join(' '))).toEqual([
      'cpu.weight 39',
      'cpu.max 20000 100000',
      'memory.max 1000',
      'memory.swap.max 500',
    ]);
    expect(limitsV2({ unified: { 'memory.high': '5' } })).toEqual([['memory', 'memory.high', '5']]);
    expect(() => limitsV2({ unified: { '../x': '5' } })).toThrow('invalid unified resource');
  });
});
