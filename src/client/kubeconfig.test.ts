import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { loadKubeconfig } from './kubeconfig.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'kubeconfig-'));
});
afterEach(() => rm(folder, { recursive: true }));

const base64 = (text: string) => Buffer.from(text).toString('base64');
async function file(name: string, text: string): Promise<string> {
  const path = join(folder, name);
  await writeFile(path, text);
  return path;
}

describe('loadKubeconfig', () => {
  test('reads the current context, with data in the file and in files beside it', async () => {
    await file('ca.pem', 'CA');
    await file('token', 'fresh\n');
    const path = await file(
      'config',
      `
apiVersion: v1
kind: Config
current-context: one
contexts:
- {name: one, context: {cluster: c1, user: u1}}
- {name: two, context: {cluster: c2, user: u2, namespace: ns2}}
- {name: three, context: {cluster: c2, user: u3}}
clusters:
- {name: c1, cluster: {server: 'https://a:6443', certificate-authority: ca.pem, tls-server-name: kubernetes}}
- {name: c2, cluster: {server: 'https://b', insecure-skip-tls-verify: true}}
users:
- {name: u1, user: {client-certificate-data: ${base64('CERT')}, client-key-data: ${base64('KEY')}}}
- {name: u2, user: {token: stale, tokenFile: token, as: jane, as-groups: [g]}}
- {name: u3, user: {username: joe, password: secret}}
`,
    );
    expect(await loadKubeconfig(path)).toEqual({
      contextName: 'one',
      namespace: 'default',
      server: 'https://a:6443',
      ca: 'CA',
      tlsServerName: 'kubernetes',
      clientCertificate: 'CERT',
      clientKey: 'KEY',
    });
    const { credentials, token, ...two } = await loadKubeconfig(path, { context: 'two' });
    expect(token).toBeUndefined();
    expect(two).toEqual({
      contextName: 'two',
      namespace: 'ns2',
      server: 'https://b',
      insecureSkipTlsVerify: true,
      impersonate: { user: 'jane', groups: ['g'], extra: {} },
    });
    expect(await credentials?.current()).toEqual({ token: 'fresh' });
    expect((await loadKubeconfig(path, { context: 'three' })).basic).toEqual({
      username: 'joe',
      password: 'secret',
    });
  });

  test('a user may have no credentials', async () => {
    const content = {
      clusters: [{ name: 'c', cluster: { server: 'https://a' } }],
      users: [{ name: 'u' }],
      contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
      'current-context': 'x',
    };
    expect(await loadKubeconfig(await file('anonymous', JSON.stringify(content)))).toEqual({
      contextName: 'x',
      namespace: 'default',
      server: 'https://a',
    });
  });

  test('prefers the first of several files, and skips missing ones', async () => {
    const first = await file(
      'first',
      '{current-context: x, contexts: [{name: x, context: {cluster: c}}], ' +
        "clusters: [{name: c, cluster: {server: 'https://first'}}]}",
    );
    const second = await file(
      'second',
      `{current-context: y, clusters: [{name: c, cluster: {server: 'https://second'}}]}`,
    );
    expect(await loadKubeconfig([join(folder, 'none'), first, second])).toMatchObject({
      contextName: 'x',
      server: 'https://first',
    });
    expect(await loadKubeconfig([second, first], { context: 'x' })).toMatchObject({
      server: 'https://second',
    });
  });

  test.each([
    ['is not there', undefined, /cannot read the kubeconfig/],
    ['is not YAML', '{', /is not YAML/],
    ['is a list', '[]', /is not a kubeconfig/],
    ['has no current context', '{}', /there is no current-context/],
    ['names a context that it does not have', '{current-context: x}', /no context named "x"/],
    [
      'names a cluster that it does not have',
      '{current-context: x, contexts: [{name: x, context: {cluster: c}}]}',
      /no cluster named "c"/,
    ],
    [
      'gets credentials from a program by an API version that does not exist',
      '{current-context: x, contexts: [{name: x, context: {cluster: c, user: u}}], ' +
        "clusters: [{name: c, cluster: {server: 'https://a'}}], users: [{name: u, " +
        'user: {exec: {command: aws}}}]}',
      /the user u: exec plugin: the apiVersion must be one of/,
    ],
    [
      'gets credentials by an auth provider',
      '{current-context: x, contexts: [{name: x, context: {cluster: c, user: u}}], ' +
        "clusters: [{name: c, cluster: {server: 'https://a'}}], users: [{name: u, " +
        'user: {auth-provider: {name: gcp}}}]}',
      /the user u gets credentials by auth-provider, which is not supported/,
    ],
    [
      'names a certificate that is not there',
      '{current-context: x, contexts: [{name: x, context: {cluster: c}}], ' +
        "clusters: [{name: c, cluster: {server: 'https://a', " +
        'certificate-authority: none.pem}}]}',
      /cannot read the certificate-authority none.pem/,
    ],
  ])('says what is wrong with a file that %s', async (_, text, message) => {
    const path = text === undefined ? join(folder, 'none') : await file('config', text);
    await expect(loadKubeconfig(path)).rejects.toThrow(message);
  });
});
