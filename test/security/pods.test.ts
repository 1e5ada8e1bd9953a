// Pods that a namespace's pod security level forbids, in every list of containers and on every path
// that changes a pod; and admission policies, which must see each of these paths, too.

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { systemClock } from '#machinery/clock.ts';
import * as wait from '#machinery/wait.ts';
import { type SecuredCluster, startSecuredCluster } from './cluster.ts';

let cluster: SecuredCluster;
beforeAll(async () => {
  cluster = await startSecuredCluster();
  for (const level of ['baseline', 'restricted']) {
    await cluster.expect(201, {
      method: 'POST',
      path: '/api/v1/namespaces',
      body: { metadata: { name: level, labels: { 'pod-security.kubernetes.io/enforce': level } } },
    });
    await cluster.expect(201, {
      method: 'POST',
      path: `/api/v1/namespaces/${level}/serviceaccounts`,
      body: { metadata: { name: 'runner' } },
    });
  }
});
afterAll(() => cluster.stop());

type Spec = Readonly<Record<string, unknown>>;

/** A security context that the level restricted allows. */
const SAFE = {
  allowPrivilegeEscalation: false,
  runAsNonRoot: true,
  seccompProfile: { type: 'RuntimeDefault' },
  capabilities: { drop: ['ALL'] },
};
const container = (securityContext: Spec = {}, more: Spec = {}): Spec => ({
  name: 'c',
  image: 'busybox',
  securityContext: { ...SAFE, ...securityContext },
  ...more,
});
let count = 0;
const pod = (spec: Spec = {}): Spec => ({
  metadata: { name: `pod-${++count}` },
  spec: { serviceAccountName: 'runner', containers: [container()], ...spec },
});
const create = (level: string, body: Spec): Promise<number> =>
  cluster
    .request({ method: 'POST', path: `/api/v1/namespaces/${level}/pods`, body })
    .then(({ code }) => code);

/** A violation: its name, the container's security context, and other fields of the container. */
type Violation = [what: string, context: Spec, more?: Spec];

const BASELINE: readonly Violation[] = [
  ['privileged', { privileged: true, allowPrivilegeEscalation: true }],
  ['SYS_ADMIN', { capabilities: { drop: ['ALL'], add: ['SYS_ADMIN'] } }],
  ['all capabilities', { capabilities: { add: ['ALL'] } }],
  ['NET_RAW in small letters', { capabilities: { add: ['net_raw'] } }],
  ['an unmasked /proc', { procMount: 'Unmasked' }],
  ['no seccomp', { seccompProfile: { type: 'Unconfined' } }],
  ['no AppArmor', { appArmorProfile: { type: 'Unconfined' } }],
  ['another SELinux type', { seLinuxOptions: { type: 'spc_t' } }],
  ['an SELinux user', { seLinuxOptions: { user: 'system_u' } }],
  ['a host process', { windowsOptions: { hostProcess: true } }],
  ['a port of the host', {}, { ports: [{ containerPort: 80, hostPort: 80 }] }],
  [
    'a probe of another host',
    {},
    { livenessProbe: { httpGet: { port: 80, host: '169.254.169.254' } } },
  ],
  [
    'a hook to another host',
    {},
    { lifecycle: { preStop: { httpGet: { port: 80, host: '169.254.169.254' } } } },
  ],
];
const RESTRICTED: readonly Violation[] = [
  ...BASELINE,
  ['privilege escalation', { allowPrivilegeEscalation: true }],
  ['root by number', { runAsUser: 0 }],
  ['root allowed', { runAsNonRoot: false }],
  ['capabilities kept', { capabilities: {} }],
  ['NET_ADMIN', { capabilities: { drop: ['ALL'], add: ['NET_ADMIN'] } }],
  ['a capability dropped one by one', { capabilities: { drop: ['CHOWN', 'KILL'] } }],
];
const OF_PODS: readonly (readonly [string, Spec])[] = [
  ['the network of the host', { hostNetwork: true }],
  ['the processes of the host', { hostPID: true }],
  ['the IPC of the host', { hostIPC: true }],
  ['a path of the host', { volumes: [{ name: 'v', hostPath: { path: '/' } }] }],
  ['an unsafe sysctl', { securityContext: { sysctls: [{ name: 'kernel.msgmax', value: '1' }] } }],
];
/**
 * Returns whether the list's containers may have these fields: init and ephemeral ones have no
 * probes and hooks.
 */
const usable = (list: string, more: Spec = {}): boolean =>
  list === 'containers' ||
  !(
    'livenessProbe' in more ||
    'lifecycle' in more ||
    (list === 'ephemeralContainers' && 'ports' in more)
  );

describe.each<[string, readonly Violation[]]>([
  ['baseline', BASELINE],
  ['restricted', RESTRICTED],
])('the level %s', (level, violations) => {
  test('admits a pod that complies', async () => {
    expect(await create(level, pod())).toBe(201);
  });

  describe.each(['containers', 'initContainers'])('in %s', (list) => {
    test.each<Violation>(violations.filter(([, , more]) => usable(list, more)))(
      'forbids %s',
      async (_, context, more) => {
        const spec =
          list === 'containers'
            ? { containers: [container(context, more)] }
            : { [list]: [{ ...container(context, more), name: 'i' }] };
        const code = await create(level, pod(spec));
        // 422: some combinations are invalid on every level.
        expect([403, 422]).toContain(code);
      },
    );

    test.each<Violation>(violations.filter(([, , more]) => usable(list, more)))(
      'forbids %s in the second of two',
      async (_, context, more) => {
        const second = { ...container(context, more), name: 'second' };
        const spec =
          list === 'containers'
            ? { containers: [container(), second] }
            : { [list]: [{ ...container(), name: 'first' }, second] };
        expect([403, 422]).toContain(await create(level, pod(spec)));
      },
    );
  });

  test.each(OF_PODS)('forbids %s', async (_, spec) => {
    expect(await create(level, pod(spec))).toBe(403);
  });

  test.each<Violation>(violations.filter(([, , more]) => more === undefined))(
    'forbids an ephemeral container with %s',
    async (_, context) => {
      const body = pod();
      expect(await create(level, body)).toBe(201);
      const { name } = body['metadata'] as { name: string };
      const path = `/api/v1/namespaces/${level}/pods/${name}/ephemeralcontainers`;
      const ephemeral = { ...container(context), name: 'debugger' };
      const patch = { spec: { ephemeralContainers: [ephemeral] } };
      const headers = { 'content-type': 'application/strategic-merge-patch+json' };
      expect([403, 422]).toContain(
        (await cluster.request({ method: 'PATCH', path, body: patch, headers })).code,
      );
      // An update of the pod itself cannot add an ephemeral container either.
      const direct = await cluster.request({
        method: 'PATCH',
        path: path.replace('/ephemeralcontainers', ''),
        body: patch,
        headers,
      });
      expect([403, 422]).toContain(direct.code);
    },
  );

  test('holds for dry runs and for pods of controllers', async () => {
    const bad = pod({
      containers: [container({ privileged: true, allowPrivilegeEscalation: true })],
    });
    const path = `/api/v1/namespaces/${level}/pods?dryRun=All`;
    expect((await cluster.request({ method: 'POST', path, body: bad })).code).toBe(403);
    const job = {
      metadata: { name: 'job' },
      spec: {
        backoffLimit: 0,
        template: { spec: { ...(bad['spec'] as object), restartPolicy: 'Never' } },
      },
    };
    const answer = await cluster.request({
      method: 'POST',
      path: `/apis/batch/v1/namespaces/${level}/jobs`,
      body: job,
    });
    expect(answer.code).toBe(201);
    const made = await cluster.request({
      path: `/api/v1/namespaces/${level}/pods?labelSelector=job-name%3Djob`,
    });
    expect(made.json.items).toEqual([]);
  });
});

describe('an admission policy', () => {
  beforeAll(async () => {
    const path = '/apis/admissionregistration.k8s.io/v1';
    const rule = (resources: string[], operations: string[]): object => ({
      apiGroups: [''],
      apiVersions: ['v1'],
      resources,
      operations,
    });
    await cluster.expect(201, {
      method: 'POST',
      path: `${path}/validatingadmissionpolicies`,
      body: {
        metadata: { name: 'locked' },
        spec: {
          failurePolicy: 'Fail',
          matchConstraints: {
            resourceRules: [
              rule(
                ['configmaps', 'pods', 'pods/status', 'pods/ephemeralcontainers'],
                ['CREATE', 'UPDATE', 'DELETE'],
              ),
              rule(['pods/exec', 'pods/attach', 'pods/portforward'], ['CONNECT']),
            ],
          },
          validations: [
            {
              expression:
                "request.operation == 'CREATE' || oldObject == null || " +
                "!has(oldObject.metadata.labels) || !('locked' in oldObject.metadata.labels)",
              message: 'it is locked',
            },
            { expression: "request.operation != 'CONNECT'", message: 'no connections' },
          ],
        },
      },
    });
    await cluster.expect(201, {
      method: 'POST',
      path: `${path}/validatingadmissionpolicybindings`,
      body: {
        metadata: { name: 'locked' },
        spec: {
          policyName: 'locked',
          validationActions: ['Deny'],
          matchResources: {
            namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'default' } },
          },
        },
      },
    });
    const labels = { locked: 'yes' };
    await cluster.expect(201, {
      method: 'POST',
      path: '/api/v1/namespaces/default/serviceaccounts',
      body: { metadata: { name: 'runner' } },
    });
    await cluster.expect(201, {
      method: 'POST',
      path: '/api/v1/namespaces/default/configmaps',
      body: { metadata: { name: 'locked', labels } },
    });
    const body = pod();
    await cluster.expect(201, {
      method: 'POST',
      path: '/api/v1/namespaces/default/pods',
      body: { ...body, metadata: { name: 'locked', labels } },
    });
    // A policy is in force as soon as the server has seen it.
    await wait.pollImmediately(
      { clock: systemClock, intervalMs: 20, timeoutMs: 60_000 },
      async () => {
        const path = '/api/v1/namespaces/default/configmaps/locked?dryRun=All';
        return (await cluster.request({ method: 'DELETE', path })).code === 422;
      },
    );
  });

  const merge = { 'content-type': 'application/merge-patch+json' };
  test.each([
    ['an update', 'PUT', 'configmaps/locked', { metadata: { name: 'locked' } }, {}],
    ['a patch', 'PATCH', 'configmaps/locked', { data: { a: 'b' } }, merge],
    [
      'a patch that removes the label',
      'PATCH',
      'configmaps/locked',
      { metadata: { labels: { locked: null } } },
      merge,
    ],
    [
      'an apply',
      'PATCH',
      'configmaps/locked?fieldManager=t&force=true',
      { apiVersion: 'v1', kind: 'ConfigMap', data: { a: 'b' } },
      { 'content-type': 'application/apply-patch+yaml' },
    ],
    ['a deletion', 'DELETE', 'configmaps/locked', undefined, {}],
    ['the deletion of a collection', 'DELETE', 'configmaps?labelSelector=locked', undefined, {}],
    ['a change of the status', 'PATCH', 'pods/locked/status', { status: { message: 'x' } }, merge],
    [
      'an ephemeral container',
      'PATCH',
      'pods/locked/ephemeralcontainers',
      { spec: { ephemeralContainers: [{ name: 'd', image: 'busybox' }] } },
      merge,
    ],
    ['an exec', 'POST', 'pods/locked/exec?command=id', undefined, {}],
    ['an attach', 'POST', 'pods/locked/attach', undefined, {}],
  ])('sees %s', async (_, method, path, body, headers) => {
    const answer = await cluster.request({
      method,
      path: `/api/v1/namespaces/default/${path}`,
      headers,
      ...(body !== undefined && { body }),
    });
    expect(answer.summary).toMatch(/^(422|403) .*(it is locked|no connections)/);
  });
});
