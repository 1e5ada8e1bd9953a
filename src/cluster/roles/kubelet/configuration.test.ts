import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { UserError } from '../../user-error.ts';
import { KUBELET_CONFIGURATION_FIELDS } from './configuration-fields.ts';
import { readKubeletConfiguration, readKubeletConfigurations } from './configuration.ts';

let dir: string;
beforeAll(() => (dir = mkdtempSync(join(tmpdir(), 'cox-kubelet-config-'))));
afterAll(() => rmSync(dir, { recursive: true, force: true }));

const HEAD = 'apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n';

function read(text: string) {
  const path = join(dir, 'config.yaml');
  writeFileSync(path, text);
  return readKubeletConfiguration(path);
}

/** A document with one field. */
function withField(path: string, value: unknown) {
  const nested = path.split('.').reduceRight<unknown>((inner, name) => ({ [name]: inner }), value);
  return read(
    JSON.stringify({
      apiVersion: 'kubelet.config.k8s.io/v1beta1',
      kind: 'KubeletConfiguration',
      ...(nested as object),
    }),
  );
}

const samples = {
  boolean: true,
  number: 77,
  duration: '77s',
  string: 'x',
  list: ['x'],
  map: { x: 'y' },
  object: { x: 'y' },
};

test('what kubeadm writes', () => {
  const { options, warnings } = read(`${HEAD}
authentication:
  anonymous: {enabled: false}
  webhook: {cacheTTL: 0s, enabled: true}
  x509: {clientCAFile: pki/ca.crt}
authorization:
  mode: Webhook
  webhook: {cacheAuthorizedTTL: 0s, cacheUnauthorizedTTL: 0s}
cgroupDriver: systemd
clusterDNS: [10.96.0.10]
clusterDomain: cluster.local
containerRuntimeEndpoint: ""
cpuManagerReconcilePeriod: 0s
crashLoopBackOff: {}
maxPods: 50
healthzBindAddress: 127.0.0.1
healthzPort: 10248
memorySwap: {}
rotateCertificates: true
staticPodPath: /etc/kubernetes/manifests
`);
  expect(options).toEqual({
    authenticationTokenWebhook: true,
    authorizationMode: 'Webhook',
    clientCaFile: join(dir, 'pki/ca.crt'),
    clusterDns: ['10.96.0.10'],
    clusterDomain: 'cluster.local',
    healthzBindAddress: '127.0.0.1',
    healthzPort: 10_248,
    maxPods: 50,
    podManifestPath: '/etc/kubernetes/manifests',
    rotateCertificates: true,
  });
  expect(warnings).toEqual([
    '--config: cgroupDriver: "systemd" is not applied: the private containerd uses cgroupfs',
  ]);
});

test('durations are read as milliseconds; false is a value', () => {
  const authentication = 'authentication: {webhook: {enabled: false, cacheTTL: 1m30s}}';
  const authorization =
    'authorization: {mode: AlwaysAllow, webhook: {cacheAuthorizedTTL: 10s, cacheUnauthorizedTTL: 1s}}';
  expect(read(`${HEAD}${authentication}\n${authorization}`)).toEqual({
    options: {
      authenticationTokenWebhook: false,
      authenticationTokenWebhookCacheTtl: 90_000,
      authorizationMode: 'AlwaysAllow',
      authorizationWebhookCacheAuthorizedTtl: 10_000,
      authorizationWebhookCacheUnauthorizedTtl: 1_000,
    },
    warnings: [],
  });
});

test('every field is applied, warned of or rejected, by its own name', () => {
  for (const { path, type, disposition, accepted, reason } of KUBELET_CONFIGURATION_FIELDS) {
    if (disposition === 'parent') continue;
    expect(() => withField(path, type === 'list' ? 'x' : [[]]), path).toThrow(
      new RegExp(`${path.replaceAll('.', '\\.')} takes a ${type}`),
    );
    if (disposition === 'implemented') {
      expect(Object.keys(withField(path, samples[type]).options), path).toHaveLength(1);
      continue;
    }
    for (const value of accepted)
      expect(withField(path, value), path).toEqual({ options: {}, warnings: [] });
    const other = type === 'boolean' ? !accepted.includes(true) : samples[type];
    if (type === 'boolean' && accepted.includes(other)) continue;
    if (disposition === 'ignored') {
      const { warnings } = withField(path, other);
      expect(warnings, path).toHaveLength(1);
      expect(warnings[0], path).toContain(
        `${path}: ${JSON.stringify(other)} is not applied: ${reason}`,
      );
    } else
      expect(() => withField(path, other), path).toThrow(
        `${path}: ${JSON.stringify(other)} is not supported: ${reason}`,
      );
  }
});

test.each([
  ['no document', '', 'it is no KubeletConfiguration'],
  [
    'another kind',
    'apiVersion: v1\nkind: Pod',
    'its apiVersion must be kubelet.config.k8s.io/v1beta1',
  ],
  ['an unknown field', `${HEAD}maxPod: 5`, 'unknown field "maxPod"'],
  [
    'an unknown field of a field',
    `${HEAD}authentication: {x509: {clientCA: x}}`,
    'unknown field "authentication.x509.clientCA"',
  ],
  ['no YAML', `${HEAD}a: [`, '--config: '],
])('%s', (_, text, message) => {
  expect(() => read(text)).toThrow(UserError);
  expect(() => read(text)).toThrow(message);
});

describe('a drop-in directory', () => {
  function dropIns(files: Readonly<Record<string, string>>): string {
    const directory = mkdtempSync(join(dir, 'conf-'));
    for (const [name, text] of Object.entries(files)) {
      mkdirSync(join(directory, name, '..'), { recursive: true });
      writeFileSync(join(directory, name), text);
    }
    return directory;
  }
  const base = (): string => {
    const path = join(dir, 'base.yaml');
    writeFileSync(
      path,
      `${HEAD}maxPods: 5\nevictionHard: {memory.available: 1Gi}\nstaticPodPath: manifests\n`,
    );
    return path;
  };

  test('later files win, maps are merged, null removes, paths are relative to their file', () => {
    const directory = dropIns({
      '20-more.conf': `${HEAD}maxPods: 20\nclusterDomain: null\n`,
      '10-first.conf': `${HEAD}maxPods: 10\nclusterDomain: first.local\nevictionHard: {nodefs.available: 5%}\n`,
      'sub/30.conf': `${HEAD}podLogsDir: logs\n`,
      'README.md': 'no configuration',
    });
    symlinkSync('sub', join(directory, 'to-sub'));
    const { options, warnings } = readKubeletConfigurations(base(), directory);
    expect(options).toEqual({
      maxPods: 20,
      evictionHard: { 'memory.available': '1Gi', 'nodefs.available': '5%' },
      podManifestPath: join(dir, 'manifests'),
      podLogsDir: join(directory, 'sub', 'logs'),
    });
    // A link to a directory is not followed.
    expect(warnings).toEqual(
      ['README.md', 'to-sub'].map(
        (name) =>
          `--config-dir: ${join(directory, name)} is skipped: its name does not end in .conf`,
      ),
    );
  });

  test('works without a file; an error names the file', () => {
    expect(readKubeletConfigurations(undefined, dropIns({})).options).toEqual({});
    const directory = dropIns({ 'bad.conf': `${HEAD}maxPod: 1` });
    expect(() => readKubeletConfigurations(base(), directory)).toThrow(
      `--config-dir: ${join(directory, 'bad.conf')}: unknown field "maxPod"`,
    );
    expect(() => readKubeletConfigurations(undefined, join(dir, 'nowhere'))).toThrow(
      /--config-dir: .*nowhere/,
    );
  });
});
