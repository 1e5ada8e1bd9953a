import { describe, expect, test } from 'vitest';
import * as apierrors from '#machinery/apierrors.ts';
import type { ObjectSource } from '../objects.ts';
import { makeContainer, makePod } from '../testing/make-pod.ts';
import type { ConfigMap, Container, PodSpec, Secret, Service } from '../types.ts';
import { expand } from './expand.ts';
import { makeEnvironment } from './make-environment.ts';
import { ServiceVariables } from './service-variables.ts';

const metadata = { name: 'x', uid: 'u', resourceVersion: '1', creationTimestamp: '' };
const configMap: ConfigMap = { metadata, data: { color: 'blue', 'bad=name': 'x' } };
const secret: Secret = { metadata, data: { password: Buffer.from('päss').toString('base64') } };
const missing = (resource: string, name: string) =>
  apierrors.notFound({ group: '', resource }, name);
const objects: ObjectSource = {
  configMap: (_namespace, name) =>
    name === 'conf' ? Promise.resolve(configMap) : Promise.reject(missing('configmap', name)),
  secret: (_namespace, name) =>
    name === 'keys' ? Promise.resolve(secret) : Promise.reject(missing('secret', name)),
};

function service(
  namespace: string,
  name: string,
  clusterIP: string,
  ports: readonly { name?: string; port: number; protocol?: 'TCP' | 'UDP' }[],
): Service {
  return {
    metadata: { ...metadata, namespace, name },
    spec: { clusterIP, ports: ports.map((port) => ({ targetPort: port.port, ...port })) },
    status: { loadBalancer: {} },
  };
}

const services = [
  service('default', 'kubernetes', '10.96.0.1', [{ name: 'https', port: 443 }]),
  service('default', 'redis-primary', '10.96.0.9', [
    { name: 'main', port: 6379 },
    { name: 'gossip', port: 7000, protocol: 'UDP' },
  ]),
  service('default', 'headless', 'None', [{ port: 1 }]),
  service('other', 'elsewhere', '10.96.0.7', [{ port: 80 }]),
];

async function environment(
  container: Partial<Container>,
  spec: Partial<PodSpec> = {},
  namespace = 'default',
) {
  const invalid: string[] = [];
  const made = makeContainer('main', container);
  const variables = await makeEnvironment({
    pod: makePod({
      metadata: { namespace, labels: { app: 'web' }, annotations: { note: 'n' } },
      spec: { containers: [made], serviceAccountName: 'robot', ...spec },
    }),
    container: made,
    services: new ServiceVariables(() => services),
    objects,
    downward: {
      podIPs: ['10.0.0.2', 'fd00::2'],
      hostIPs: ['192.168.0.5'],
      nodeAllocatable: { cpu: '4', memory: '8Gi' },
    },
    onInvalidNames: (message) => invalid.push(message),
  });
  return { variables: Object.fromEntries(variables), invalid };
}

test.each([
  ['plain', 'plain'],
  ['$(A)', 'one'],
  ['<$(A)$(B)>', '<onetwo>'],
  ['$$(A)', '$(A)'],
  ['$$$(A)', '$one'],
  ['$(MISSING)', '$(MISSING)'],
  ['$(A', '$(A'],
  ['$A $', '$A $'],
  ['$$', '$'],
  ['$(EMPTY)!', '!'],
])('expanding %j gives %j', (text, expected) => {
  const known: Readonly<Record<string, string>> = { A: 'one', B: 'two', EMPTY: '' };
  expect(expand(text, (name) => known[name])).toBe(expected);
});

test('many parentheses that nothing closes are expanded in linear time', () => {
  const text = '$('.repeat(500_000);
  expect(expand(text, () => undefined)).toBe(text);
});

describe('texts that no program takes', () => {
  const doubled = Array.from({ length: 40 }, (_, n) => ({
    name: `V${n}`,
    value: n === 0 ? 'xx' : `$(V${n - 1})$(V${n - 1})`,
  }));

  test('a variable that doubles the one before it, again and again', async () => {
    await expect(environment({ env: doubled })).rejects.toThrow('argument list too long');
  });

  test('many variables that are long together', async () => {
    const long = Array.from({ length: 100 }, (_, n) => ({ name: `L${n}`, value: '$(V15)' }));
    await expect(environment({ env: [...doubled.slice(0, 16), ...long] })).rejects.toThrow(
      'argument list too long',
    );
  });

  test('a long value without references is not the concern of the expansion', async () => {
    const value = 'x'.repeat(200_000);
    expect((await environment({ env: [{ name: 'X', value }] })).variables['X']).toBe(value);
  });
});

describe('variables', () => {
  test('refer to earlier variables and to services', async () => {
    const { variables } = await environment({
      env: [
        { name: 'FIRST', value: 'a' },
        { name: 'SECOND', value: '$(FIRST)b $(LATER) $(REDIS_PRIMARY_SERVICE_HOST)' },
        { name: 'LATER', value: 'c' },
      ],
    });
    expect(variables).toMatchObject({ FIRST: 'a', SECOND: 'ab $(LATER) 10.96.0.9', LATER: 'c' });
  });

  test('from fields and resources', async () => {
    const field = (name: string, fieldPath: string) => ({
      name,
      valueFrom: { fieldRef: { fieldPath } },
    });
    const resource = (name: string, what: string, divisor = '0') => ({
      name,
      valueFrom: { resourceFieldRef: { resource: what, divisor } },
    });
    const { variables } = await environment({
      resources: { requests: { cpu: '250m', memory: '100Mi' }, limits: { memory: '1Gi' } },
      env: [
        field('NAME', 'metadata.name'),
        field('NAMESPACE', 'metadata.namespace'),
        field('UID', 'metadata.uid'),
        field('APP', "metadata.labels['app']"),
        field('NOTE', "metadata.annotations['note']"),
        field('NODE', 'spec.nodeName'),
        field('ACCOUNT', 'spec.serviceAccountName'),
        field('IP', 'status.podIP'),
        field('IPS', 'status.podIPs'),
        field('HOST', 'status.hostIP'),
        resource('CPU', 'requests.cpu'),
        resource('MILLIS', 'requests.cpu', '1m'),
        resource('LIMIT', 'limits.memory', '1Mi'),
        resource('ALL', 'limits.cpu'),
      ],
    });
    expect(variables).toMatchObject({
      NAME: 'web',
      NAMESPACE: 'default',
      UID: 'uid-1',
      APP: 'web',
      NOTE: 'n',
      NODE: 'node',
      ACCOUNT: 'robot',
      IP: '10.0.0.2',
      IPS: '10.0.0.2,fd00::2',
      HOST: '192.168.0.5',
      CPU: '1',
      MILLIS: '250',
      LIMIT: '1024',
      ALL: '4',
    });
    await expect(environment({ env: [field('X', 'spec.containers')] })).rejects.toThrow(
      'unsupported fieldPath: spec.containers',
    );
  });

  test('from config maps and secrets', async () => {
    const { variables, invalid } = await environment({
      envFrom: [
        { prefix: 'C_', configMapRef: { name: 'conf' } },
        { secretRef: { name: 'keys' } },
        { secretRef: { name: 'none', optional: true } },
      ],
      env: [
        { name: 'COLOR', valueFrom: { configMapKeyRef: { name: 'conf', key: 'color' } } },
        { name: 'PASSWORD', valueFrom: { secretKeyRef: { name: 'keys', key: 'password' } } },
        {
          name: 'ABSENT',
          valueFrom: { secretKeyRef: { name: 'keys', key: 'none', optional: true } },
        },
        { name: 'C_color', value: 'red' },
      ],
    });
    expect(variables).toMatchObject({
      COLOR: 'blue',
      PASSWORD: 'päss',
      password: 'päss',
      C_color: 'red',
    });
    expect(variables).not.toHaveProperty('ABSENT');
    expect(variables).not.toHaveProperty('C_bad=name');
    expect(invalid).toEqual([
      'Keys [C_bad=name] from the EnvFrom configMap default/conf were skipped since they are ' +
        'considered invalid environment variable names.',
    ]);
  });

  test('report missing references', async () => {
    const from = (valueFrom: NonNullable<NonNullable<Container['env']>[number]['valueFrom']>) =>
      environment({ env: [{ name: 'X', valueFrom }] });
    await expect(from({ configMapKeyRef: { name: 'none', key: 'k' } })).rejects.toThrow(
      'configmap "none" not found',
    );
    await expect(from({ configMapKeyRef: { name: 'conf', key: 'k' } })).rejects.toThrow(
      "couldn't find key k in ConfigMap default/conf",
    );
    await expect(from({ secretKeyRef: { name: 'keys', key: 'k' } })).rejects.toThrow(
      "couldn't find key k in Secret default/keys",
    );
    await expect(environment({ envFrom: [{ secretRef: { name: 'none' } }] })).rejects.toThrow(
      'secret "none" not found',
    );
  });

  test('of services', async () => {
    const { variables } = await environment({});
    expect(variables).toEqual({
      KUBERNETES_SERVICE_HOST: '10.96.0.1',
      KUBERNETES_SERVICE_PORT: '443',
      KUBERNETES_SERVICE_PORT_HTTPS: '443',
      KUBERNETES_PORT: 'tcp://10.96.0.1:443',
      KUBERNETES_PORT_443_TCP: 'tcp://10.96.0.1:443',
      KUBERNETES_PORT_443_TCP_PROTO: 'tcp',
      KUBERNETES_PORT_443_TCP_PORT: '443',
      KUBERNETES_PORT_443_TCP_ADDR: '10.96.0.1',
      REDIS_PRIMARY_SERVICE_HOST: '10.96.0.9',
      REDIS_PRIMARY_SERVICE_PORT: '6379',
      REDIS_PRIMARY_SERVICE_PORT_MAIN: '6379',
      REDIS_PRIMARY_SERVICE_PORT_GOSSIP: '7000',
      REDIS_PRIMARY_PORT: 'tcp://10.96.0.9:6379',
      REDIS_PRIMARY_PORT_6379_TCP: 'tcp://10.96.0.9:6379',
      REDIS_PRIMARY_PORT_6379_TCP_PROTO: 'tcp',
      REDIS_PRIMARY_PORT_6379_TCP_PORT: '6379',
      REDIS_PRIMARY_PORT_6379_TCP_ADDR: '10.96.0.9',
      REDIS_PRIMARY_PORT_7000_UDP: 'udp://10.96.0.9:7000',
      REDIS_PRIMARY_PORT_7000_UDP_PROTO: 'udp',
      REDIS_PRIMARY_PORT_7000_UDP_PORT: '7000',
      REDIS_PRIMARY_PORT_7000_UDP_ADDR: '10.96.0.9',
    });
  });

  test('of services: elsewhere and without links, only the API server', async () => {
    const without = await environment({}, { enableServiceLinks: false });
    expect(Object.keys(without.variables).every((name) => name.startsWith('KUBERNETES_'))).toBe(
      true,
    );
    const other = await environment({}, {}, 'other');
    expect(other.variables).toHaveProperty('ELSEWHERE_SERVICE_HOST', '10.96.0.7');
    expect(other.variables).toHaveProperty('KUBERNETES_SERVICE_HOST', '10.96.0.1');
    expect(other.variables).not.toHaveProperty('REDIS_PRIMARY_SERVICE_HOST');
  });
});

test.each(['constructor', 'toString', '__proto__'])(
  'the key %s exists only if a user has set it',
  async (key) => {
    const from = (valueFrom: NonNullable<NonNullable<Container['env']>[number]['valueFrom']>) =>
      environment({ env: [{ name: 'X', valueFrom }] });
    await expect(from({ configMapKeyRef: { name: 'conf', key } })).rejects.toThrow(
      `couldn't find key ${key} in ConfigMap`,
    );
    await expect(from({ secretKeyRef: { name: 'keys', key } })).rejects.toThrow(
      `couldn't find key ${key} in Secret`,
    );
    expect(
      (await from({ configMapKeyRef: { name: 'conf', key, optional: true } })).variables,
    ).not.toHaveProperty('X');
    expect(
      (await from({ fieldRef: { fieldPath: `metadata.labels['${key}']` } })).variables['X'],
    ).toBe('');
  },
);
