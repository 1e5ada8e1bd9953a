// Pods that a kubelet cannot run as they are, and some that it can.

import type * as v1 from '#api/groups/core/v1/index.ts';
import type { New } from '#api/machinery/meta/v1/index.ts';

type Spec = New<v1.PodSpec>;
type ContainerFields = Partial<New<v1.Container>>;

const IMAGE = 'docker.io/library/busybox:latest';
const SLEEP = ['sleep', '3600'];
const shell = (script: string): readonly string[] => ['sh', '-c', script];

/** A pod of one container, which sleeps by default. */
function one(container: ContainerFields, spec: Spec = {}): Spec {
  return {
    terminationGracePeriodSeconds: 1,
    tolerations: [{ operator: 'Exists' }],
    containers: [
      { name: 'main', image: IMAGE, imagePullPolicy: 'IfNotPresent', command: SLEEP, ...container },
    ],
    ...spec,
  };
}

const seccomp = (localhostProfile: string): ContainerFields => ({
  securityContext: { seccompProfile: { type: 'Localhost', localhostProfile } },
});

/**
 * Cases whose containers change between two states, as an attempt and the wait for the next one: only
 * their events and the rest of their status are compared.
 */
export const alternating: ReadonlySet<string> = new Set([
  'absent-command',
  'exits-always',
  'no-registry',
]);

/** Specs by name. */
export const cases: Readonly<Record<string, Spec>> = {
  running: one({}),
  'no-registry': one({ image: '127.0.0.1:9/none:1' }),
  'bad-image-name': one({ image: 'Bad:Image' }),
  'absent-and-never': one({ image: '127.0.0.1:9/none:1', imagePullPolicy: 'Never' }),
  'user-namespace': one({}, { hostUsers: false }),
  'unknown-handler': one({}, { runtimeClassName: 'nowhere' }),
  'absent-seccomp-profile': one(seccomp('absent.json')),
  'apparmor-profile': one({ securityContext: { appArmorProfile: { type: 'RuntimeDefault' } } }),
  'forbidden-sysctl': one(
    {},
    { securityContext: { sysctls: [{ name: 'net.core.somaxconn', value: '100' }] } },
  ),
  'strict-groups': one({}, { securityContext: { supplementalGroupsPolicy: 'Strict' } }),
  'absent-config-map': one({ envFrom: [{ configMapRef: { name: 'absent' } }] }),
  'absent-command': one({ command: ['/absent'] }),
  'exits-always': one({ command: shell('exit 3') }),
  'exits-once': one({ command: shell('exit 3') }, { restartPolicy: 'Never' }),
  succeeds: one({ command: shell('echo done > /dev/termination-log') }, { restartPolicy: 'Never' }),
  'out-of-memory': one(
    {
      command: shell('a=x; while true; do a=$a$a; done'),
      resources: { limits: { memory: '20Mi' } },
    },
    { restartPolicy: 'Never' },
  ),
  'root-forbidden': one({ securityContext: { runAsNonRoot: true } }),
  'too-many-cpus': one({ resources: { requests: { cpu: '100' } } }),
  'absent-secret': one(
    { volumeMounts: [{ name: 'secret', mountPath: '/secret' }] },
    { volumes: [{ name: 'secret', secret: { secretName: 'absent' } }] },
  ),
  'absent-host-path': one(
    { volumeMounts: [{ name: 'host', mountPath: '/host' }] },
    { volumes: [{ name: 'host', hostPath: { path: '/absent-directory', type: 'Directory' } }] },
  ),
  'recursive-read-only': one(
    {
      volumeMounts: [
        { name: 'data', mountPath: '/data', readOnly: true, recursiveReadOnly: 'Enabled' },
      ],
    },
    { volumes: [{ name: 'data', emptyDir: {} }] },
  ),
  'post-start-fails': one({ lifecycle: { postStart: { exec: { command: ['false'] } } } }),
  'init-fails': one(
    {},
    {
      restartPolicy: 'Never',
      initContainers: [
        { name: 'init', image: IMAGE, imagePullPolicy: 'IfNotPresent', command: shell('exit 4') },
      ],
    },
  ),
  'never-ready': one({ readinessProbe: { exec: { command: ['false'] }, periodSeconds: 1 } }),
};
